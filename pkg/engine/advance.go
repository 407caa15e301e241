package engine

import (
	"context"
	"errors"
	"time"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// Disposition says what to do with the message of a wake or a task.
type Disposition struct {
	// RetryAt is when to deliver the message again, unchanged. If it is zero, delete the message.
	RetryAt time.Time
	// EarlyLooks counts the reads of the token that came before its closer's update (rule 11, the closer
	// sends the wake first).
	EarlyLooks int
	// Conflicts counts the commits that another worker preceded (rule 4). It is also set after an error.
	Conflicts int
	// Unmapped are the mappings of the committed items that found no source, nil for none. It is also set
	// after an error. It is for logs only: if the worker dies, it is lost.
	Unmapped *UnmappedSources
}

// UnmappedSources are mappings of an execution whose source was missing, each once.
type UnmappedSources struct {
	Flow      machine.FlowRef
	Execution string // by name
	Mappings  []machine.UnmappedSource
}

var done = Disposition{}

// Advance applies a wake. After an error, deliver the wake again later; nothing is lost. An error with
// [CodeTooNew] means that only a newer release can apply the wake.
func (w *Worker) Advance(ctx context.Context, wake Wake) (Disposition, error) {
	receives := wake.Receives
	wake.Receives = 0 // if the wake is sent again, that message was never received
	h := &handler{
		core: &w.core, wake: wake, results: map[machine.Attempt]*result{}, loader: w.core.newValueLoader(),
		room: rooms.Get().(*[]machine.Event), redelivered: receives > 1,
	}
	defer rooms.Put(h.room)
	disposition, err := h.run(ctx)
	if poisoned(receives, err) {
		disposition, err = done, h.abandon(ctx, err)
	}
	if err != nil {
		return Disposition{Unmapped: h.unmapped, Conflicts: h.conflicts}, wrapOnce("advance", "execution "+wake.Execution.String(), err)
	}
	disposition.EarlyLooks, disposition.Unmapped, disposition.Conflicts = h.earlyLooks, h.unmapped, h.conflicts
	return disposition, nil
}

// handler applies one wake, perhaps several times.
type handler struct {
	*core
	wake Wake
	now  time.Time // of the try under way
	// results are the outcomes of calls that no commit holds yet. They outlive
	// a lost race, so that no call is repeated for it (rule 4).
	results map[machine.Attempt]*result
	// loader loads large values of the execution.
	loader valueLoader
	// nonces are those of all items whose put was tried: an item with one of
	// them is our own.
	nonces []string
	// earlyLooks counts the reads of a token that was still open.
	earlyLooks int
	// conflicts counts lost races.
	conflicts int
	// resent says that the wake was sent again.
	resent bool
	// unmapped are the unmapped sources of committed drafts.
	unmapped *UnmappedSources
	// paused says that the flow is paused.
	paused bool
	// redelivered says that an earlier delivery of the wake may have committed the latest item.
	redelivered bool
	// room has memory for the events of the draft, of which there is one at a time.
	room *[]machine.Event
}

func (h *handler) run(ctx context.Context) (Disposition, error) {
	if h.wake.Descendant {
		h.core = h.forDescendants(h.wake.Root)
	}
	if h.wake.Cause == machine.CauseStart || h.wake.Seq > 0 { // a start or a timer, which need no read if the flow is paused
		if discards, err := h.pauseDiscards(ctx, h.wake.Flow); discards || err != nil {
			return done, err
		}
	}
	if h.wake.Due.After(h.Now()) {
		return done, h.Wakes.Send(ctx, h.wake) // rule 8, an early timer: sent again without a read
	}
	if h.wake.Cause == machine.CauseDescendants {
		return h.stopDescendants(ctx)
	}
	for try := 1; ; try++ {
		disposition, err := h.apply(ctx)
		if CodeOf(err) == CodeConflict {
			h.conflicts++
		}
		if err == nil || try == maxTries || !h.retries(err) {
			return disposition, err
		}
		if h.Sleep(ctx, jitter(try)) != nil {
			return disposition, err
		}
	}
}

// retries reports whether to apply the wake again after err: after a lost race (rule 4), and after
// any transient error while results are in memory, which another worker would have to request again.
// Other errors leave the wake to its next delivery.
func (h *handler) retries(err error) bool {
	code := CodeOf(err)
	return code == CodeConflict || len(h.results) > 0 && code != CodeTooNew && code != CodeDefect
}

// apply loads the execution, applies the wake and commits, once.
func (h *handler) apply(ctx context.Context) (Disposition, error) {
	h.now = h.Now()
	base, err := h.Log.Latest(ctx, h.wake.Execution)
	if errors.Is(err, ErrNotFound) {
		return done, h.notFound(ctx)
	}
	if err != nil {
		return Disposition{}, err
	}
	state, err := decodeState(base)
	if err != nil {
		return Disposition{}, err
	}
	if root, generation := state.Root(); machine.IsCounted(generation) {
		h.core = h.forDescendants(root)
	}
	if h.paused, err = h.pauseDiscards(ctx, state.Flow.Name); err != nil {
		return Disposition{}, err
	}
	h.traceAgain(ctx, base, state)
	if h.isRearm() {
		return h.rearm(ctx, base, state)
	}
	if h.endedByWake(state) {
		return h.reportEndAgain(ctx, base, state)
	}
	if entered, ok := machine.Unresolved(state, h.wake.Cause); ok && !h.canOnlyEnd(state) {
		return h.resumePending(ctx, base, state, entered)
	}
	if h.endingIsLost(state) {
		return h.resumePending(ctx, base, state, state.Ending.Entry)
	}
	signal, err := h.signal(ctx, base, state)
	switch {
	case err != nil:
		return done, err
	case signal == nil:
		return done, h.endIfOvertime(ctx, base, state)
	}
	d, err := h.loadDraft(ctx, base, state)
	if err != nil {
		return Disposition{}, err
	}
	if err := h.applySignal(ctx, d, signal); err != nil {
		return Disposition{}, err
	}
	return done, h.runCommands(ctx, d)
}

// endingIsLost reports whether a lane is ending whose wake of that may be lost: it died with its process, or with a queue. The stop
// of the lane stands for it.
func (h *handler) endingIsLost(state machine.State) bool {
	return h.wake.Cause == machine.CauseStop && state.Lane != nil && state.Ending != nil
}

// canOnlyEnd reports whether the execution cannot continue, because its flow is paused or this process lacks
// a function, and has no decided end: it waits for a request to stop or its time limit.
func (h *handler) canOnlyEnd(state machine.State) bool {
	return state.Ending == nil && (h.paused || h.CannotContinue != nil && h.CannotContinue(state))
}

// endIfOvertime handles a wake that does not apply: it ends the execution if its time limit has passed. A
// limit that is not the flow's own has no timer, so any wake checks it (rule 1). If the wake was sent
// again, its next delivery checks.
func (h *handler) endIfOvertime(ctx context.Context, base Item, state machine.State) error {
	if h.resent || !h.overtime(state, nil) {
		return nil
	}
	d, err := h.loadDraft(ctx, base, state)
	if err != nil || !h.overtime(state, d.env.Flow) {
		return err
	}
	if h.wake.Cause != machine.CauseLimit {
		return h.sendLimit(ctx)
	}
	if err := h.applySignal(ctx, d, machine.TimerDue{At: h.now}); err != nil {
		return err
	}
	return h.runCommands(ctx, d)
}

// sendLimit sends the wake that ends the execution, whose time limit has passed. Another delivery of the wake at hand may have
// deleted their message before that (rule 6), and would not come again if this worker died during the end.
func (h *handler) sendLimit(ctx context.Context) error {
	return h.sendWake(ctx, h.wake.Execution, machine.CauseLimit)
}

// overtime reports whether the time limit of the execution has passed, or may have if its flow is nil. A lane
// is stopped by its parent (rule 23).
func (h *handler) overtime(state machine.State, flow *flow.Flow) bool {
	return state.Lane == nil && !state.Status.Final() && state.Ending == nil && !h.now.Before(h.Limits.EndsAt(state, flow))
}

// notFound handles a wake without a log. That of a recent start is sent again, because item 0 may not
// have been written yet (rule 12).
func (h *handler) notFound(ctx context.Context) error {
	switch lane := h.lane(); {
	case lane != nil:
		return h.laneNotFound(ctx, *lane)
	case h.wake.Lane == nil && h.wake.Cause == machine.CauseStart && h.young(startPatience):
		return h.resend(ctx, h.now.Add(resendDelay))
	}
	return nil
}

// young reports whether the update that the wake announces may still be under way: the wake was sent less
// than patience ago. A wake that was sent in the future is judged by the same distance: clocks differ a
// little, and a forged wake must not be sent again forever.
func (h *handler) young(patience time.Duration) bool { return h.now.Sub(h.wake.Sent).Abs() < patience }

func (h *handler) resend(ctx context.Context, due time.Time) error {
	wake := h.wake
	wake.Due = due
	h.resent = true
	return h.Wakes.Send(ctx, wake)
}

// signal returns the signal of the wake for the state, nil if the wake does not apply: then nothing is
// written (rule 1, load first).
func (h *handler) signal(ctx context.Context, base Item, state machine.State) (machine.Signal, error) {
	switch {
	case state.Status.Final(), h.canOnlyEnd(state) && h.wake.Cause != machine.CauseStop && h.wake.Cause != machine.CauseParent:
		return nil, nil
	case h.wake.Cause == machine.CauseStart:
		switch {
		case state.Status != machine.StatusStarting:
			return nil, nil
		case state.Timer.Due.After(h.now): // a paced start
			return nil, h.resend(ctx, state.Timer.Due)
		}
		return h.started(ctx, state)
	case h.wake.Cause == machine.CauseParent:
		return h.parentLeft(ctx, state)
	case h.wake.Cause == machine.CauseStop:
		return h.stopRequest(ctx, state)
	case h.isOfJoin(state.Waiting):
		return h.lanesEnded(ctx, state)
	case state.Waiting == nil || state.Waiting.For != machine.WaitingForToken: // no token: only the timer can be due
	case h.wake.Cause == state.Waiting.Handle():
		return h.tokenClosed(ctx, state.Waiting)
	case !state.Waiting.Submitted() && h.wake.Cause == machine.CauseReply(state.Waiting.Handle()):
		return h.storedReply(ctx, state)
	}
	return h.timerDue(ctx, base, state.Timer)
}

func (h *handler) timerDue(ctx context.Context, base Item, live machine.Timer) (machine.Signal, error) {
	switch {
	case h.wake.Cause == live.Tag && live.Due.After(h.now):
		return nil, h.resend(ctx, live.Due) // the wake names a wrong instant
	case h.wake.Cause == live.Tag && live.Tag != "":
		return machine.TimerDue{At: h.now}, nil
	case h.wake.Seq == base.Seq+1 && h.young(commitPatience): // the log has no gaps: a wake for a later item is forged
		return nil, h.resend(ctx, h.now.Add(resendDelay))
	}
	return nil, nil
}

// tokenClosed reads the token's record. The closer sends the wake before its update, so the handler
// reads an open token twice, and sends a young wake again (rule 11).
func (h *handler) tokenClosed(ctx context.Context, waiting *machine.Waiting) (machine.Signal, error) {
	record, err := h.TokenStore.Record(ctx, waiting.Handle())
	if err == nil && record.Open() && h.young(token.WakePatience) {
		h.earlyLooks++
		if err = h.Sleep(ctx, lookPause); err == nil {
			record, err = h.TokenStore.Record(ctx, waiting.Handle())
		}
	}
	switch {
	case err != nil:
		return nil, err
	case !record.Open():
		return h.closed(waiting.Attempt, record), nil
	case h.young(token.WakePatience):
		h.earlyLooks++
		return nil, h.resend(ctx, h.now.Add(resendDelay))
	}
	return nil, nil
}

func (h *handler) closed(attempt machine.Attempt, record token.Record) machine.Signal {
	return machine.TokenClosed{At: h.Now(), Attempt: attempt, Outcome: *record.Outcome, By: record.ClosedBy, Reply: record.Reply}
}

// storedReply reads the reply of a function. The task runner stored it before it sent the wake, so one
// read is enough (rule 5).
func (h *handler) storedReply(ctx context.Context, state machine.State) (machine.Signal, error) {
	record, err := h.TokenStore.Record(ctx, state.Waiting.Handle())
	if err != nil {
		return nil, err
	}
	return h.signalOf(state, record), nil
}

// signalOf returns the signal for the record of the token that the state waits for, nil for none.
func (h *handler) signalOf(state machine.State, record token.Record) machine.Signal {
	switch waiting := state.Waiting; {
	case !record.Open():
		return h.closed(waiting.Attempt, record)
	case record.Reply != nil && !waiting.Submitted() && state.Ending == nil:
		return machine.Submitted{At: h.Now(), Attempt: waiting.Attempt, Output: *record.Reply}
	}
	return nil
}

// stopRequest reads the request that the wake of a stop announces (rule 12).
func (h *handler) stopRequest(ctx context.Context, state machine.State) (machine.Signal, error) {
	if state.Lane != nil {
		return h.stopOfParent(ctx, *state.Lane)
	}
	request, ok, err := h.Stops.StopRequest(ctx, h.wake.Execution)
	if err == nil && !ok {
		request, ok, err = h.requestOfRoot(ctx, state)
	}
	switch {
	case err != nil:
		return nil, err
	case ok:
		return machine.StopRequested{At: h.now, Error: request.Error, Cause: request.Cause}, nil
	case h.young(stopPatience):
		return nil, h.resend(ctx, h.now.Add(resendDelay))
	}
	return nil, nil
}
