package main

import (
	"context"
	"net/http"
	"time"

	"github.com/waitless/waitless/pkg/aws/function"
	"github.com/waitless/waitless/pkg/aws/parts"
	"github.com/waitless/waitless/pkg/aws/s3"
	"github.com/waitless/waitless/pkg/aws/schedules"
	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/httpapi/audit"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/telemetry"
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
	tokens.LimitHint = limits.Hints.Data
	config := rest.Config{
		Tokens: resume.NewTokens(tokens), Index: store, Flows: store, External: waits, Polls: &sqs.Polls{Target: p.Queue("WAITLESS_POLL_QUEUE"), Now: time.Now},
		Schedules: schedules.NewManager(p, store), Log: p.Log,
		MaxInput: limits.Data, MaxResponse: function.MaxResponse,
	}
	log := function.AuditLog(getenv)
	handler := func(ctx context.Context, request *function.Request) (_ http.Handler, err error) {
		clients, config := clients, config
		if clients.Keys, err = keys.Get(ctx); err != nil {
			return nil, err
		}
		client, err := engine.NewClient(clients)
		config.Engine, config.Start, config.Stop = client, client.Start, client.Stop
		return audit.Handler(log, function.Caller(request), rest.Handler(config)), err
	}
	return p.OnlyOwnAPI(true, function.Serve(handler)), p.Err()
}
