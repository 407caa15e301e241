package main

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/waitless/waitless/pkg/aws/dynamo"
	"github.com/waitless/waitless/pkg/aws/environment"
	"github.com/waitless/waitless/pkg/aws/function"
	"github.com/waitless/waitless/pkg/aws/secrets"
	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
)

// compose composes the function from its environment.
func compose(getenv func(string) string) (function.HTTP, error) {
	env := environment.New(getenv)
	config, log := env.AWS(), function.Log(getenv)
	queues := sqs.NewClient(config)
	tables := dynamodb.NewFromConfig(config)
	a := api{
		log:        log,
		wakes:      sqs.NewWakes(sqs.WakesConfig{Queue: sqs.Queue{Client: queues, URL: env.Text("WAITLESS_WAKE_QUEUE")}, Now: time.Now, Log: log}),
		deliveries: &sqs.DeliveryRequests{Target: sqs.Queue{Client: queues, URL: env.Text("WAITLESS_DELIVERY_QUEUE")}},
		store:      dynamo.NewLog(tables, env.Text("WAITLESS_LOG_TABLE"), time.Now),
		tokens:     dynamo.NewWaits(tables, env.Text("WAITLESS_WAITS_TABLE"), time.Now),
		limits: machine.Limits{
			Duration: env.Duration("WAITLESS_EXECUTION_DAYS", 24*time.Hour, 1, 366),
			Data:     env.Int("WAITLESS_DATA_LIMIT", machine.DefaultData, machine.MaxData),
			Hints:    machine.Hints{Data: environment.RaiseDataLimit},
		},
		keys: &secrets.Keys{Client: secretsmanager.NewFromConfig(config), Secret: env.Text("WAITLESS_TOKEN_KEY"), Now: time.Now},
	}
	serve := function.Serve(func(ctx context.Context, _ *function.Request) (http.Handler, error) { return a.handler(ctx) })
	if id := env.Text("WAITLESS_API"); !env.OnSAMLocal() {
		serve = function.Only(id, true, serve)
	}
	return serve, env.Err()
}

// api has what the management API works on.
type api struct {
	log        *slog.Logger
	wakes      *sqs.Wakes
	deliveries *sqs.DeliveryRequests
	store      *dynamo.Log
	tokens     *dynamo.Waits
	limits     machine.Limits
	keys       *secrets.Keys
}

func (a api) handler(ctx context.Context) (http.Handler, error) {
	keys, err := a.keys.Get(ctx)
	if err != nil {
		return nil, err
	}
	tokens := withFailpoints(a.tokens)
	client, err := engine.NewClient(engine.ClientConfig{
		Log: withLogFailpoints(a.store), Flows: a.store, TokenStore: tokens, Stops: tokens, Wakes: a.wakes, Keys: keys, Now: time.Now, Limits: a.limits,
	})
	return rest.Handler(rest.Config{
		Engine: client, Start: client.Start, Stop: client.Stop,
		Tokens: resume.NewTokens(resume.TokensConfig{
			Keys: a.keys, Store: tokens, Wakes: sqs.TokenWakes{Wakes: a.wakes, External: a.deliveries}, Beats: a.deliveries,
			Now: time.Now, Limit: a.limits.Data, LimitHint: a.limits.Hints.Data,
		}),
		Index: a.store, Flows: a.store, External: a.tokens, Log: a.log,
	}), err
}
