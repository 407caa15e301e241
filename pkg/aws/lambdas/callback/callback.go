// Package callback composes the public function that closes tokens. It links
// no engine, and its rights are on tokens alone. It may change between releases.
package callback

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/waitless/waitless/pkg/aws/dynamo"
	"github.com/waitless/waitless/pkg/aws/gateway"
	"github.com/waitless/waitless/pkg/aws/lambdas"
	"github.com/waitless/waitless/pkg/aws/lambdas/environment"
	"github.com/waitless/waitless/pkg/aws/secrets"
	"github.com/waitless/waitless/pkg/aws/tasks/deliveries"
	"github.com/waitless/waitless/pkg/aws/wakes"
	"github.com/waitless/waitless/pkg/httpapi/callbackurl"
	"github.com/waitless/waitless/pkg/httpapi/fnf"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// New composes the function from its environment.
func New(getenv func(string) string) (gateway.Function, error) {
	return compose(getenv, lambdas.Log(getenv))
}

func compose(getenv func(string) string, log *slog.Logger) (gateway.Function, error) {
	env := environment.New(getenv)
	config := env.AWS()
	waits, wakeQueue, deliveryQueue := env.Text("WAITLESS_WAITS_TABLE"), env.Text("WAITLESS_WAKE_QUEUE"), env.Text("WAITLESS_DELIVERY_QUEUE")
	key, signing, clients := env.Text("WAITLESS_TOKEN_KEY"), env.Optional("WAITLESS_CALLBACK_SECRET"), env.Optional("WAITLESS_FNF_KEYS")
	id := env.Text("WAITLESS_API")
	limit := env.Bytes("WAITLESS_DATA_LIMIT", resume.DefaultLimit, resume.ForeignLimit)
	if err := env.Err(); err != nil {
		return nil, err
	}
	queues, store := sqs.NewFromConfig(config), secretsmanager.NewFromConfig(config)
	sender, err := wakes.New(wakes.Config{Client: queues, URL: wakeQueue, Now: time.Now, Log: log})
	if err != nil {
		return nil, err
	}
	foreign := &deliveries.Queue{Client: queues, URL: deliveryQueue}
	a := api{
		signing: &secrets.Text[[]callbackurl.Secret]{Client: store, Secret: signing, Now: time.Now, Parse: callbackurl.ParseSecrets},
		clients: &secrets.Text[map[string]string]{Client: store, Secret: clients, Now: time.Now, Parse: fnf.ParseKeys},
		limit:   limit,
		tokens: resume.NewTokens(resume.TokensConfig{
			Keys:  &secrets.Keys{Client: store, Secret: key, Now: time.Now},
			Store: watched(dynamo.NewWaits(dynamodb.NewFromConfig(config), waits, time.Now)),
			Wakes: wakes.ForTokens(sender, foreign), Beats: foreign, Now: time.Now, Limit: limit, By: token.ClosedByCallback,
		}),
		log: log,
	}
	if env.OnSAMLocal() {
		return a.answer, nil
	}
	return gateway.Only(id, false, a.answer), nil
}

// api is what callbacks are answered with.
type api struct {
	signing *secrets.Text[[]callbackurl.Secret]
	clients *secrets.Text[map[string]string] // those of the vendor's API, by the ids of their keys
	tokens  *resume.Tokens
	limit   int // of the output of a step, in bytes
	log     *slog.Logger
}

func (a api) answer(ctx context.Context, event events.APIGatewayV2HTTPRequest) (answer events.APIGatewayV2HTTPResponse, err error) {
	handler, err := a.handler(ctx, isFnf(event))
	if err != nil {
		return answer, err
	}
	return gateway.Serve(handler)(ctx, event)
}

// isFnf: the vendor's API knows one path, which callbacks do not have.
func isFnf(event events.APIGatewayV2HTTPRequest) bool {
	return strings.Trim(strings.TrimPrefix(event.RawPath, "/"+event.RequestContext.Stage), "/") == ""
}

func (a api) handler(ctx context.Context, forFnf bool) (http.Handler, error) {
	if forFnf {
		clients, err := a.clients.Get(ctx)
		return fnf.Handler(fnf.Config{Tokens: a.tokens, MaxOutput: a.limit, Keys: clients, Log: a.log}), err
	}
	signing, err := a.signing.Get(ctx)
	if err != nil { // only what is to be signed needs it, and is refused without
		a.log.ErrorContext(ctx, "no signature can be checked", "error", err.Error())
	}
	return callbackurl.Handler(callbackurl.Config{
		Tokens: a.tokens, MaxOutput: a.limit, Secrets: signing, SecretSetting: "the parameter CallbackSecret", Log: a.log,
	}), nil
}
