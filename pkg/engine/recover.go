package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
)

// Recover sends the wakes that an execution needs to continue, if all its wakes and tasks are lost,
// as those in the memory of a process. latest is the latest item of its log, and state the state in
// it. For an ended execution it sends the wake that reports its end, if it has a target.
func (w *Worker) Recover(ctx context.Context, latest Item, state machine.State) error {
	if state.Status.Final() {
		if w.core.notifies(state.Notify) && state.Lane == nil {
			return w.core.sendWake(ctx, latest.Execution, state.By)
		}
		return nil
	}
	if root, generation := state.Root(); machine.IsCounted(generation) {
		w = &Worker{*w.core.forDescendants(root)}
	}
	causes, err := w.core.lostCauses(ctx, latest.Execution, state)
	if err != nil {
		return wrap("recover execution "+latest.Execution.String(), err)
	}
	for _, cause := range slices.Compact(causes) {
		if err := w.core.sendWake(ctx, latest.Execution, cause); err != nil {
			return err
		}
	}
	// The wake of an ending or a closing stops the lanes (rules 19 and 30). Until then they must
	// not go on.
	if waiting := state.Waiting; waiting.Fork() != nil && !state.StopsLanes() {
		if err := w.recoverLanes(ctx, latest.Execution, waiting); err != nil {
			return err
		}
	}
	return w.core.sendTimer(ctx, latest, state)
}

// recoverLanes recovers the lanes that have not joined, and repeats the wakes that the joins sent
// (rule 15). Lanes without a log begin with the wake of the fork.
func (w *Worker) recoverLanes(ctx context.Context, id ID, waiting *machine.Waiting) error {
	attempt := waiting.Attempt.Number
	record, all, err := w.core.joined(ctx, id, waiting)
	switch {
	case err != nil:
		return err
	case all:
		return w.core.sendJoined(ctx, id, attempt)
	case record.Failed != NoLane:
		err = w.core.sendLaneFailed(ctx, id, attempt)
	}
	for _, lane := range lanesOf(id, attempt, waiting.Fork().Lanes) {
		if _, joined := record.Joined[lane.Index]; err == nil && !joined {
			err = w.recoverLane(ctx, lane)
		}
	}
	return err
}

// recoverLane continues a lane that has a log and has not joined. Any wake finds a damaged item,
// and ends the lane (rule 21).
func (w *Worker) recoverLane(ctx context.Context, lane machine.Lane) error {
	item, err := w.core.Log.Latest(ctx, lane.ID())
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	state, err := decodeState(item)
	switch {
	case CodeOf(err) == CodeDefect:
		return w.core.sendLanes(ctx, []machine.Lane{lane}, machine.CauseStart)
	case CodeOf(err) == CodeTooNew:
		return nil // a newer release takes it over
	case err != nil:
		return err
	case state.Status.Final():
		return reporter{&w.core}.join(ctx, item.Seq, state)
	}
	return w.Recover(ctx, item, state)
}

// RecoverEnd is [Worker.Recover] for an execution of flow that cannot continue in this process. It
// sends the wakes that still apply (see CannotContinue of [Config]): a stored request to stop, and
// the time limit. A time limit that is not the flow's own has no timer, so it is checked only now
// (rule 1).
func (w *Worker) RecoverEnd(ctx context.Context, id ID, state machine.State, flow *flow.Flow) error {
	_, stopped, err := w.core.Stops.StopRequest(ctx, id)
	if err != nil {
		return wrap("recover execution "+id.String(), err)
	}
	now := w.core.Now()
	if stopped {
		err = w.core.sendWake(ctx, id, machine.CauseStop)
	}
	if state.EndsWithParent() && err == nil {
		err = w.core.sendWake(ctx, id, machine.CauseParent)
	}
	if err != nil {
		return err
	}
	due := now
	if flow.Timeout > 0 {
		due = w.core.Limits.EndsAt(state, flow)
	}
	return w.core.Wakes.Send(ctx, Wake{Execution: id, Cause: machine.CauseLimit, Due: due, Sent: now})
}

// lostCauses returns the causes of the wakes that a state waits for, except timers. A request to
// stop needs a wake only if it is stored: a later request has a wake of its own.
func (c *core) lostCauses(ctx context.Context, id ID, state machine.State) ([]string, error) {
	causes, err := c.requestCauses(ctx, id, state)
	if err != nil {
		return nil, err
	}
	if waiting := state.Waiting; waiting != nil {
		// The wake makes the pending calls (rule 7, the worker may live): it reads the token, and
		// queues calls that were lost with the task queue. An ending waits for a token, too. A
		// waiting that only the timer ends needs no other wake.
		if _, unresolved := machine.Unresolved(state, waiting.By); unresolved {
			causes = append(causes, waiting.By)
		}
	}
	return causes, nil
}

// requestCauses returns the causes of the wakes for what others asked of an execution: its start,
// its stop, and the end of a sub-flow.
func (c *core) requestCauses(ctx context.Context, id ID, state machine.State) (causes []string, err error) {
	if state.Status == machine.StatusStarting && state.Timer.Tag == "" { // else the start is the timer
		causes = append(causes, machine.CauseStart)
	}
	_, stopped, err := c.Stops.StopRequest(ctx, id)
	if err != nil {
		return nil, err
	}
	if stopped {
		causes = append(causes, machine.CauseStop)
	}
	if state.EndsWithParent() { // its parent may have left it
		causes = append(causes, machine.CauseParent)
	}
	return causes, nil
}
