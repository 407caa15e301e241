package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// reporter reports the ends of executions and lanes.
type reporter struct{ *core }

// reportIfFinal reports the committed state to the parent and to Ends, or joins a lane, if it is
// final. After an error the wake is delivered again, and [handler.reportEndAgain] repeats the
// report.
func (r reporter) reportIfFinal(ctx context.Context, item Item, state machine.State) error {
	switch {
	case !state.Status.Final():
	case state.Lane != nil:
		return r.join(ctx, item.Seq, state)
	default:
		return r.reportEnd(ctx, item.Execution, state)
	}
	return nil
}

// reportEnd reports the end of an execution to its parent, to its target and to Ends. An error of
// one report does not prevent the others.
func (r reporter) reportEnd(ctx context.Context, id ID, state machine.State) error {
	var toParent, toTarget, toEnds error
	if state.Awaited() {
		toParent = r.reportToParent(ctx, state)
	}
	if r.notifies(state.Notify) {
		toTarget = r.notifyEnd(ctx, state)
	}
	if r.Ends != nil {
		toEnds = r.Ends.Ended(ctx, id, state)
	}
	return errors.Join(toParent, toTarget, toEnds)
}

// endedBy reports whether the wake ended the execution, or has to report the end in place of the
// wake that did. The worker that ended it may have died before it reported that. A request to stop
// also makes a lane that has ended join again (rule 20).
func (c *core) endedBy(wake Wake, state machine.State) bool {
	reports := c.Ends != nil || c.notifies(state.Notify) || state.Lane != nil || state.Awaited()
	isStop := state.Lane != nil && wake.Cause == machine.CauseStop
	return state.Status.Final() && (reports && (wake.Cause == state.By || wake.bringsResult(state)) || isStop)
}

// reportEndAgain reports the end again, if the worker that committed it is dead (rule 7, the worker
// may live). Until then it leaves the wake to a later delivery. A lane joins again at once (rule
// 17).
func (h *handler) reportEndAgain(ctx context.Context, wake Wake, base Item, state machine.State) (Disposition, error) {
	if isReport, err := h.isReportAfterEnd(ctx, wake, state); isReport || err != nil {
		return done, err
	}
	entered := machine.Entry{By: state.By, Since: state.At, Generation: state.Generation}
	if until, mayLive := h.mayLive(entered, h.WorkerDeadAfter); mayLive && !h.wrote(base) && state.Lane == nil {
		return Disposition{RetryAt: until}, nil
	}
	return done, reporter{h.core}.reportIfFinal(ctx, base, state)
}

// isReportAfterEnd reports whether the wake belongs to a report over HTTP which came after the end.
// Such a wake is sent before the update that it announces (rule 10), so the result came with an
// earlier one. From a queue the wake follows the update, perhaps long after it.
func (c *core) isReportAfterEnd(ctx context.Context, wake Wake, state machine.State) (bool, error) {
	_, isToken := token.HandleID(wake.Cause)
	if !isToken || state.Lane != nil || wake.Sent.Sub(state.At) < token.WakePatience { // a lane reports to its fork alone
		return false, nil
	}
	record, err := c.TokenStore.Record(ctx, wake.Cause)
	return err == nil && !slices.Contains(closersFromQueues, record.ClosedBy), err
}

// closersFromQueues send the wake of a token after they closed it (rule 10).
var closersFromQueues = []token.Closer{
	token.ClosedByEvent, token.ClosedByReconcile, token.ClosedByTask, token.ClosedBySubmit, token.ClosedByChild,
}
