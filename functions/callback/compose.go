package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/waitless/waitless/pkg/aws/function"
	"github.com/waitless/waitless/pkg/aws/parts"
	"github.com/waitless/waitless/pkg/aws/s3"
	"github.com/waitless/waitless/pkg/aws/secrets"
	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/httpapi/callbackurl"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/telemetry"
	"github.com/waitless/waitless/pkg/token"
)

// compose composes the function from its environment.
func compose(getenv func(string) string) (function.HTTP, error) {
	return composeWith(getenv, function.Log(getenv))
}

// composeWith is compose with a log of the caller: tests read it.
func composeWith(getenv func(string) string, log *slog.Logger) (function.HTTP, error) {
	p := parts.New(getenv, log)
	store, waits := p.LogTable(), p.WaitsTable()
	tokens := p.TokensConfig(waits)
	tokens.By = token.ClosedByCallback
	client, err := engine.NewClient(engine.Config{ // it only reads: the function has no rights to start or stop
		Log: store, Flows: store, TokenStore: waits, Stops: waits, Wakes: sqs.NewWakes(p.WakesConfig()), Now: time.Now,
		LargeValues: s3.NewBucket(p.Config, p.Text("WAITLESS_VALUES_BUCKET")),
	})
	a := api{
		steps:           client,
		callbackSecrets: parts.Secret(p, "WAITLESS_CALLBACK_SECRET", callbackurl.ParseSecrets),
		tokens:          resume.NewTokens(tokens),
		log:             log,
		metrics:         p.Metrics(),
	}
	return p.OnlyOwnAPI(false, function.Serve(a.handler)), errors.Join(p.Err(), err)
}

// api has what callbacks are handled with.
type api struct {
	callbackSecrets *secrets.Parsed[[]callbackurl.Secret]
	tokens          *resume.Tokens
	steps           callbackurl.WaitingSteps
	log             *slog.Logger
	metrics         *telemetry.Batch
}

func (a api) handler(ctx context.Context, _ *function.Request) (http.Handler, error) {
	senders, err := a.callbackSecrets.Get(ctx)
	if err != nil { // only signed callbacks need it, and are rejected without
		a.log.ErrorContext(ctx, "no signature can be checked", "error", err.Error())
	}
	return telemetry.CountRefusals(a.metrics, callbackurl.Handler(callbackurl.Config{ //nolint:gosec // SecretSetting is the name of a parameter
		Tokens: a.tokens, Steps: a.steps, Secrets: senders, SecretSetting: "the parameter CallbackSecret", Now: time.Now, Log: a.log,
	})), nil
}
