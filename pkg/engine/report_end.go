package engine

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// reportIfFinal reports the committed state to the parent and to Ends, or joins a lane, if it is final. After an error the wake
// is delivered again, and [handler.reportEndAgain] repeats the report.
func (c *core) reportIfFinal(ctx context.Context, item Item, state machine.State) error {
	switch {
	case !state.Status.Final():
	case state.Lane != nil:
		return c.join(ctx, item.Seq, state)
	default:
		return c.reportEnd(ctx, item.Execution, state)
	}
	return nil
}

// reportEnd reports the end of an execution to its parent, to its target and to Ends. One that fails does not keep the
// others from it.
func (c *core) reportEnd(ctx context.Context, id ID, state machine.State) error {
	var toParent, toTarget, toEnds error
	if state.Awaited() {
		toParent = c.reportToParent(ctx, state)
	}
	if c.notifies(state.Notify) {
		toTarget = c.notifyEnd(ctx, state)
	}
	if c.Ends != nil {
		toEnds = c.Ends.Ended(ctx, id, state)
	}
	return errors.Join(toParent, toTarget, toEnds)
}

// endedByWake reports whether the wake ended the execution, or has to report the end in place of the wake
// that did. The worker that ended it may have died before it reported that. A request to stop also makes a
// lane that has ended join again (rule 20).
func (h *handler) endedByWake(state machine.State) bool {
	reports := h.Ends != nil || h.notifies(state.Notify) || state.Lane != nil || state.Awaited()
	isStop := state.Lane != nil && h.wake.Cause == machine.CauseStop
	return state.Status.Final() && (reports && (h.wake.Cause == state.By || h.bringsResult(state)) || isStop)
}

// bringsResult reports whether the wake is that of ended lanes or of a closed token, and the result can have
// ended the execution. Another wake that was delivered twice may have found the result first. If its other
// delivery deleted the message meanwhile, and the worker died, the wake of the result is all that is left.
func (h *handler) bringsResult(state machine.State) bool {
	cause := h.wake.Cause
	switch {
	case h.wake.Seq > 0, strings.HasPrefix(cause, machine.CauseReply("")): // a timer, a reply
		return false
	case slices.Contains([]string{machine.CauseStart, machine.CauseStop, machine.CauseLimit, machine.CauseParent}, cause):
		return false
	}
	return machine.IsJoin(cause) || state.Status == machine.StatusSucceeded || state.Status == machine.StatusFailed
}

// reportEndAgain reports the end again, if the worker that committed it is dead (rule 7, the worker may
// live). Until then it leaves the wake to a later delivery. A lane joins again at once (rule 17).
func (h *handler) reportEndAgain(ctx context.Context, base Item, state machine.State) (Disposition, error) {
	if isReport, err := h.isReportAfterEnd(ctx, state); isReport || err != nil {
		return done, err
	}
	entered := machine.Entry{By: state.By, Since: state.At, Generation: state.Generation}
	if until, mayLive := h.mayLive(entered, h.WorkerDeadAfter); mayLive && !h.wrote(base) && state.Lane == nil {
		return Disposition{RetryAt: until}, nil
	}
	return done, h.reportIfFinal(ctx, base, state)
}

// isReportAfterEnd reports whether the wake is that of a report over HTTP which came after the end. Such a wake is sent before
// the update that it announces (rule 10), so the result came with an earlier one. From a queue the wake follows the update,
// perhaps long after it.
func (h *handler) isReportAfterEnd(ctx context.Context, state machine.State) (bool, error) {
	_, isToken := token.HandleID(h.wake.Cause)
	if !isToken || state.Lane != nil || h.wake.Sent.Sub(state.At) < token.WakePatience { // a lane reports to its fork alone
		return false, nil
	}
	record, err := h.TokenStore.Record(ctx, h.wake.Cause)
	return err == nil && !slices.Contains(closersFromQueues, record.ClosedBy), err
}

// closersFromQueues send the wake of a token after they closed it (rule 10).
var closersFromQueues = []token.Closer{
	token.ClosedByEvent, token.ClosedByReconcile, token.ClosedByTask, token.ClosedBySubmit, token.ClosedByChild,
}
