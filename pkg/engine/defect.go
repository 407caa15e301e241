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

// abandon ends the execution with the defect as its failure (rule 13). It closes an open token first
// and records the outcome that the token then holds.
func (h *handler) abandon(ctx context.Context, cause error) error {
	for try := 1; ; try++ {
		err := h.abandonOnce(ctx, cause)
		if try == maxTries || CodeOf(err) != CodeConflict || h.Sleep(ctx, jitter(try)) != nil {
			return err
		}
	}
}

func (h *handler) abandonOnce(ctx context.Context, cause error) error {
	base, state, err := h.lastReadableState(ctx)
	if err != nil || state.Status.Final() {
		return err
	}
	return h.abandonAt(ctx, base, state, cause)
}

// abandonAt ends the execution after the item, whose state or last readable state it is given.
func (h *handler) abandonAt(ctx context.Context, base Item, state machine.State, cause error) error {
	text := cause.Error()
	record, joined, err := h.endWaiting(ctx, state, text)
	if err != nil {
		return err
	}
	if joined || !stopsLanes(state) {
		var events []machine.Event
		before := state
		state, events = machine.Abandon(state, record, joined, text, h.entry())
		if err := h.putState(ctx, base.Seq+1, state, events); err != nil {
			return err
		}
		h.traceEnd(ctx, before, state, events)
	}
	if stopsLanes(state) {
		_, err = h.stopLanes(ctx, state)
	}
	return err
}

// endWaiting closes the token that the state waits for, or reports whether all lanes have joined.
func (h *handler) endWaiting(ctx context.Context, state machine.State, cause string) (record token.Record, joined bool, err error) {
	switch waiting := state.Waiting; {
	case waiting == nil:
	case waiting.For == machine.WaitingForToken:
		closing := token.CloseOp{Outcome: token.Failure(machine.ErrorInternal, cause), By: token.ClosedByStop, At: h.Now()}
		record, err = h.TokenStore.Close(ctx, waiting.Handle(), closing)
		if errors.Is(err, token.ErrDamaged) { // no closer can close it either, so nothing else was or will be reported
			record, err = closing.Apply(token.Record{}), nil
		}
		if err == nil && waiting.Child != nil && record.ClosedBy != token.ClosedByChild {
			err = h.sendWake(ctx, waiting.Child.ID(), machine.CauseParent)
		}
	case waiting.For == machine.WaitingForLanes:
		_, joined, err = h.joined(ctx, h.wake.Execution, waiting)
	}
	return record, joined, err
}

// lastReadableState returns the latest item and the last state that can be read. A lane without a log has that
// of its start; if nothing waits for it, it has ended.
func (h *handler) lastReadableState(ctx context.Context) (base Item, state machine.State, err error) {
	lane := h.lane()
	base, err = h.Log.Latest(ctx, h.wake.Execution)
	switch {
	case lane != nil && errors.Is(err, ErrNotFound):
		base = Item{Execution: h.wake.Execution, Seq: beforeFirst}
		state, err = h.startStateOf(ctx, *lane)
	case err == nil:
		state, err = h.lastReadable(ctx, base)
	}
	if lane == nil {
		lane = state.Lane // a token's wake does not name it
	}
	if lane != nil && err == nil && state.Expires.IsZero() && !state.Status.Final() { // all items are damaged
		state, err = h.stateFromParent(ctx, *lane)
	}
	if lane != nil {
		state.Lane = lane
	}
	return base, state, err
}

// stateFromParent returns what the parent's log says of a lane. Its join has to expire with the execution.
func (h *handler) stateFromParent(ctx context.Context, lane machine.Lane) (machine.State, error) {
	item, err := h.Log.Latest(ctx, lane.Parent)
	if err != nil {
		return machine.State{}, err
	}
	parent, err := h.lastReadable(ctx, item)
	return machine.State{
		Flow: parent.Flow, Execution: parent.Execution, Status: machine.StatusRunning, Started: parent.Started, Expires: parent.Expires,
	}, err
}

func (h *handler) startStateOf(ctx context.Context, lane machine.Lane) (machine.State, error) {
	item, err := h.Log.Latest(ctx, lane.Parent)
	if err != nil {
		return machine.State{}, err
	}
	parent, err := h.lastReadable(ctx, item)
	if state, ok := machine.NewLane(parent, lane, h.now); ok {
		return state, err
	}
	return machine.State{Status: machine.StatusStopped}, err
}

// lastReadable returns the state of the item, or of the last item before it that is not damaged. If
// all items are damaged, the state is empty but for the lane whose log it is, or the parent of a sub-flow.
func (h *handler) lastReadable(ctx context.Context, item Item) (machine.State, error) {
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
		items, err := h.Log.Items(ctx, item.Execution, seq, 1)
		if err != nil {
			return machine.State{}, err
		}
		if len(items) == 0 {
			return machine.State{}, errors.New("the log has a gap")
		}
		item = items[0]
	}
}

// namesToken reports whether the token of the parent is one of its log: otherwise the damage is there.
func namesToken(parent machine.Parent) bool {
	id, ok := token.HandleID(parent.Handle)
	return ok && id.Execution == parent.Log
}
