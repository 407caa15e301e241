//go:build !failpoints

package local

import (
	"time"

	"github.com/waitless/waitless/pkg/engine"
)

// In the build of the kill test the parts of the engine stop at every gap between two effects; see
// failpoints.go.

func newWorker(config engine.WorkerConfig) (worker, error) { return engine.NewWorker(config) }

func newTaskRunner(config engine.TaskRunnerConfig) (taskRunner, error) {
	return engine.NewTaskRunner(config)
}

func watchedStore(store Store) Store { return store }

// present is the instant of the real clock.
func present() time.Time { return time.Now() }
