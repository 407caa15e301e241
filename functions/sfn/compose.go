package main

import (
	"context"
	"net/http"
	"time"

	"github.com/waitless/waitless/pkg/aws/function"
	"github.com/waitless/waitless/pkg/aws/parts"
	"github.com/waitless/waitless/pkg/aws/s3"
	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/httpapi/clientkeys"
	"github.com/waitless/waitless/pkg/httpapi/sfn"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/telemetry"
	"github.com/waitless/waitless/pkg/token"
)

// compose composes the function from its environment.
func compose(getenv func(string) string) (function.HTTP, error) {
	p := parts.New(getenv, function.Log(getenv))
	store, waits, keys, limits := p.LogTable(), p.WaitsTable(), p.Keys(), p.TimeLimits()
	clients := engine.ClientConfig{
		Log: store, Flows: store, TokenStore: waits, Stops: waits, Wakes: sqs.NewWakes(p.WakesConfig()), Now: time.Now, Limits: limits,
		LargeValues: s3.NewBucket(p.Config, p.Text("WAITLESS_VALUES_BUCKET")),
	}
	clients.Notify, clients.CheckTarget = p.Notify()
	clients.Observer = telemetry.Executions{Sink: p.Metrics()}
	tokens := p.TokensConfig(waits)
	tokens.By = token.ClosedByCallback
	signers := parts.Secret(p, "WAITLESS_CLIENT_KEYS", clientkeys.Parse)
	config := sfn.Config{
		Tokens: resume.NewTokens(tokens), Store: store, MaxResponse: function.MaxResponse,
		Region: p.Config.Region, Account: p.Text("WAITLESS_ACCOUNT"), Now: time.Now, Log: p.Log, Audit: function.AuditLog(getenv),
	}
	handler := func(ctx context.Context, _ *function.Request) (_ http.Handler, err error) {
		clients, config := clients, config
		if clients.Keys, err = keys.Get(ctx); err != nil {
			return nil, err
		}
		if config.Keys, err = signers.Get(ctx); err != nil {
			return nil, err
		}
		config.Executions, err = engine.NewClient(clients)
		return sfn.Handler(config), err
	}
	return p.OnlyOwnAPI(false, function.Serve(handler)), p.Err()
}
