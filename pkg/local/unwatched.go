//go:build !failpoints

package local

import (
	"context"
	"time"

	"github.com/waitless/waitless/pkg/engine"
)

// watched gives the ports as they are. In the build of the kill test it stops
// at every gap between two effects; see failpoints.go.
func watched(p ports) ports { return p }

// present is the instant of the real clock.
func present() time.Time { return time.Now() }

// runTask is RunTask of the engine.
func (s *System) runTask(ctx context.Context, task engine.Task) (engine.Verdict, error) {
	return s.runner.RunTask(ctx, task)
}
