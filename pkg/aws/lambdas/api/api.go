// Package api composes the function of the management API. It may change
// between releases.
package api

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/waitless/waitless/pkg/aws/dynamo"
	"github.com/waitless/waitless/pkg/aws/gateway"
	"github.com/waitless/waitless/pkg/aws/lambdas/environment"
	"github.com/waitless/waitless/pkg/aws/secrets"
	"github.com/waitless/waitless/pkg/aws/wakes"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/resume"
)

// New composes the function from its environment, and reads the token key.
func New(ctx context.Context, getenv func(string) string) (gateway.Function, error) {
	env := environment.New(getenv)
	config := env.AWS()
	logTable, waitsTable := env.Text("WAITLESS_LOG_TABLE"), env.Text("WAITLESS_WAITS_TABLE")
	wakeQueue, key := env.Text("WAITLESS_WAKE_QUEUE"), env.Text("WAITLESS_TOKEN_KEY")
	if err := env.Err(); err != nil {
		return nil, err
	}
	keys, err := secrets.TokenKeys(ctx, secretsmanager.NewFromConfig(config), key)
	if err != nil {
		return nil, err
	}
	sender, err := wakes.New(wakes.Config{
		Client: sqs.NewFromConfig(config), URL: wakeQueue, Now: time.Now, Log: slog.New(slog.NewJSONHandler(os.Stderr, nil)),
	})
	if err != nil {
		return nil, err
	}
	tables := dynamodb.NewFromConfig(config)
	store, waits := dynamo.NewLog(tables, logTable, time.Now), watched(dynamo.NewWaits(tables, waitsTable))
	return gateway.Serve(rest.Handler(rest.Config{
		Engine: engine.New(engine.Config{Log: watchedLog(store), Flows: store, Outcomes: waits, Wakes: sender, Keys: keys, Now: time.Now}),
		Tokens: resume.New(resume.Config{Keys: keys, Outcomes: waits, Wakes: wakes.ForTokens(sender), Now: time.Now}),
		Index:  store, Flows: store,
	})), nil
}
