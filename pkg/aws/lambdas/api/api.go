// Package api composes the function of the management API. It may change
// between releases.
package api

import (
	"context"
	"log/slog"
	"net/http"
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
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// New composes the function from its environment.
func New(getenv func(string) string) (gateway.Function, error) {
	env := environment.New(getenv)
	config := env.AWS()
	logTable, waitsTable := env.Text("WAITLESS_LOG_TABLE"), env.Text("WAITLESS_WAITS_TABLE")
	wakeQueue, deliveryQueue, key := env.Text("WAITLESS_WAKE_QUEUE"), env.Text("WAITLESS_DELIVERY_QUEUE"), env.Text("WAITLESS_TOKEN_KEY")
	api := env.Text("WAITLESS_API")
	limits := machine.Limits{Duration: env.Duration(), Data: env.Bytes("WAITLESS_DATA_LIMIT", machine.DefaultData, machine.MaxData)}
	if err := env.Err(); err != nil {
		return nil, err
	}
	log := lambdas.Log(getenv)
	queues := sqs.NewFromConfig(config)
	sender, err := wakes.New(wakes.Config{Client: queues, URL: wakeQueue, Now: time.Now, Log: log})
	if err != nil {
		return nil, err
	}
	tables := dynamodb.NewFromConfig(config)
	foreign := &deliveries.Queue{Client: queues, URL: deliveryQueue}
	keys := &secrets.Keys{Client: secretsmanager.NewFromConfig(config), Secret: key, Now: time.Now}
	s := stack{log, sender, foreign, dynamo.NewLog(tables, logTable, time.Now), dynamo.NewWaits(tables, waitsTable, time.Now), limits, keys}
	serve := func(ctx context.Context, event events.APIGatewayV2HTTPRequest) (answer events.APIGatewayV2HTTPResponse, err error) {
		current, err := keys.Get(ctx)
		if err != nil {
			return answer, err
		}
		handler, err := s.handler(current)
		if err != nil {
			return answer, err
		}
		return gateway.Serve(handler)(ctx, event)
	}
	if env.OnSAMLocal() {
		return serve, nil
	}
	return gateway.Only(api, true, serve), nil
}

// stack is what the API works on.
type stack struct {
	lines   *slog.Logger
	wakes   *wakes.Wakes
	foreign *deliveries.Queue // to whoever serves somebody else's engine
	log     *dynamo.Log
	waits   *dynamo.Waits
	limits  machine.Limits
	keys    *secrets.Keys
}

func (s stack) handler(keys token.Keys) (http.Handler, error) {
	waits := watched(s.waits)
	client, err := engine.NewClient(engine.ClientConfig{
		Log: watchedLog(s.log), Flows: s.log, TokenStore: waits, Stops: waits, Wakes: s.wakes, Keys: keys, Now: time.Now, Limits: s.limits,
	})
	if err != nil {
		return nil, err
	}
	return rest.Handler(rest.Config{
		Engine: client,
		Tokens: resume.NewTokens(resume.TokensConfig{
			Keys: s.keys, Store: waits, Wakes: wakes.ForTokens(s.wakes, s.foreign), Beats: s.foreign, Now: time.Now, Limit: s.limits.Data,
		}),
		Index: s.log, Flows: s.log, Foreign: s.waits, Log: s.lines, MaxOutput: s.limits.Data,
	}), nil
}
