package engine

import (
	"context"
	"errors"
	"math"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// beforeFirst is the Seq of the item before item 0, from which a lane's first draft starts.
const beforeFirst = math.MaxUint64

// claimTries is how often a claim of items that fails is made again.
const claimTries = 3

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
	c.countEnded(ctx, state)
	return reporter{c}.reportIfFinal(ctx, item, state)
}

// join records the end of a lane, and then wakes the parent if all lanes have joined or this one
// was the first that failed (rule 17).
func (c reporter) join(ctx context.Context, seq uint64, state machine.State) error {
	lane := *state.Lane
	end := LaneEnd{
		Lane: lane.Index, Seq: seq, Failed: state.Status == machine.StatusFailed, Retired: state.Share != nil && state.Share.Retired,
		Expires: state.Expires,
	}
	record, err := c.Joins.Join(ctx, ForkID{lane.Parent, lane.Attempt}, end)
	switch {
	case err != nil:
		return err
	case len(record.Joined) >= lane.Count:
		return c.sendJoined(ctx, lane.Parent, lane.Attempt)
	case record.Failed == lane.Index:
		return c.sendLaneFailed(ctx, lane.Parent, lane.Attempt)
	}
	return nil
}

// sendJoined tells a log that all lanes of an attempt have joined.
func (c *core) sendJoined(ctx context.Context, id ID, attempt int) error {
	return c.sendWake(ctx, id, machine.CauseJoined(attempt, c.joinNonce()))
}

func (c *core) sendLaneFailed(ctx context.Context, id ID, attempt int) error {
	return c.sendWake(ctx, id, machine.CauseLaneFailed(attempt, c.joinNonce()))
}

// joinNonce returns what tells the wakes of a join apart (rule 17). A worker of release 0.1.0
// ignores a wake that has it.
func (c *core) joinNonce() string {
	if c.WriteFormat <= 1 {
		return ""
	}
	return c.NewNonce()
}

// sendWake sends a wake that is due now.
func (c *core) sendWake(ctx context.Context, id ID, cause string) error {
	now := c.Now()
	return c.Wakes.Send(ctx, Wake{Execution: id, Cause: cause, Due: now, Sent: now})
}

// joined returns the join record of the fork that the state waits for, and whether all lanes are in
// it.
func (c *core) joined(ctx context.Context, id ID, waiting *machine.Waiting) (record JoinRecord, all bool, err error) {
	record, err = c.Joins.Joined(ctx, ForkID{id, waiting.Attempt.Number})
	return record, len(record.Joined) >= waiting.Fork().Lanes, err
}

// joinSignal reads the join record and returns the signal for it, nil for none. If all lanes have
// joined, only the wake that says so continues the log. Another wake sends that one: its own
// message may be gone already, and then no delivery would repeat the next effects (rule 18).
func (f forks) joinSignal(ctx context.Context, id ID, state machine.State, cause string) (machine.Signal, error) {
	record, all, err := f.joined(ctx, id, state.Waiting)
	switch {
	case err != nil:
		return nil, err
	case all && !machine.IsJoined(cause):
		return nil, f.sendJoined(ctx, id, state.Waiting.Attempt.Number)
	case all:
		return f.allJoined(ctx, id, state, record)
	case record.Failed == NoLane, state.StopsLanes():
		return nil, nil
	}
	failure, step, err := f.failureOf(ctx, id, state.Waiting, record)
	return machine.LaneFailed{At: f.Now(), Attempt: state.Waiting.Attempt, Failure: failure, Step: step}, err
}

// allJoined returns the signal with the results of the lanes that the step needs.
func (f forks) allJoined(ctx context.Context, id ID, state machine.State, record JoinRecord) (_ machine.Signal, err error) {
	signal := machine.LanesJoined{At: f.Now(), Attempt: state.Waiting.Attempt}
	switch {
	case state.Ending != nil: // its end is decided
	case state.StopsLanes():
		signal.Failure = *state.Waiting.Fork().Closing
	case record.Failed != NoLane:
		signal.Failure, signal.Step, err = f.failureOf(ctx, id, state.Waiting, record)
	default:
		if fork := state.Waiting.Fork(); fork.First > 0 {
			signal.Left = max(0, fork.Items-max(record.Cursor, fork.First*fork.Lanes))
		}
		err = f.addOutputs(ctx, id, state, record, &signal)
	}
	return signal, err
}

// failureOf returns the failure of the lane that failed first, and the step that failed in it.
func (f forks) failureOf(
	ctx context.Context, id ID, waiting *machine.Waiting, record JoinRecord,
) (failure token.Outcome, step string, err error) {
	lane := lanesOf(id, waiting.Attempt.Number, waiting.Fork().Lanes)[record.Failed]
	ends, err := f.endsOf(ctx, []machine.Lane{lane}, record)
	if err != nil {
		return failure, "", err
	}
	return token.Failure(ends[0].Error, ends[0].Cause), ends[0].FailedStep, nil
}

// addOutputs adds the outputs of the lanes to the signal, unless the step does not need them.
func (f forks) addOutputs(ctx context.Context, id ID, state machine.State, record JoinRecord, to *machine.LanesJoined) error {
	flow, err := f.definition(ctx, state)
	if err != nil || !machine.NeedsOutputs(flow, state.Waiting.Attempt) || to.Left > 0 {
		return err
	}
	ends, err := f.endsOf(ctx, lanesOf(id, state.Waiting.Attempt.Number, state.Waiting.Fork().Lanes), record)
	for _, end := range ends {
		to.Outputs = append(to.Outputs, end.Output)
		if end.Share != nil {
			to.Ranges = append(to.Ranges, end.Share.Ranges)
		}
	}
	return err
}

// claim claims the next items for a lane. The answer is in the record also if the claim was made
// before, or refused (rule 27), so a claim that fails is made again at once: the wake would wait
// for the end of this worker (rule 29).
func (f forks) claim(ctx context.Context, base Item, state machine.State, c machine.ClaimItems) (machine.Signal, error) {
	lane := *state.Lane
	request := ClaimRequest{Lane: lane.Index, Number: c.Number, Size: c.Size, First: c.First, Items: c.Items, Expires: state.Expires}
	record, err := f.Joins.Claim(ctx, ForkID{lane.Parent, lane.Attempt}, request)
	for try := 1; err != nil && try <= claimTries && f.Sleep(ctx, jitter(try)) == nil; try++ {
		record, err = f.Joins.Claim(ctx, ForkID{lane.Parent, lane.Attempt}, request)
	}
	own := record.Claims[lane.Index]
	switch {
	case err != nil:
		return nil, err
	case own.Number > c.Number:
		return nil, f.claimedSince(ctx, base)
	case own.Number < c.Number: // nothing is left
		return machine.ItemsClaimed{At: f.Now(), Attempt: c.Attempt}, nil
	}
	own.To = min(own.To, c.Items)
	return machine.ItemsClaimed{At: f.Now(), Attempt: c.Attempt, Range: own.Range, Retires: own.Len() == 0}, nil
}

// claimedSince returns the error of a claim after which the lane has made another one: the log has
// gone on meanwhile, or it is damaged.
func (f forks) claimedSince(ctx context.Context, base Item) error {
	latest, err := f.Log.Latest(ctx, base.Execution)
	switch {
	case err != nil && !errors.Is(err, ErrNotFound):
		return err
	case err != nil || latest.Seq == base.Seq:
		return defect("claim items", errors.New("the join record has a later claim than the log"))
	}
	return ErrConflict
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

// stop sends a stop wake to each lane that has not joined, or the wake of the join if all have
// (rules 19 and 30).
func (f forks) stop(ctx context.Context, id ID, state machine.State) error {
	record, all, err := f.joined(ctx, id, state.Waiting)
	if err != nil {
		return err
	}
	if all {
		return f.sendJoined(ctx, id, state.Waiting.Attempt.Number)
	}
	return f.sendLanes(ctx, record.missing(id, state.Waiting), machine.CauseStop)
}
