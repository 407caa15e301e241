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

func newWorker(config engine.WorkerConfig) (worker, error) { return failpoints.NewWorker(config) }

func newTaskRunner(config engine.TaskRunnerConfig) (taskRunner, error) {
	return failpoints.NewTaskRunner(config)
}

// watchedStore returns the store of clients and closers.
func watchedStore(store Store) Store {
	return reportingStore{store, failpoints.Log{Log: store}, failpoints.TokenStore{TokenStore: store}}
}

// reportingStore reports the gaps around starts, stops and closings.
type reportingStore struct {
	Store
	log    engine.Log
	tokens engine.TokenStore
}

func (s reportingStore) Append(ctx context.Context, item engine.Item) error {
	return s.log.Append(ctx, item)
}

func (s reportingStore) Close(ctx context.Context, handle string, op token.CloseOp) (token.Record, error) {
	return s.tokens.Close(ctx, handle, op)
}

func (s reportingStore) RequestStop(ctx context.Context, execution engine.ID, request engine.StopRequest, expires time.Time) error {
	return failpoints.Stops{Stops: s.Store}.RequestStop(ctx, execution, request, expires)
}
