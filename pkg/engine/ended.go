package engine

import (
	"context"

	"github.com/waitless/waitless/pkg/machine"
)

// tellEnd tells of a state that was just committed, if it is the last one. An
// error keeps the wake, by which it is told again.
func (e *Engine) tellEnd(ctx context.Context, id ID, state machine.State) error {
	if e.Ends == nil || !state.Status.Final() {
		return nil
	}
	return e.Ends.Ended(ctx, id, state)
}

// ended reports whether the wake is the one that ended the execution: then the
// worker that did may have died before it told so.
func (w *worker) ended(state machine.State) bool {
	return w.engine.Ends != nil && state.Status.Final() && state.By == w.wake.Cause
}

// endAgain tells of the end again, once the worker that committed it cannot
// live (rule 7).
func (w *worker) endAgain(ctx context.Context, base Item, state machine.State) (Verdict, error) {
	entered := machine.Entry{By: state.By, Since: state.At, Generation: state.Generation}
	if until, mayLive := w.engine.mayLive(entered, w.engine.WorkerLife); mayLive && !w.wrote(base) {
		return Verdict{PutBack: until}, nil
	}
	return done, w.engine.tellEnd(ctx, w.wake.Execution, state)
}
