package main

import (
	"context"
	"net/http"
	"time"

	"github.com/waitless/waitless/pkg/aws/call/catalogue"
	"github.com/waitless/waitless/pkg/aws/function"
	"github.com/waitless/waitless/pkg/aws/parts"
	"github.com/waitless/waitless/pkg/aws/s3"
	"github.com/waitless/waitless/pkg/aws/schedules"
	"github.com/waitless/waitless/pkg/httpapi/clientkeys"
	"github.com/waitless/waitless/pkg/httpapi/sfn"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// compose composes the function from its environment.
func compose(getenv func(string) string) (function.HTTP, error) {
	p := parts.New(getenv, function.Log(getenv))
	store, waits, keys := p.LogTable(), p.WaitsTable(), p.Keys()
	clients := p.ClientConfig(store, waits, s3.NewBucket(p.Config, p.Text("WAITLESS_VALUES_BUCKET")))
	tokens := p.TokensConfig(waits)
	tokens.By = token.ClosedByCallback
	signers := parts.Secret(p, "WAITLESS_CLIENT_KEYS", clientkeys.Parse)
	config := sfn.Config{
		Tokens: resume.NewTokens(tokens), Catalog: store, Flows: store, Check: catalogue.Check, MaxResponse: function.MaxResponse,
		Schedules: schedules.NewManager(p, store),
		Region:    p.Config.Region, Account: p.Text("WAITLESS_ACCOUNT"), Now: time.Now, Log: p.Log, Audit: function.AuditLog(getenv),
	}
	handler := func(ctx context.Context, _ *function.Request) (_ http.Handler, err error) {
		config := config
		if config.Keys, err = signers.Get(ctx); err != nil {
			return nil, err
		}
		config.Executions, err = parts.NewClient(ctx, clients, keys)
		return sfn.Handler(config), err
	}
	return p.OnlyOwnAPI(false, function.Serve(handler)), p.Err()
}
