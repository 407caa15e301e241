//go:build failpoints

package main

import (
	"context"

	"github.com/waitless/waitless/pkg/aws/dynamo"
	"github.com/waitless/waitless/pkg/engine/failpoints"
	"github.com/waitless/waitless/pkg/token"
)

// withFailpoints puts failpoints around the tokens' table; see package failpoints.
func withFailpoints(w *dynamo.Waits) failpointWaits { return failpointWaits{w} }

type failpointWaits struct{ *dynamo.Waits }

func (w failpointWaits) Close(ctx context.Context, handle string, closing token.CloseOp) (token.Record, error) {
	return failpoints.TokenStore{TokenStore: w.Waits}.Close(ctx, handle, closing)
}
