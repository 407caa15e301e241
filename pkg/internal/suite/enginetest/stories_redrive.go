package enginetest

import (
	"fmt"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// failBefore runs an execution of the flow that fails in Flaky, after A succeeded. The execution of
// the world is its redrive.
func (w *storyWorld) failBefore() {
	w.t.Helper()
	name := w.name
	w.name += "-before"
	w.start(living)
	w.finish(living)
	ended := w.state()
	if ended.Status != machine.StatusFailed || w.flaky == "" {
		w.t.Fatalf("the execution before is %s (%s)", ended.Status, ended.Cause)
	}
	w.calls, w.lanes = map[string][]made{}, map[engine.ID]machine.Lane{}
	w.redrives, w.name, w.endedBefore = w.id(), name, ended
}

// checkRedrive: the redrive made no call of a step before the one that failed, ends as if nothing
// had failed, and leaves the execution before as it is.
func (w *storyWorld) checkRedrive(state machine.State) error {
	if w.redrives == (engine.ID{}) {
		return nil
	}
	for _, calls := range w.calls {
		if calls[0].function == "A" {
			return fmt.Errorf("the redrive called A")
		}
	}
	if state.Status != machine.StatusSucceeded && !w.stopped || state.Redriven == nil || state.Redriven.From != w.endedBefore.Execution {
		return fmt.Errorf("the redrive is %s (%s: %s) from %+v", state.Status, state.Error, state.Cause, state.Redriven)
	}
	before, err := w.worker(living).Describe(w.t.Context(), w.redrives)
	if err != nil || before.Status != w.endedBefore.Status || before.Events != w.endedBefore.Events {
		return fmt.Errorf("the execution before was %+v and is %+v, error %w", w.endedBefore, before, err)
	}
	return nil
}
