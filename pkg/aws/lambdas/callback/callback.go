// Package callback composes the public function that closes tokens. It links
// no engine, and its rights are on tokens alone. It may change between releases.
package callback

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/waitless/waitless/pkg/aws/dynamo"
	"github.com/waitless/waitless/pkg/aws/gateway"
	"github.com/waitless/waitless/pkg/aws/lambdas/environment"
	"github.com/waitless/waitless/pkg/aws/secrets"
	"github.com/waitless/waitless/pkg/aws/wakes"
	"github.com/waitless/waitless/pkg/httpapi/callbackurl"
	"github.com/waitless/waitless/pkg/resume"
)

// New composes the function from its environment.
func New(getenv func(string) string) (gateway.Function, error) {
	env := environment.New(getenv)
	config := env.AWS()
	waits, wakeQueue, key := env.Text("WAITLESS_WAITS_TABLE"), env.Text("WAITLESS_WAKE_QUEUE"), env.Text("WAITLESS_TOKEN_KEY")
	if err := env.Err(); err != nil {
		return nil, err
	}
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	sender, err := wakes.New(wakes.Config{Client: sqs.NewFromConfig(config), URL: wakeQueue, Now: time.Now, Log: log})
	if err != nil {
		return nil, err
	}
	tokens := resume.Config{
		Outcomes: watched(dynamo.NewWaits(dynamodb.NewFromConfig(config), waits)), Wakes: wakes.ForTokens(sender), Now: time.Now,
	}
	keys := &secrets.Keys{Client: secretsmanager.NewFromConfig(config), Secret: key, Now: time.Now}
	return func(ctx context.Context, event events.APIGatewayV2HTTPRequest) (answer events.APIGatewayV2HTTPResponse, err error) {
		tokens := tokens
		if tokens.Keys, err = keys.Get(ctx); err != nil {
			return answer, err
		}
		handler := callbackurl.Handler(callbackurl.Config{Tokens: resume.New(tokens), MaxOutput: resume.DefaultLimit, Log: log})
		return gateway.Serve(handler)(ctx, event)
	}, nil
}
