package engine

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/machine"
)

// Lateness is how late a message may be before it counts as lost. After an error a queue redelivers
// within five minutes.
const Lateness = 10 * time.Minute

// RearmRequest says what [Client.Rearm] does.
type RearmRequest struct {
	// Calls says that long calls may be lost, too. They are queued again: a call that is under way
	// is made twice, unless it is to be made at most once.
	Calls bool
	// Notices says that notices of waits may be lost, too. Notices of open waits are sent again,
	// with the same ids and bodies.
	Notices bool
	// DryRun only reads.
	DryRun bool
}

// Rearmed is what [Client.Rearm] found out about an execution.
type Rearmed struct {
	Execution ID
	// State is the latest state, with large values by reference. It is empty if the latest item is
	// damaged or of a newer release.
	State machine.State
	// Needs are the messages that the execution depends on; see [Needs].
	Needs []string
	// Due is when the execution or one of its lanes is to continue without a signal from outside,
	// or reaches its time limit, zero for never. A worker that died counts from when it is dead for
	// certain. Of very many lanes, some are read.
	Due time.Time
	// Lanes are the states of the lanes that were read and have not ended.
	Lanes []machine.State
	// Overdue is by how much Due has passed; 0 if it has not.
	Overdue time.Duration
	// Notices counts the waits for which notices are sent again, in the lanes that were read.
	Notices int
	// Err is why no message was sent; nil if one was.
	Err error
}

// OpenWaits returns the instants since which the execution and its lanes, as far as they were read,
// wait for tokens.
func (r Rearmed) OpenWaits() (since []time.Time) {
	for _, s := range append(r.Lanes, r.State) {
		if w := s.Waiting; w.Token() != nil && !s.Status.Final() {
			since = append(since, w.Since)
		}
	}
	return since
}

// Rearm sends each execution a wake that does what its messages would do, in case they are lost: a
// queue was purged, the group of schedules is gone, or a table was restored. It changes nothing for
// an execution that has lost no message. An execution that ended reports its end again. One request
// reads an item of each execution and lane, so the caller bounds their number.
func (c *Client) Rearm(ctx context.Context, ids []ID, request RearmRequest) ([]Rearmed, error) {
	var found []Rearmed
	var wakes []Wake
	var causes []string
	if request.Calls {
		causes = append(causes, machine.CauseRearmCalls)
	}
	if request.Notices {
		causes = append(causes, machine.CauseRearmNotices)
	}
	if len(causes) == 0 {
		causes = []string{machine.CauseRearm}
	}
	now := c.core.Now()
	for _, id := range ids {
		r, err := c.needs(ctx, id, now)
		if err == nil && request.Notices {
			err = c.countNotices(ctx, &r)
		}
		if err != nil {
			return nil, wrap("rearm execution "+id.String(), err)
		}
		found = append(found, r)
		if r.Err == nil {
			for _, cause := range causes {
				wakes = append(wakes, Wake{Execution: id, Cause: cause, Due: now, Sent: now})
			}
		}
	}
	if request.DryRun || len(wakes) == 0 {
		return found, nil
	}
	return found, wrap("rearm executions", c.core.Wakes.SendAll(ctx, wakes))
}

// countNotices adds the notices of waits to the needs of an execution.
func (c *Client) countNotices(ctx context.Context, r *Rearmed) error {
	if !r.State.Notify.Waits || r.State.Status.Final() {
		return nil
	}
	flow, err := c.core.Flows.Flow(ctx, r.State.Flow)
	if errors.Is(err, ErrNotFound) || CodeOf(err) == CodeInvalid { // any wake ends the execution (rule 13)
		return nil
	}
	for _, s := range append(r.Lanes, r.State) {
		if err == nil && tellsWait(flow, s) {
			r.Notices++
		}
	}
	if r.Notices > 0 {
		r.Needs = append(r.Needs, "notice")
	}
	return err
}

// needs reads the messages that an execution depends on. A damaged one gets a wake too, which ends
// it (rule 13).
func (c *Client) needs(ctx context.Context, id ID, now time.Time) (Rearmed, error) {
	r := Rearmed{Execution: id}
	item, err := c.core.Log.Latest(ctx, id)
	if err == nil {
		r.State, err = decodeState(item)
	}
	switch CodeOf(err) { //nolint:exhaustive // the others are those of the store
	case CodeTooNew, CodeNotFound:
		r.Err = err
		return r, nil
	case CodeDefect:
		r.Needs = []string{"wake"}
		return r, nil
	}
	if err != nil {
		return r, err
	}
	r.Needs = Needs(r.State)
	due, err := c.core.dueAt(ctx, r.State, now)
	r.Due, r.Overdue, r.Lanes = due.at, due.overdue(), due.lanes
	return r, err
}

// Needs returns the messages that an execution in that state depends on:
//
//	start     the start is to be applied
//	timer     an instant
//	token     a token's outcome
//	call      a long call that was queued
//	submit    a call that was not made yet
//	subflow   the end of a sub-flow
//	lanes     the ends of lanes, each of which depends on messages of its own
//	end       the report of the end
func Needs(s machine.State) (needs []string) {
	switch {
	case s.Status.Final():
		return []string{"end"}
	case s.Status == machine.StatusStarting:
		needs = append(needs, "start")
	}
	if s.Timer.Tag != "" {
		needs = append(needs, "timer")
	}
	w := s.Waiting
	if w == nil {
		return needs
	}
	if _, unresolved := machine.Unresolved(s, w.By); !unresolved {
		return needs
	}
	switch {
	case w.Child() != nil:
		return append(needs, "subflow")
	case w.Fork() != nil:
		return append(needs, "lanes")
	case w.Token() != nil && w.Token().Phase == machine.TokenQueued:
		return append(needs, "token", "call")
	case w.Submitted():
		return append(needs, "token")
	case w.Token() != nil:
		return append(needs, "token", "submit")
	}
	return append(needs, "submit")
}

// rearm does the work of a log's messages, which may be lost. Duplicates change nothing.
func (h *handler) rearm(ctx context.Context, wake Wake, base Item, state machine.State) (Disposition, error) {
	if state.Status.Final() {
		return h.reportEndAgain(ctx, wake, base, state)
	}
	causes, err := h.requestCauses(ctx, base.Execution, state)
	if err != nil {
		return Disposition{}, err
	}
	for _, cause := range slices.Compact(causes) {
		if err := h.sendWake(ctx, base.Execution, cause); err != nil {
			return Disposition{}, err
		}
	}
	if err := h.sendTimer(ctx, base, state); err != nil {
		return Disposition{}, err
	}
	entered, pending := pendingEntry(state)
	switch {
	case !pending || h.canOnlyEnd(state):
		return done, h.endIfOvertime(ctx, wake, base, state)
	case state.Waiting.Fork() != nil && !state.StopsLanes():
		return h.rearmLanes(ctx, wake, base, state)
	}
	return h.resumePending(ctx, wake, base, state, entered)
}

// pendingEntry returns the entry of the unfinished part, unless only a timer or a start can
// continue the log.
func pendingEntry(state machine.State) (machine.Entry, bool) {
	switch {
	case state.Ending != nil:
		return state.Ending.Entry, true
	case state.Waiting == nil:
		return machine.Entry{}, false
	}
	return machine.Unresolved(state, state.Waiting.By)
}

// rearmLanes rearms the lanes that have not joined, and repeats the wakes that the joins sent. A
// lane without a log begins.
func (h *handler) rearmLanes(ctx context.Context, wake Wake, base Item, state machine.State) (Disposition, error) {
	waiting := state.Waiting
	if until, mayLive := h.mayLive(waiting.Entry, h.WorkerDeadAfter); mayLive {
		return Disposition{RetryAt: until}, nil
	}
	record, all, err := h.joined(ctx, base.Execution, waiting)
	switch {
	case err != nil:
		return Disposition{}, err
	case all:
		return done, h.sendJoined(ctx, base.Execution, waiting.Attempt.Number)
	case record.Failed != NoLane:
		err = h.sendLaneFailed(ctx, base.Execution, waiting.Attempt.Number)
	}
	missing := record.missing(base.Execution, waiting)
	if err == nil && (waiting.Fork().First > 0 || waiting.Fork().Tolerated > 0) {
		err = h.raise(ctx, record, missing, state.Expires)
	}
	if err == nil {
		err = h.sendLanes(ctx, missing, wake.Cause)
	}
	if err == nil {
		err = h.endIfOvertime(ctx, wake, base, state)
	}
	return done, err
}

// raise raises the join record to the claims and the failed items in the logs of lanes (rule 33).
func (h *handler) raise(ctx context.Context, record JoinRecord, lanes []machine.Lane, expires time.Time) error {
	var states []machine.State
	for _, lane := range lanes {
		state, err := h.latestState(ctx, lane.ID())
		switch {
		case errors.Is(err, ErrNotFound), CodeOf(err) == CodeDefect, CodeOf(err) == CodeTooNew:
		case err != nil:
			return err
		default:
			states = append(states, state)
		}
	}
	raised := record.RaisedTo(states)
	if len(lanes) == 0 || bytes.Equal(raised.Encode(), record.Encode()) {
		return nil
	}
	return h.Joins.Raise(ctx, ForkID{lanes[0].Parent, lanes[0].Attempt}, record, raised, expires)
}
