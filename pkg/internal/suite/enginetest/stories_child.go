package enginetest

import (
	"errors"
	"fmt"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// childOutput makes the output of a sub-flow one that nothing else has.
const childOutput = "outputMappings: [{target: from, source: the child}]\n"

var (
	callChild = flowHead + taskText("A") + childOutput
	askChild  = flowHead + callbackText() + childOutput
)

// subFlow is a flow that waits for the end of its sub-flow.
func subFlow(lines ...string) string {
	return flowHead + subflowText(append([]string{awaited}, lines...)...)
}

// checkChild: the sub-flow has ended, and before its parent had its result. A sub-flow whose start
// came late may never have been.
func (w *storyWorld) checkChild(parent machine.State) error {
	step := w.firstWait(w.id())
	if !w.nested || step.Child() == nil {
		return nil
	}
	record, err := w.store.Record(w.t.Context(), step.Handle())
	if err != nil {
		return err
	}
	child, err := w.worker(living).Describe(w.t.Context(), step.Child().ID())
	switch {
	case errors.Is(err, engine.ErrNotFound) && record.ClosedBy != token.ClosedByChild:
		return checkLeft(parent, record)
	case err != nil:
		return err
	case !child.Status.Final():
		return fmt.Errorf("the execution ended and its sub-flow is %s, waits for %+v, and no message is left", child.Status, child.Waiting)
	case record.ClosedBy != token.ClosedByChild:
		err = checkLeft(parent, record)
	default:
		err = checkResult(parent, child)
	}
	if err != nil {
		return err
	}
	return w.checkHistory(step.Child().ID())
}

// checkLeft: a step ended without its sub-flow only by a stop or by its deadline.
func checkLeft(parent machine.State, record token.Record) error {
	switch {
	case record.ClosedBy == token.ClosedByStop && parent.Status == machine.StatusStopped:
	case record.ClosedBy == token.ClosedByDeadline && parent.Error == machine.ErrorTaskTimeout:
	case record.ClosedBy == token.ClosedByDeadline && parent.Status == machine.StatusStopped:
	default:
		return fmt.Errorf("the token of the step is closed by %s, and the execution is %s (%s: %s)", record.ClosedBy, parent.Status, parent.Error, parent.Cause)
	}
	return nil
}

// checkResult: the result of the sub-flow is that of its parent, which may have been stopped since.
func checkResult(parent, child machine.State) error {
	switch {
	case parent.Status == machine.StatusStopped:
		return nil
	case parent.Status != child.Status || parent.Error != child.Error || parent.Cause != child.Cause || !value.Equal(parent.Output, child.Output):
		return fmt.Errorf("the sub-flow is %s with %s (%s: %s), and the execution %s with %s (%s: %s)",
			child.Status, child.Output, child.Error, child.Cause, parent.Status, parent.Output, parent.Error, parent.Cause)
	case child.At.After(parent.At):
		return fmt.Errorf("the sub-flow ended at %s, and the execution at %s", child.At, parent.At)
	}
	return nil
}
