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

// lane returns the lane that the wake names, nil if it names none or that of another log: then it is
// forged.
func (h *handler) lane() *machine.Lane {
	if lane := h.wake.Lane; lane != nil && lane.ID() == h.wake.Execution {
		return lane
	}
	return nil
}

// laneNotFound handles a wake of a lane without a log. Its timer is early: the commit is on its way.
func (h *handler) laneNotFound(ctx context.Context, lane machine.Lane) error {
	switch {
	case h.wake.Cause == machine.CauseStart, h.isRearm():
		return h.startLane(ctx, lane)
	case h.wake.Cause == machine.CauseStop:
		return h.stopBeforeStart(ctx, lane)
	}
	if h.young(commitPatience) {
		return h.resend(ctx, h.now.Add(resendDelay))
	}
	return nil
}

// startLane begins a lane whose parent waits for it and is not ending (rule 16).
func (h *handler) startLane(ctx context.Context, lane machine.Lane) error {
	parent, err := h.parentOf(ctx, lane)
	if err == nil {
		h.paused, err = h.pauseDiscards(ctx, parent.Flow.Name)
	}
	if err != nil {
		return err
	}
	if root, generation := parent.Root(); machine.IsCounted(generation) {
		h.core = h.forDescendants(root)
	}
	state, ok := machine.NewLane(parent, lane, h.now)
	if !ok || h.canOnlyEnd(parent) {
		return nil
	}
	d, err := h.loadDraft(ctx, Item{Execution: h.wake.Execution, Seq: beforeFirst}, state)
	if err != nil {
		return err
	}
	if err := h.applySignal(ctx, d, machine.Started{At: h.now}); err != nil {
		return err
	}
	return h.runCommands(ctx, d)
}

// stopBeforeStart ends a lane that has not begun. This put and that of its start decide which was first
// (rule 20).
func (h *handler) stopBeforeStart(ctx context.Context, lane machine.Lane) error {
	parent, err := h.parentOf(ctx, lane)
	if err != nil {
		return err
	}
	state, ok := machine.StoppedLane(parent, lane, h.entry())
	if !ok {
		return nil
	}
	return h.putState(ctx, 0, state, nil)
}

// stopOfParent returns the signal for the stop of a lane. The parent's ending state is the request
// (rule 20).
func (h *handler) stopOfParent(ctx context.Context, lane machine.Lane) (machine.Signal, error) {
	parent, err := h.parentOf(ctx, lane)
	if err != nil {
		return nil, err
	}
	stopped, ok := machine.StoppedLane(parent, lane, h.entry())
	if !ok {
		return nil, nil
	}
	return machine.StopRequested{At: h.now, Error: stopped.Error, Cause: stopped.Cause}, nil
}

func (h *handler) entry() machine.Entry {
	return machine.Entry{By: h.wake.Cause, Since: h.Now(), Generation: h.Generation}
}

// parentOf returns the latest state of a lane's parent, an empty one if there is no log. Large values of
// the item are at hand: a foreach may iterate over one.
func (h *handler) parentOf(ctx context.Context, lane machine.Lane) (machine.State, error) {
	item, err := h.Log.Latest(ctx, lane.Parent)
	if errors.Is(err, ErrNotFound) {
		return machine.State{}, nil
	}
	if err != nil {
		return machine.State{}, err
	}
	return h.loader.open(item)
}

// putState appends an item that needs no command.
func (h *handler) putState(ctx context.Context, seq uint64, state machine.State, events []machine.Event) error {
	item := Item{Execution: h.wake.Execution, Seq: seq, Nonce: h.NewNonce()}
	item.Body, _ = machine.Encode(item.origin(), state, events)
	if err := h.put(ctx, item); err != nil {
		return err
	}
	h.Observer.Committed(item.Execution, state, events)
	h.leave(ctx, state)
	return h.reportIfFinal(ctx, item, state)
}

// join records the end of a lane, and then wakes the parent if all lanes have joined or this one was the
// first that failed (rule 17).
func (c *core) join(ctx context.Context, seq uint64, state machine.State) error {
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

// isOfJoin reports whether the wake reports that lanes ended that the state waits for.
func (h *handler) isOfJoin(waiting *machine.Waiting) bool {
	if waiting == nil || waiting.For != machine.WaitingForLanes {
		return false
	}
	number := waiting.Attempt.Number
	return h.wake.Cause == machine.CauseJoined(number) || h.wake.Cause == machine.CauseLaneFailed(number)
}

// stopsLanes reports whether the state is ending and its lanes are being stopped. That is repeated at
// once (rule 19).
func stopsLanes(state machine.State) bool {
	return state.Ending != nil && state.Waiting != nil && state.Waiting.For == machine.WaitingForLanes
}

// joined returns the join record of the fork that the state waits for, and whether all lanes are in it.
func (c *core) joined(ctx context.Context, id ID, waiting *machine.Waiting) (record JoinRecord, all bool, err error) {
	record, err = c.Joins.Joined(ctx, ForkID{id, waiting.Attempt.Number})
	return record, len(record.Joined) >= waiting.Lanes, err
}

// lanesEnded reads the join record and returns the signal for it, nil for none (rule 18).
func (h *handler) lanesEnded(ctx context.Context, state machine.State) (machine.Signal, error) {
	record, all, err := h.joined(ctx, h.wake.Execution, state.Waiting)
	switch {
	case err != nil:
		return nil, err
	case all:
		return h.allJoined(ctx, state, record)
	case record.Failed == NoLane, state.Ending != nil:
		return nil, nil
	}
	failure, err := h.failureOf(ctx, state.Waiting, record)
	return machine.LaneFailed{At: h.Now(), Attempt: state.Waiting.Attempt, Failure: failure}, err
}

// allJoined returns the signal with what the step needs of its lanes.
func (h *handler) allJoined(ctx context.Context, state machine.State, record JoinRecord) (_ machine.Signal, err error) {
	signal := machine.LanesJoined{At: h.Now(), Attempt: state.Waiting.Attempt}
	switch {
	case state.Ending != nil: // its end is decided
	case record.Failed != NoLane:
		signal.Failure, err = h.failureOf(ctx, state.Waiting, record)
	default:
		signal.Outputs, err = h.outputsOf(ctx, state, record)
	}
	return signal, err
}

func (h *handler) failureOf(ctx context.Context, waiting *machine.Waiting, record JoinRecord) (token.Outcome, error) {
	lane := lanesOf(h.wake.Execution, waiting.Attempt.Number, waiting.Lanes)[record.Failed]
	ends, err := h.endsOf(ctx, []machine.Lane{lane}, record)
	if err != nil {
		return token.Outcome{}, err
	}
	return token.Failure(ends[0].Error, ends[0].Cause), nil
}

// outputsOf returns the outputs of the lanes, nil if the step does not need them.
func (h *handler) outputsOf(ctx context.Context, state machine.State, record JoinRecord) ([]value.Value, error) {
	flow, err := h.definition(ctx, state)
	if err != nil || !machine.NeedsOutputs(flow, state.Waiting.Attempt) {
		return nil, err
	}
	ends, err := h.endsOf(ctx, lanesOf(h.wake.Execution, state.Waiting.Attempt.Number, state.Waiting.Lanes), record)
	outputs := make([]value.Value, len(ends))
	for i, end := range ends {
		outputs[i] = end.Output
	}
	return outputs, err
}

// endsOf returns the terminal states of lanes that have joined. Their large values are at hand.
func (h *handler) endsOf(ctx context.Context, lanes []machine.Lane, record JoinRecord) ([]machine.State, error) {
	keys := make([]ItemKey, len(lanes))
	for i, lane := range lanes {
		keys[i] = ItemKey{lane.ID(), record.Joined[lane.Index]}
	}
	items, err := getItems(ctx, h.Log, keys)
	if err != nil {
		return nil, err
	}
	ends := make([]machine.State, len(lanes))
	for i, item := range items {
		if ends[i], err = h.loader.open(item); err != nil {
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

// startLanes sends the start wakes of the lanes. If the last lane has a log, all were sent (rule 15).
func (h *handler) startLanes(ctx context.Context, c machine.StartLanes) (err error) {
	lanes := lanesOf(h.wake.Execution, c.Attempt.Number, c.Count)
	switch c.Executed {
	case machine.ExecutedMaybe:
		if lanes, err = h.withoutLog(ctx, lanes[len(lanes)-1:]); len(lanes) > 0 {
			lanes = lanesOf(h.wake.Execution, c.Attempt.Number, c.Count)
		}
	case machine.ExecutedQueueLost:
		lanes, err = h.withoutLog(ctx, lanes)
	case machine.ExecutedNever:
	}
	if err != nil {
		return err
	}
	return h.sendLanes(ctx, lanes, machine.CauseStart)
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

// stopLanes sends a stop wake to each lane that has not joined, or returns the signal that all have
// (rule 19).
func (h *handler) stopLanes(ctx context.Context, state machine.State) (machine.Signal, error) {
	record, all, err := h.joined(ctx, h.wake.Execution, state.Waiting)
	if err != nil {
		return nil, err
	}
	if all {
		return h.allJoined(ctx, state, record)
	}
	lanes := record.missing(h.wake.Execution, state.Waiting)
	return nil, h.sendLanes(ctx, lanes, machine.CauseStop)
}
