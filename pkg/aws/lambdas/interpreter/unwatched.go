//go:build !failpoints

package interpreter

import (
	"context"

	"github.com/waitless/waitless/pkg/engine"
)

// watched gives the configuration as it is. In the build of the kill test the
// engine stops at every gap between two effects; see failpoints.go.
func watched(c engine.Config) engine.Config { return c }

func advance(e *engine.Engine) func(context.Context, engine.Wake) (engine.Verdict, error) {
	return e.Advance
}
