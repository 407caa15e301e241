package enginetest

import (
	"context"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// roles is an engine in all its roles. A case may change the configuration between two calls.
type roles struct{ engine.Config }

func (r *roles) worker() *engine.Worker { return must(engine.NewWorker(r.Config)) }

func (r *roles) runner() *engine.TaskRunner { return must(engine.NewTaskRunner(r.Config)) }

func (r *roles) client() *engine.Client {
	c := r.Config
	c.CheckTarget = func(string) error { return nil }
	return must(engine.NewClient(c))
}

func (r *roles) janitor() *engine.Janitor { return must(engine.NewJanitor(r.Config)) }

// must returns a role, none of which lacks a port.
func must[T any](role T, err error) T {
	if err != nil {
		panic(err)
	}
	return role
}

// Advance is [engine.Worker.Advance].
func (r *roles) Advance(ctx context.Context, wake engine.Wake) (engine.Disposition, error) {
	return r.worker().Advance(ctx, wake)
}

// Recover is [engine.Worker.Recover].
func (r *roles) Recover(ctx context.Context, latest engine.Item, state machine.State) error {
	return r.worker().Recover(ctx, latest, state)
}

// RunTask is [engine.TaskRunner.RunTask].
func (r *roles) RunTask(ctx context.Context, task engine.Task) (engine.Disposition, error) {
	return r.runner().RunTask(ctx, task)
}

// Start is [engine.Client.Start].
func (r *roles) Start(ctx context.Context, request engine.StartRequest) (engine.StartResult, error) {
	return r.client().Start(ctx, request)
}

// Redrive is [engine.Client.Redrive].
func (r *roles) Redrive(ctx context.Context, id engine.ID, request engine.RedriveRequest) (engine.StartRequest, error) {
	return r.client().Redrive(ctx, id, request)
}

// Rerun is [engine.Client.Rerun].
func (r *roles) Rerun(ctx context.Context, id engine.ID, name string, newest bool) (engine.StartRequest, error) {
	return r.client().Rerun(ctx, id, name, newest)
}

// Stop is [engine.Client.Stop].
func (r *roles) Stop(ctx context.Context, id engine.ID, name, cause string) error {
	return r.client().Stop(ctx, id, name, cause)
}

// Waiting is [engine.Client.Waiting].
func (r *roles) Waiting(ctx context.Context, state machine.State, most int) (engine.Waits, error) {
	return r.client().Waiting(ctx, state, most)
}

// Describe is [engine.Client.Describe].
func (r *roles) Describe(ctx context.Context, id engine.ID) (machine.State, error) {
	return r.client().Describe(ctx, id)
}

// History is [engine.Client.History].
func (r *roles) History(ctx context.Context, id engine.ID) ([]machine.Event, error) {
	return r.client().History(ctx, id)
}

// HistoryAfter is [engine.Client.HistoryAfter].
func (r *roles) HistoryAfter(
	ctx context.Context, id engine.ID, after engine.Position, full func(machine.Event) bool,
) (engine.HistoryPage, error) {
	return r.client().HistoryAfter(ctx, id, after, full)
}

// HistoryFrom is [engine.Client.HistoryFrom].
func (r *roles) HistoryFrom(
	ctx context.Context, id engine.ID, first int, full func(machine.Event) bool,
) (engine.HistoryPage, error) {
	return r.client().HistoryFrom(ctx, id, first, full)
}
