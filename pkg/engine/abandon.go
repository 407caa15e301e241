package engine

import (
	"context"
	"errors"

	"github.com/waitless/waitless/pkg/machine"
)

// Janitor ends an execution if a wake for it cannot be applied. It is safe for concurrent use.
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
	// AbandonedNot: keep the wake. It is needed, and the execution is of a newer release, or
	// another worker may live.
	AbandonedNot Abandoned = iota
	// AbandonedWake: the execution does not depend on the wake, or not any more.
	AbandonedWake
	// AbandonedExecution: the execution or lane ended, or is ending.
	AbandonedExecution
)

// Abandon ends the execution or lane with [machine.ErrorInternal], as a worker does for a defect,
// if it depends on the wake (rule 13, the wake was dead-lettered). The item always fits, and no
// function is called. After an error, call it again later: nothing is lost.
func (j *Janitor) Abandon(ctx context.Context, wake Wake, cause error) (Abandoned, error) {
	a := abandonment{newHandler(&j.core), wake, cause.Error()}
	a.now = j.core.Now()
	result, err := a.endIfNeeded(ctx)
	if CodeOf(err) == CodeTooNew {
		return AbandonedNot, nil
	}
	return result, wrapOnce("abandon", "execution "+wake.Execution.String(), err)
}

// endIfNeeded ends the execution or lane if it depends on the wake.
func (a *abandonment) endIfNeeded(ctx context.Context) (Abandoned, error) {
	base, state, err := a.lastReadableState(ctx)
	switch {
	case errors.Is(err, ErrNotFound):
		return AbandonedWake, nil
	case err != nil:
		return AbandonedNot, err
	case base.Seq == beforeFirst && a.wake.Cause == machine.CauseStop:
		return AbandonedExecution, a.stopBeforeStart(ctx, a.wake, *state.Lane)
	case a.endedBy(a.wake, state): // by a worker, or by a janitor that died before it reported the end
		disposition, err := a.reportEndAgain(ctx, a.wake, base, state)
		if err != nil || !disposition.RetryAt.IsZero() {
			return AbandonedNot, err
		}
		return AbandonedWake, nil
	}
	needed, err := a.isNeeded(ctx, base, state)
	if err != nil || !needed {
		return AbandonedWake, err
	}
	// A worker that handled another delivery of the wake may still be at work (rule 7).
	entered, unresolved := machine.Unresolved(state, a.wake.Cause)
	if _, mayLive := a.mayLive(entered, a.WorkerDeadAfter); unresolved && mayLive && !state.StopsLanes() {
		return AbandonedNot, nil
	}
	err = a.endAt(ctx, base, state)
	// Another worker that continued the log meanwhile may wait for the token that is now closed, so
	// the token's wake is sent (rule 10).
	if w := state.Waiting; CodeOf(err) == CodeConflict && w.Token() != nil {
		err = errors.Join(err, a.sendWake(ctx, base.Execution, w.Handle()))
	}
	return AbandonedExecution, err
}

// isNeeded reports whether the execution or lane may depend on the wake alone.
func (a *abandonment) isNeeded(ctx context.Context, base Item, state machine.State) (bool, error) {
	wake := a.wake
	_, unresolved := machine.Unresolved(state, wake.Cause)
	damaged := isDamaged(base)
	switch {
	case state.Status.Final():
		return false, nil
	case base.Seq == beforeFirst: // the lane is to begin
		return wake.Cause == machine.CauseStart || wake.isRearm(), nil
	case unresolved && !damaged:
		return a.entryIsNeeded(ctx, base, state)
	case damaged, wake.repeatsEnding(state), wake.Cause == machine.CauseLimit && a.overtime(state, nil):
		return true, nil
	case wake.isRearm(): // while it is not overdue, its own messages can continue it
		due, err := a.dueAt(ctx, state, a.now)
		return due.overdue() > Lateness, err
	case wake.isOfJoin(state.Waiting):
		record, all, err := a.joined(ctx, base.Execution, state.Waiting)
		return all || record.Failed != NoLane && !state.StopsLanes(), err
	}
	signal, err := a.signal(ctx, wake, base, state)
	if CodeOf(err) == CodeDefect { // the record of the token is damaged: any wake that reads it ends the execution
		return true, nil
	}
	return signal != nil, err
}

// entryIsNeeded reports whether something depends on the entry that the wake made: the end, the
// first messages to lanes, or a call that nothing else makes.
func (a *abandonment) entryIsNeeded(ctx context.Context, base Item, state machine.State) (bool, error) {
	w := state.Waiting
	switch {
	case state.Ending != nil && state.Ending.By == a.wake.Cause, state.Ending == nil && state.StopsLanes():
	case w.Fork() != nil: // if the last lane has a log, all were sent (rule 15)
		lanes := lanesOf(base.Execution, w.Attempt.Number, w.Fork().Lanes)
		lost, err := a.withoutLog(ctx, lanes[len(lanes)-1:])
		return len(lost) > 0, err
	case w.Token() != nil:
		return !w.Submitted() && w.Token().Phase != machine.TokenQueued, nil
	}
	return true, nil
}

// isDamaged reports whether the item cannot be read: then any wake ends the execution.
func isDamaged(item Item) bool {
	_, err := decodeState(item)
	return err != nil
}
