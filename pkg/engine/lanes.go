package engine

import (
	"context"
	"errors"
	"math"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// beforeFirst is the Seq of the item before item 0, from which a lane's first draft starts.
const beforeFirst = math.MaxUint64

// laneNotFound handles a wake of a lane without a log. Its timer is early: the commit is on its
// way.
func (h *handler) laneNotFound(ctx context.Context, wake Wake, lane machine.Lane) error {
	switch {
	case wake.Cause == machine.CauseStart, wake.isRearm():
		return h.startLane(ctx, wake, lane)
	case wake.Cause == machine.CauseStop:
		return h.stopBeforeStart(ctx, wake, lane)
	}
	if wake.young(h.now, commitPatience) {
		return h.resend(ctx, wake, h.now.Add(resendDelay))
	}
	return nil
}

// startLane begins a lane if its parent waits for it and is not ending (rule 16).
func (h *handler) startLane(ctx context.Context, wake Wake, lane machine.Lane) error {
	parent, err := forks{h.session}.parentOf(ctx, lane)
	if err == nil {
		err = h.prepare(ctx, wake, parent)
	}
	if err != nil {
		return err
	}
	state, ok := machine.NewLane(parent, lane, h.now)
	if !ok || h.canOnlyEnd(parent) {
		return nil
	}
	return h.advance(ctx, wake, Item{Execution: wake.Execution, Seq: beforeFirst}, state, machine.Started{At: h.now})
}

// stopBeforeStart ends a lane that has not begun. Its put and the put of the lane's start conflict,
// so only the first takes effect (rule 20).
func (h *handler) stopBeforeStart(ctx context.Context, wake Wake, lane machine.Lane) error {
	parent, err := forks{h.session}.parentOf(ctx, lane)
	if err != nil {
		return err
	}
	state, ok := machine.StoppedLane(parent, lane, h.entry(wake.Cause))
	if !ok {
		return nil
	}
	return h.putState(ctx, ItemKey{Execution: wake.Execution}, state, nil)
}

func (c *core) entry(cause string) machine.Entry {
	return machine.Entry{By: cause, Since: c.Now(), Generation: c.Generation}
}

// forks has the lanes of forks.
type forks struct{ session }

// parentOf returns the latest state of a lane's parent, an empty one if there is no log. Large
// values of the item are at hand: a foreach may iterate over one.
func (f forks) parentOf(ctx context.Context, lane machine.Lane) (machine.State, error) {
	item, err := f.Log.Latest(ctx, lane.Parent)
	if errors.Is(err, ErrNotFound) {
		return machine.State{}, nil
	}
	if err != nil {
		return machine.State{}, err
	}
	return f.loader.open(item)
}

// putState appends an item that needs no command.
func (c *core) putState(ctx context.Context, at ItemKey, state machine.State, events []machine.Event) error {
	item := Item{Execution: at.Execution, Seq: at.Seq, Nonce: c.NewNonce()}
	item.Body, _ = machine.Encode(item.origin(), state, events)
	if err := c.put(ctx, item); err != nil {
		return err
	}
	c.Observer.Committed(item.Execution, state, events)
	c.leave(ctx, state)
	return reporter{c}.reportIfFinal(ctx, item, state)
}

// join records the end of a lane, and then wakes the parent if all lanes have joined or this one
// was the first that failed (rule 17).
func (c reporter) join(ctx context.Context, seq uint64, state machine.State) error {
	lane := *state.Lane
	end := LaneEnd{Lane: lane.Index, Seq: seq, Failed: state.Status == machine.StatusFailed, Expires: state.Expires}
	record, err := c.Joins.Join(ctx, ForkID{lane.Parent, lane.Attempt}, end)
	switch {
	case err != nil:
		return err
	case len(record.Joined) >= lane.Count:
		return c.sendWake(ctx, lane.Parent, machine.CauseJoined(lane.Attempt))
	case record.Failed == lane.Index:
		return c.sendWake(ctx, lane.Parent, machine.CauseLaneFailed(lane.Attempt))
	}
	return nil
}

// sendWake sends a wake that is due now.
func (c *core) sendWake(ctx context.Context, id ID, cause string) error {
	now := c.Now()
	return c.Wakes.Send(ctx, Wake{Execution: id, Cause: cause, Due: now, Sent: now})
}

// stopsLanes reports whether the state is ending and its lanes are being stopped. That is repeated
// at once (rule 19).
func stopsLanes(state machine.State) bool {
	return state.Ending != nil && state.Waiting.Fork() != nil
}

// joined returns the join record of the fork that the state waits for, and whether all lanes are in
// it.
func (c *core) joined(ctx context.Context, id ID, waiting *machine.Waiting) (record JoinRecord, all bool, err error) {
	record, err = c.Joins.Joined(ctx, ForkID{id, waiting.Attempt.Number})
	return record, len(record.Joined) >= waiting.Fork().Lanes, err
}

// ended reads the join record and returns the signal for it, nil for none (rule 18).
func (f forks) ended(ctx context.Context, id ID, state machine.State) (machine.Signal, error) {
	record, all, err := f.joined(ctx, id, state.Waiting)
	switch {
	case err != nil:
		return nil, err
	case all:
		return f.allJoined(ctx, id, state, record)
	case record.Failed == NoLane, state.Ending != nil:
		return nil, nil
	}
	failure, err := f.failureOf(ctx, id, state.Waiting, record)
	return machine.LaneFailed{At: f.Now(), Attempt: state.Waiting.Attempt, Failure: failure}, err
}

// allJoined returns the signal with the results of the lanes that the step needs.
func (f forks) allJoined(ctx context.Context, id ID, state machine.State, record JoinRecord) (_ machine.Signal, err error) {
	signal := machine.LanesJoined{At: f.Now(), Attempt: state.Waiting.Attempt}
	switch {
	case state.Ending != nil: // its end is decided
	case record.Failed != NoLane:
		signal.Failure, err = f.failureOf(ctx, id, state.Waiting, record)
	default:
		signal.Outputs, err = f.outputsOf(ctx, id, state, record)
	}
	return signal, err
}

func (f forks) failureOf(ctx context.Context, id ID, waiting *machine.Waiting, record JoinRecord) (token.Outcome, error) {
	lane := lanesOf(id, waiting.Attempt.Number, waiting.Fork().Lanes)[record.Failed]
	ends, err := f.endsOf(ctx, []machine.Lane{lane}, record)
	if err != nil {
		return token.Outcome{}, err
	}
	return token.Failure(ends[0].Error, ends[0].Cause), nil
}

// outputsOf returns the outputs of the lanes, nil if the step does not need them.
func (f forks) outputsOf(ctx context.Context, id ID, state machine.State, record JoinRecord) ([]value.Value, error) {
	flow, err := f.definition(ctx, state)
	if err != nil || !machine.NeedsOutputs(flow, state.Waiting.Attempt) {
		return nil, err
	}
	ends, err := f.endsOf(ctx, lanesOf(id, state.Waiting.Attempt.Number, state.Waiting.Fork().Lanes), record)
	outputs := make([]value.Value, len(ends))
	for i, end := range ends {
		outputs[i] = end.Output
	}
	return outputs, err
}

// endsOf returns the terminal states of lanes that have joined. Their large values are at hand.
func (f forks) endsOf(ctx context.Context, lanes []machine.Lane, record JoinRecord) ([]machine.State, error) {
	keys := make([]ItemKey, len(lanes))
	for i, lane := range lanes {
		keys[i] = ItemKey{lane.ID(), record.Joined[lane.Index]}
	}
	items, err := getItems(ctx, f.Log, keys)
	if err != nil {
		return nil, err
	}
	ends := make([]machine.State, len(lanes))
	for i, item := range items {
		if ends[i], err = f.loader.open(item); err != nil {
			return nil, err
		}
	}
	return ends, nil
}

// lanesOf returns the lanes of a fork.
func lanesOf(parent ID, attempt, count int) []machine.Lane {
	lanes := make([]machine.Lane, count)
	for i := range lanes {
		lanes[i] = machine.Lane{Parent: parent, Attempt: attempt, Index: i, Count: count}
	}
	return lanes
}

// start sends the start wakes of the lanes. If the last lane has a log, all were sent (rule 15).
func (f forks) start(ctx context.Context, id ID, c machine.StartLanes) (err error) {
	lanes := lanesOf(id, c.Attempt.Number, c.Count)
	switch c.Executed {
	case machine.ExecutedMaybe:
		if lanes, err = f.withoutLog(ctx, lanes[len(lanes)-1:]); len(lanes) > 0 {
			lanes = lanesOf(id, c.Attempt.Number, c.Count)
		}
	case machine.ExecutedQueueLost:
		lanes, err = f.withoutLog(ctx, lanes)
	case machine.ExecutedNever:
	}
	if err != nil {
		return err
	}
	return f.sendLanes(ctx, lanes, machine.CauseStart)
}

// withoutLog returns the lanes that have no log.
func (c *core) withoutLog(ctx context.Context, lanes []machine.Lane) (without []machine.Lane, err error) {
	for _, lane := range lanes {
		_, err := c.Log.Latest(ctx, lane.ID())
		switch {
		case errors.Is(err, ErrNotFound):
			without = append(without, lane)
		case err != nil:
			return nil, err
		}
	}
	return without, nil
}

// sendLanes sends a wake to each lane, to the last one after the others were accepted.
func (c *core) sendLanes(ctx context.Context, lanes []machine.Lane, cause string) error {
	if len(lanes) == 0 {
		return nil
	}
	now := c.Now()
	wakes := make([]Wake, len(lanes))
	for i := range lanes {
		wakes[i] = Wake{Execution: lanes[i].ID(), Lane: &lanes[i], Cause: cause, Due: now, Sent: now}
	}
	last := len(wakes) - 1
	if err := c.Wakes.SendAll(ctx, wakes[:last]); err != nil {
		return err
	}
	return c.Wakes.Send(ctx, wakes[last])
}

// stop sends a stop wake to each lane that has not joined, or returns the signal that all have
// (rule 19).
func (f forks) stop(ctx context.Context, id ID, state machine.State) (machine.Signal, error) {
	record, all, err := f.joined(ctx, id, state.Waiting)
	if err != nil {
		return nil, err
	}
	if all {
		return f.allJoined(ctx, id, state, record)
	}
	lanes := record.missing(id, state.Waiting)
	return nil, f.sendLanes(ctx, lanes, machine.CauseStop)
}
