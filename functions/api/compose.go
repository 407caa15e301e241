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
	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/httpapi/audit"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/resume"
)

// compose composes the function from its environment.
func compose(getenv func(string) string) (function.HTTP, error) {
	p := parts.New(getenv, function.Log(getenv))
	store, waits, keys := p.LogTable(), p.WaitsTable(), p.Keys()
	clients := p.ClientConfig(store, waits, s3.NewBucket(p.Config, p.Text("WAITLESS_VALUES_BUCKET")))
	clients.Check = catalogue.Check
	tokens := p.TokensConfig(waits)
	tokens.LimitHint = clients.Limits.Hints.Data
	config := rest.Config{
		Tokens: resume.NewTokens(tokens), Catalog: store, External: waits, Schedules: schedules.NewManager(p, store), Log: p.Log,
		MaxInput: clients.Limits.Data, MaxResponse: function.MaxResponse,
	}
	polls := &sqs.Polls{Target: p.Queue("WAITLESS_POLL_QUEUE"), Now: time.Now}
	config.Rearmer = resume.Rearmer{
		Tokens: config.Tokens, Polls: polls, Rendezvous: waits, Account: p.Text("WAITLESS_ACCOUNT"), Region: p.Config.Region,
	}
	config.JobEvents = rest.UnmatchedEvents{Events: waits, Record: waits.JobRecord, Token: waits.Record, Handle: polls.Replay}
	log := function.AuditLog(getenv)
	handler := func(ctx context.Context, request *function.Request) (_ http.Handler, err error) {
		config := config
		client, err := parts.NewClient(ctx, clients, keys)
		config.Engine, config.Start, config.Stop = client, client.Start, client.Stop
		return audit.Handler(log, function.Caller(request), rest.Handler(config)), err
	}
	return p.OnlyOwnAPI(true, function.Serve(handler)), p.Err()
}
