//go:build failpoints

package main

import (
	"context"
	"time"

	"github.com/waitless/waitless/pkg/aws/dynamo"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/engine/failpoints"
	"github.com/waitless/waitless/pkg/token"
)

// withFailpoints puts failpoints around the tokens' table; see package failpoints.
func withFailpoints(w *dynamo.Waits) failpointWaits { return failpointWaits{w} }

type failpointWaits struct{ *dynamo.Waits }

func (w failpointWaits) Close(ctx context.Context, handle string, closing token.CloseOp) (token.Record, error) {
	return failpoints.TokenStore{TokenStore: w.Waits}.Close(ctx, handle, closing)
}

func (w failpointWaits) RequestStop(ctx context.Context, execution engine.ID, request engine.StopRequest, expires time.Time) error {
	return failpoints.Stops{Stops: w.Waits}.RequestStop(ctx, execution, request, expires)
}

func withLogFailpoints(l *dynamo.Log) failpoints.Log { return failpoints.Log{Log: l} }
