//go:build failpoints

package main

import (
	"context"

	"github.com/waitless/waitless/pkg/aws/dynamo"
	"github.com/waitless/waitless/pkg/engine/failpoints"
	"github.com/waitless/waitless/pkg/token"
)

// watched puts failpoints around the tokens' table; see package failpoints.
func watched(w *dynamo.Waits) watchedWaits { return watchedWaits{w} }

type watchedWaits struct{ *dynamo.Waits }

func (w watchedWaits) Close(ctx context.Context, handle string, closing token.CloseOp) (token.Record, error) {
	return failpoints.TokenStore{TokenStore: w.Waits}.Close(ctx, handle, closing)
}
