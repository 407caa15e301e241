package main

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/waitless/waitless/pkg/aws/dynamo"
	"github.com/waitless/waitless/pkg/aws/environment"
	"github.com/waitless/waitless/pkg/aws/function"
	"github.com/waitless/waitless/pkg/aws/secrets"
	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/httpapi/callbackurl"
	"github.com/waitless/waitless/pkg/httpapi/fnf"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// compose composes the function from its environment.
func compose(getenv func(string) string) (function.HTTP, error) {
	return composeWith(getenv, function.Log(getenv))
}

func composeWith(getenv func(string) string, log *slog.Logger) (function.HTTP, error) {
	env := environment.New(getenv)
	config := env.AWS()
	queues, secretsClient := sqs.NewClient(config), secretsmanager.NewFromConfig(config)
	wakes := sqs.NewWakes(sqs.WakesConfig{Queue: sqs.Queue{Client: queues, URL: env.Text("WAITLESS_WAKE_QUEUE")}, Now: time.Now, Log: log})
	deliveries := &sqs.DeliveryRequests{Target: sqs.Queue{Client: queues, URL: env.Text("WAITLESS_DELIVERY_QUEUE")}}
	a := api{
		callbackSecrets: &secrets.Parsed[[]callbackurl.Secret]{
			Client: secretsClient, Secret: env.Optional("WAITLESS_CALLBACK_SECRET"), Now: time.Now, Parse: callbackurl.ParseSecrets,
		},
		clients: &secrets.Parsed[map[string]string]{Client: secretsClient, Secret: env.Optional("WAITLESS_FNF_KEYS"), Now: time.Now, Parse: fnf.ParseKeys},
		tokens: resume.NewTokens(resume.TokensConfig{
			Keys:  &secrets.Keys{Client: secretsClient, Secret: env.Text("WAITLESS_TOKEN_KEY"), Now: time.Now},
			Store: withFailpoints(dynamo.NewWaits(dynamodb.NewFromConfig(config), env.Text("WAITLESS_WAITS_TABLE"), time.Now)),
			Wakes: sqs.TokenWakes{Wakes: wakes, External: deliveries}, Beats: deliveries, Now: time.Now, By: token.ClosedByCallback,
			Limit: env.Int("WAITLESS_DATA_LIMIT", resume.DefaultLimit, resume.ExternalLimit),
		}),
		log: log,
	}
	serve := function.Serve(a.handler)
	if id := env.Text("WAITLESS_API"); !env.OnSAMLocal() {
		serve = function.Only(id, false, serve)
	}
	return serve, env.Err()
}

// api has what callbacks are handled with.
type api struct {
	callbackSecrets *secrets.Parsed[[]callbackurl.Secret]
	clients         *secrets.Parsed[map[string]string] // of the 2019-03-15 API, by the ids of their keys
	tokens          *resume.Tokens
	log             *slog.Logger
}

// isFnf reports whether the request is one of the 2019-03-15 API, which has the empty path.
func isFnf(event *function.Request) bool {
	return strings.Trim(strings.TrimPrefix(event.RawPath, "/"+event.RequestContext.Stage), "/") == ""
}

func (a api) handler(ctx context.Context, request *function.Request) (http.Handler, error) {
	if isFnf(request) {
		clients, err := a.clients.Get(ctx)
		return fnf.Handler(fnf.Config{Tokens: a.tokens, Keys: clients, Log: a.log}), err
	}
	senders, err := a.callbackSecrets.Get(ctx)
	if err != nil { // only signed callbacks need it, and are rejected without
		a.log.ErrorContext(ctx, "no signature can be checked", "error", err.Error())
	}
	return callbackurl.Handler(callbackurl.Config{ //nolint:gosec // SecretSetting is the name of a parameter
		Tokens: a.tokens, Secrets: senders, SecretSetting: "the parameter CallbackSecret", Log: a.log,
	}), nil
}
