package main

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/waitless/waitless/pkg/aws/function"
	"github.com/waitless/waitless/pkg/aws/parts"
	"github.com/waitless/waitless/pkg/aws/secrets"
	"github.com/waitless/waitless/pkg/httpapi/callbackurl"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// compose composes the function from its environment.
func compose(getenv func(string) string) (function.HTTP, error) {
	return composeWith(getenv, function.Log(getenv))
}

func composeWith(getenv func(string) string, log *slog.Logger) (function.HTTP, error) {
	p := parts.New(getenv, log)
	tokens := p.TokensConfig(p.WaitsTable())
	tokens.By = token.ClosedByCallback
	a := api{
		callbackSecrets: parts.Secret(p, "WAITLESS_CALLBACK_SECRET", callbackurl.ParseSecrets),
		tokens:          resume.NewTokens(tokens),
		log:             log,
	}
	return p.OnlyOwnAPI(false, function.Serve(a.handler)), p.Err()
}

// api has what callbacks are handled with.
type api struct {
	callbackSecrets *secrets.Parsed[[]callbackurl.Secret]
	tokens          *resume.Tokens
	log             *slog.Logger
}

func (a api) handler(ctx context.Context, _ *function.Request) (http.Handler, error) {
	senders, err := a.callbackSecrets.Get(ctx)
	if err != nil { // only signed callbacks need it, and are rejected without
		a.log.ErrorContext(ctx, "no signature can be checked", "error", err.Error())
	}
	return callbackurl.Handler(callbackurl.Config{ //nolint:gosec // SecretSetting is the name of a parameter
		Tokens: a.tokens, Secrets: senders, SecretSetting: "the parameter CallbackSecret", Now: time.Now, Log: a.log,
	}), nil
}
