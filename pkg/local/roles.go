package local

import (
	"context"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
)

// Worker is an [engine.Worker].
type Worker interface {
	Advance(ctx context.Context, wake engine.Wake) (engine.Disposition, error)
	Recover(ctx context.Context, latest engine.Item, state machine.State) error
	RecoverEnd(ctx context.Context, id engine.ID, state machine.State, flow *flow.Flow) error
}

// TaskRunner is an [engine.TaskRunner].
type TaskRunner interface {
	RunTask(ctx context.Context, task engine.Task) (engine.Disposition, error)
}

// Roles makes the parts of the engine. A test program makes parts that stop between two effects.
type Roles struct {
	Worker     func(engine.Config) (Worker, error)
	TaskRunner func(engine.Config) (TaskRunner, error)
	// Store returns the store of clients and closers.
	Store func(Store) Store
}
