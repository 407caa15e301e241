//go:build failpoints

package local

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/engine/failpoints"
	"github.com/waitless/waitless/pkg/token"
)

// A build with the tag failpoints tells every gap between two effects of the
// engine to whoever listens at a socket; see package failpoints.

// failpointsClock is the environment's name of how far the real clock is put
// ahead, so that nobody has to wait for a claim to lapse.
const failpointsClock = "WAITLESS_FAILPOINTS_CLOCK"

// present is the instant of the real clock, which may have been put ahead.
func present() time.Time { return time.Now().Add(ahead()) }

var ahead = sync.OnceValue(func() time.Duration {
	text := os.Getenv(failpointsClock)
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		panic(err)
	}
	return d
})

// watched puts the failpoints around the ports.
func watched(p ports) ports {
	c := failpoints.Around(engine.Config{Log: p.store, Outcomes: p.store, Wakes: p.wakes, Tasks: p.tasks, TaskQueue: p.taskQueue})
	return ports{store: watchedStore{p.store, c.Log, c.Outcomes}, wakes: c.Wakes, tasks: c.Tasks, taskQueue: c.TaskQueue}
}

// Advance is that of the engine, with failpoints.
func (s *System) Advance(ctx context.Context, wake engine.Wake) (engine.Verdict, error) {
	return failpoints.Advance(ctx, s.Engine, wake)
}

// runTask is RunTask of the engine, with failpoints.
func (s *System) runTask(ctx context.Context, task engine.Task) (engine.Verdict, error) {
	return failpoints.RunTask(ctx, s.runner, task)
}

// watchedStore is a store whose effects are told of.
type watchedStore struct {
	Store
	log      engine.Log
	outcomes engine.Outcomes
}

func (s watchedStore) Latest(ctx context.Context, execution engine.ID) (engine.Item, error) {
	return s.log.Latest(ctx, execution)
}

func (s watchedStore) Append(ctx context.Context, item engine.Item) error {
	return s.log.Append(ctx, item)
}

func (s watchedStore) Close(ctx context.Context, handle string, closing token.CloseOp) (token.Record, error) {
	return s.outcomes.Close(ctx, handle, closing)
}

func (s watchedStore) Begin(ctx context.Context, handle string, beginning token.BeginOp) (token.Record, error) {
	return s.outcomes.Begin(ctx, handle, beginning)
}

func (s watchedStore) Answer(ctx context.Context, handle string, answering token.ReplyOp) (token.Record, error) {
	return s.outcomes.Answer(ctx, handle, answering)
}
