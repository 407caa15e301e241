// This file is added to the composition of a function that reports its gaps; see package failpoints.

package main

import (
	"context"
	"time"

	"github.com/waitless/waitless/pkg/aws/dynamo"
	"github.com/waitless/waitless/pkg/aws/parts"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/engine/failpoints"
	"github.com/waitless/waitless/pkg/token"
)

// watchedClients reports the gaps of starts and of requests to stop.
func watchedClients(p *parts.Parts, store *dynamo.Log, waits *dynamo.Waits, values engine.LargeValues) engine.Config {
	config := p.ClientConfig(store, waits, values)
	config.Log, config.TokenStore, config.Stops = failpoints.Log{Log: store}, watchedWaits{waits}, watchedWaits{waits}
	return config
}

// watchedWaits reports the gaps of closers and of requests to stop.
type watchedWaits struct{ *dynamo.Waits }

func (w watchedWaits) Close(ctx context.Context, handle string, closing token.CloseOp) (token.Record, error) {
	return failpoints.TokenStore{TokenStore: w.Waits}.Close(ctx, handle, closing)
}

func (w watchedWaits) CloseEarly(ctx context.Context, handle string, closing token.CloseOp, _ func()) (token.Record, error) {
	return w.Close(ctx, handle, closing)
}

func (w watchedWaits) RequestStop(ctx context.Context, execution engine.ID, request engine.StopRequest, expires time.Time) error {
	return failpoints.Stops{Stops: w.Waits}.RequestStop(ctx, execution, request, expires)
}

// watchedWorker is a worker that reports its gaps.
type watchedWorker = failpoints.Worker

func newWatchedWorker(config engine.Config) (watchedWorker, error) {
	return failpoints.NewWorker(config)
}
