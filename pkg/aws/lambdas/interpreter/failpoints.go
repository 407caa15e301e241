//go:build failpoints

package interpreter

import (
	"context"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/engine/failpoints"
)

// watched puts failpoints around the ports; see package failpoints.
func watched(c engine.Config) engine.Config { return failpoints.Around(c) }

func advance(e *engine.Engine) func(context.Context, engine.Wake) (engine.Verdict, error) {
	return func(ctx context.Context, wake engine.Wake) (engine.Verdict, error) {
		return failpoints.Advance(ctx, e, wake)
	}
}
