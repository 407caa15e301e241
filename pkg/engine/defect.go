package engine

import (
	"context"
	"errors"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// poisonReceives is from which receive on a defect ends the execution (rule 13).
const poisonReceives = 5

// defect wraps an error with its code. An error for lack of keys is not a defect: the next process
// may have them.
func defect(op string, err error) error {
	var keys *machine.KeysError
	if errors.As(err, &keys) {
		return &Error{CodeInternal, op, err}
	}
	return &Error{CodeDefect, op, err}
}

// poisoned reports whether the wake met a defect on so many deliveries that it always will.
// Data of a newer release is not a defect.
func poisoned(receives int, err error) bool {
	return receives >= poisonReceives && CodeOf(err) == CodeDefect
}

// abandonment ends the execution or lane of a wake that cannot be applied, with
// [machine.ErrorInternal] and the cause. A worker does so for a defect, and a janitor for a wake
// that was dead-lettered (rule 13).
type abandonment struct {
	*handler
	wake  Wake
	cause string
}

// endNow ends the execution unless it has ended.
func (a *abandonment) endNow(ctx context.Context) error {
	for try := 1; ; try++ {
		base, state, err := a.lastReadableState(ctx)
		if err == nil && !state.Status.Final() {
			err = a.endAt(ctx, base, state)
		}
		if try == maxTries || CodeOf(err) != CodeConflict || a.Sleep(ctx, jitter(try)) != nil {
			return err
		}
	}
}

// endAt ends the execution after the item; state is the item's state or the last readable one. It
// closes an open token first, and records the outcome that the token then holds.
func (a *abandonment) endAt(ctx context.Context, base Item, state machine.State) error {
	record, joined, err := a.endWaiting(ctx, state)
	if err != nil {
		return err
	}
	if joined || state.Ending == nil || !state.StopsLanes() {
		var events []machine.Event
		before := state
		flow, _ := a.Flows.Flow(ctx, before.Flow) // nil if it cannot be read
		state, events = machine.Abandon(flow, state, record, joined, a.cause, a.entry(a.wake.Cause))
		if err := a.putState(ctx, ItemKey{base.Execution, base.Seq + 1}, state, events); err != nil {
			return err
		}
		if a.traced(before) != nil {
			a.Tracer.Trace(TracedCommit{before, state, flow, events})
		}
	}
	if state.StopsLanes() {
		err = forks{a.session}.stop(ctx, base.Execution, state)
	}
	return err
}

// endWaiting closes the token that the state waits for, or reports whether the wake says that all
// lanes have joined.
func (a *abandonment) endWaiting(ctx context.Context, state machine.State) (record token.Record, joined bool, err error) {
	switch waiting := state.Waiting; {
	case waiting == nil:
	case waiting.Token() != nil:
		closing := token.CloseOp{Outcome: token.Failure(machine.ErrorInternal, a.cause), By: token.ClosedByStop, At: a.Now()}
		record, err = a.TokenStore.Close(ctx, waiting.Handle(), closing)
		if errors.Is(err, token.ErrDamaged) { // no closer can close it either, so nothing else was or will be reported
			record, err = closing.Apply(token.Record{}), nil
		}
		if err == nil && waiting.Child() != nil && record.ClosedBy != token.ClosedByChild {
			err = a.sendWake(ctx, waiting.Child().ID(), machine.CauseParent)
		}
	case waiting.Fork() != nil:
		_, joined, err = a.joined(ctx, a.wake.Execution, waiting)
		joined = joined && machine.IsJoined(a.wake.Cause) // rule 18
	}
	return record, joined, err
}

// lastReadableState returns the latest item and the last state that can be read. A lane without a
// log has the state of its start; if nothing waits for it, it has ended.
func (a *abandonment) lastReadableState(ctx context.Context) (base Item, state machine.State, err error) {
	lane := a.wake.lane()
	base, err = a.Log.Latest(ctx, a.wake.Execution)
	switch {
	case lane != nil && errors.Is(err, ErrNotFound):
		base = Item{Execution: a.wake.Execution, Seq: beforeFirst}
		var parent machine.State
		parent, err = a.lastReadableParent(ctx, *lane)
		var waits bool
		if state, waits = machine.NewLane(parent, *lane, a.now); !waits {
			state = machine.State{Status: machine.StatusStopped}
		}
	case err == nil:
		state, err = a.lastReadable(ctx, base)
	}
	if lane == nil {
		lane = state.Lane // a token's wake does not name it
	}
	if lane != nil && err == nil && state.Expires.IsZero() && !state.Status.Final() { // all items are damaged
		var parent machine.State
		parent, err = a.lastReadableParent(ctx, *lane)
		state = machine.State{ // its join has to expire with the execution
			Flow: parent.Flow, Execution: parent.Execution, Status: machine.StatusRunning, Started: parent.Started, Expires: parent.Expires,
		}
	}
	if lane != nil {
		state.Lane = lane
	}
	return base, state, err
}

func (a *abandonment) lastReadableParent(ctx context.Context, lane machine.Lane) (machine.State, error) {
	item, err := a.Log.Latest(ctx, lane.Parent)
	if err != nil {
		return machine.State{}, err
	}
	return a.lastReadable(ctx, item)
}

// lastReadable returns the state of the item, or of the last item before it that is not damaged. If
// all items are damaged, the state has only the lane that owns the log, or the parent of a
// sub-flow.
func (a *abandonment) lastReadable(ctx context.Context, item Item) (machine.State, error) {
	var empty machine.State
	for seq := item.Seq; ; {
		state, err := decodeState(item)
		if owners, ok := machine.OwnersOf(item.Execution, item.Body); ok && (owners.Parent == nil || namesToken(*owners.Parent)) {
			empty = owners
		}
		switch {
		case CodeOf(err) == CodeTooNew:
			return state, err
		case err == nil:
			return state, nil
		case seq == 0:
			empty.Status = machine.StatusRunning
			return empty, nil
		}
		seq--
		items, err := a.Log.Items(ctx, item.Execution, seq, 1)
		if err != nil {
			return machine.State{}, err
		}
		if len(items) == 0 {
			return machine.State{}, errors.New("the log has a gap")
		}
		item = items[0]
	}
}

// namesToken reports whether the token of the parent is one of its log: otherwise the damage is
// there.
func namesToken(parent machine.Parent) bool {
	id, ok := token.HandleID(parent.Handle)
	return ok && id.Execution == parent.Log
}
