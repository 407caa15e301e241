package engine

import (
	"context"
	"errors"

	"github.com/waitless/waitless/pkg/machine"
)

// Janitor ends executions whose wakes cannot be applied. It is safe for concurrent use.
type Janitor struct{ core core }

// NewJanitor returns a janitor. It requires Log, Wakes, Flows, TokenStore, Stops, Joins and Now.
func NewJanitor(config Config) (*Janitor, error) {
	c, err := newCore("janitor", config, "Log", "Wakes", "Flows", "TokenStore", "Stops", "Joins", "Now")
	if err != nil {
		return nil, err
	}
	return &Janitor{c}, nil
}

// Abandoned is what became of a wake that cannot be applied.
type Abandoned uint8

// The results of [Janitor.Abandon].
const (
	// AbandonedNot: keep the wake. It is needed, and the execution is of a newer release, or another worker may live.
	AbandonedNot Abandoned = iota
	// AbandonedWake: the execution does not depend on the wake, or not any more.
	AbandonedWake
	// AbandonedExecution: the execution or lane ended, or is ending.
	AbandonedExecution
)

// Abandon ends the execution or lane with [machine.ErrorInternal], as a worker does for a defect, if it depends on the wake (rule 13, the
// wake was dead-lettered). The item always fits, and no function is called. After an error, call it again later: nothing is lost.
func (j *Janitor) Abandon(ctx context.Context, wake Wake, cause error) (Abandoned, error) {
	h := &handler{core: &j.core, wake: wake, now: j.core.Now()}
	result, err := h.abandonDead(ctx, cause)
	if CodeOf(err) == CodeTooNew {
		return AbandonedNot, nil
	}
	return result, wrapOnce("abandon", "execution "+wake.Execution.String(), err)
}

func (h *handler) abandonDead(ctx context.Context, cause error) (Abandoned, error) {
	base, state, err := h.lastReadableState(ctx)
	switch {
	case errors.Is(err, ErrNotFound):
		return AbandonedWake, nil
	case err != nil:
		return AbandonedNot, err
	case base.Seq == beforeFirst && h.wake.Cause == machine.CauseStop:
		return AbandonedExecution, h.stopBeforeStart(ctx, *state.Lane)
	case h.endedByWake(state): // by a worker, or by a janitor that died before it reported the end
		disposition, err := h.reportEndAgain(ctx, base, state)
		if err != nil || !disposition.RetryAt.IsZero() {
			return AbandonedNot, err
		}
		return AbandonedWake, nil
	}
	needed, err := h.isNeeded(ctx, base, state)
	if err != nil || !needed {
		return AbandonedWake, err
	}
	if h.mayBeEntering(state) {
		return AbandonedNot, nil
	}
	return AbandonedExecution, h.abandonNeeded(ctx, base, state, cause)
}

// mayBeEntering reports whether a worker that handled another delivery of the wake may still be at work (rule 7).
func (h *handler) mayBeEntering(state machine.State) bool {
	entered, unresolved := machine.Unresolved(state, h.wake.Cause)
	_, mayLive := h.mayLive(entered, h.WorkerDeadAfter)
	return unresolved && mayLive && !stopsLanes(state)
}

// abandonNeeded ends the execution or lane. If another worker continued it meanwhile, that may wait for the token that is now closed, so the
// token's wake is sent (rule 10).
func (h *handler) abandonNeeded(ctx context.Context, base Item, state machine.State, cause error) error {
	err := h.abandonAt(ctx, base, state, cause)
	if w := state.Waiting; CodeOf(err) == CodeConflict && w != nil && w.For == machine.WaitingForToken {
		return errors.Join(err, h.sendWake(ctx, base.Execution, w.Handle()))
	}
	return err
}

// isNeeded reports whether the execution or lane may depend on the wake alone.
func (h *handler) isNeeded(ctx context.Context, base Item, state machine.State) (bool, error) {
	_, unresolved := machine.Unresolved(state, h.wake.Cause)
	switch {
	case state.Status.Final():
		return false, nil
	case base.Seq == beforeFirst: // the lane is to begin
		return h.wake.Cause == machine.CauseStart || h.isRearm(), nil
	case unresolved && !h.isDamaged(base):
		return h.entryIsNeeded(ctx, base, state)
	case h.isDamaged(base), h.endingIsLost(state), h.wake.Cause == machine.CauseLimit && h.overtime(state, nil):
		return true, nil
	case h.isRearm(): // while it is not overdue, its own messages can continue it
		due, err := h.dueAt(ctx, state, h.now)
		return due.overdue() > Lateness, err
	case h.isOfJoin(state.Waiting):
		record, all, err := h.joined(ctx, base.Execution, state.Waiting)
		return all || record.Failed != NoLane && state.Ending == nil, err
	}
	signal, err := h.signal(ctx, base, state)
	if CodeOf(err) == CodeDefect { // the record of the token is damaged: any wake that reads it ends the execution
		return true, nil
	}
	return signal != nil, err
}

// entryIsNeeded reports whether what the wake entered depends on it: the end, the first messages to lanes, or a call that nothing else makes.
func (h *handler) entryIsNeeded(ctx context.Context, base Item, state machine.State) (bool, error) {
	w := state.Waiting
	switch {
	case state.Ending != nil && state.Ending.By == h.wake.Cause:
	case w.For == machine.WaitingForLanes: // if the last lane has a log, all were sent (rule 15)
		lanes := lanesOf(base.Execution, w.Attempt.Number, w.Lanes)
		lost, err := h.withoutLog(ctx, lanes[len(lanes)-1:])
		return len(lost) > 0, err
	case w.Token != nil:
		return !w.Submitted() && w.Token.Phase != machine.TokenQueued, nil
	}
	return true, nil
}

// isDamaged reports whether the item cannot be read: then any wake ends the execution.
func (*handler) isDamaged(item Item) bool {
	_, err := decodeState(item)
	return err != nil
}
