package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// Disposition says what to do with the message of a wake or a task.
type Disposition struct {
	// RetryAt is when to deliver the message again, unchanged. If it is zero, delete the message.
	RetryAt time.Time
	// EarlyLooks counts the reads of the token that came before its closer's update (rule 11, the
	// closer sends the wake first).
	EarlyLooks int
	// Conflicts counts the commits that another worker preceded (rule 4). It is also set after an
	// error.
	Conflicts int
	// Unmapped are the mappings of the committed items that found no source, nil for none. It is
	// also set after an error. It is for logs only: if the worker dies, it is lost.
	Unmapped *UnmappedSources
}

// UnmappedSources lists the mappings of an execution for which the source was missing, each once.
type UnmappedSources struct {
	Flow      machine.FlowRef
	Execution string // by name
	Mappings  []machine.UnmappedSource
}

var done = Disposition{}

// Advance applies a wake. After an error, deliver the wake again later; nothing is lost. An error
// with [CodeTooNew] means that only a newer release can apply the wake.
func (w *Worker) Advance(ctx context.Context, wake Wake) (Disposition, error) {
	receives := wake.Receives
	wake.Receives = 0 // if the wake is sent again, that message was never received
	h := newHandler(&w.core)
	h.eventBuffer, h.redelivered = eventBuffers.Get().(*[]machine.Event), receives > 1
	defer eventBuffers.Put(h.eventBuffer)
	disposition, err := h.run(ctx, wake)
	if at, ok := h.waitsForRoom(receives, err); ok {
		disposition, err = Disposition{RetryAt: at}, nil
	}
	if poisoned(receives, err) {
		a := abandonment{h, wake, err.Error()}
		disposition, err = done, a.endNow(ctx)
	}
	if err != nil {
		return Disposition{Unmapped: h.unmapped, Conflicts: h.conflicts}, wrapOnce("advance", "execution "+wake.Execution.String(), err)
	}
	disposition.EarlyLooks, disposition.Unmapped, disposition.Conflicts = h.earlyLooks, h.unmapped, h.conflicts
	return disposition, nil
}

// handler applies one wake, perhaps several times. Its methods have the order of the contract's
// rules; the types that it uses do the work: a [resolver] reads the result that the wake announces,
// a [draft] becomes the next item, [calls] makes calls, and [forks] has lanes.
type handler struct {
	resolver
	// conflicts counts lost races.
	conflicts int
	// redelivered says that an earlier delivery of the wake may have committed the latest item.
	redelivered bool
	remembered  memory // of the session
}

func newHandler(c *core) *handler {
	h := &handler{remembered: memory{results: map[machine.Attempt]*result{}, loader: c.newValueLoader()}}
	h.session = session{c, &h.remembered}
	return h
}

// session holds the data that the types which apply one wake have in common.
type session struct {
	*core
	*memory
}

// memory keeps a worker's data about a wake from one try to the next.
type memory struct {
	// results are the outcomes of calls that no commit holds yet. They outlive
	// a lost race, so that no call is repeated for it (rule 4).
	results map[machine.Attempt]*result
	// loader loads large values of the execution.
	loader valueLoader
	// nonces lists the nonces of all items that the worker tried to put: an item with one of them
	// is our own.
	nonces []string
	// unmapped are the unmapped sources of committed drafts.
	unmapped *UnmappedSources
	// eventBuffer has memory for the events of the draft, and there is one draft at a time.
	eventBuffer *[]machine.Event
}

// result is the outcome of a call that no commit holds yet.
type result struct {
	call    machine.Call
	outcome token.Outcome
	queued  bool // the call is in the task queue, and there is no outcome yet
}

// madeBefore returns the result of the call if this worker made it, and no commit holds it yet.
func (m *memory) madeBefore(call machine.Call) (*result, bool) {
	r, ok := m.results[call.Attempt]
	return r, ok && r.call.Place == call.Place && value.Equal(r.call.Input, call.Input)
}

// resultOf returns the result of the pending call, if this worker made the call.
func (m *memory) resultOf(state machine.State) (r *result, ok bool) {
	if state.Waiting == nil {
		return nil, false
	}
	r, ok = m.results[state.Waiting.Attempt]
	return r, ok && r.call.Place == state.WaitingPlace() && value.Equal(r.call.StepInput, state.Waiting.Input)
}

// wrote reports whether the item is this worker's own.
func (m *memory) wrote(item Item) bool { return slices.Contains(m.nonces, item.Nonce) }

// run applies the wake, and again after a lost race or another error that [handler.retries] knows.
func (h *handler) run(ctx context.Context, wake Wake) (Disposition, error) {
	if wake.Descendant {
		h.core = h.forDescendants(wake.Root)
	}
	if wake.Cause == machine.CauseStart || wake.Seq > 0 { // a start or a timer, which need no read if the flow is paused
		if discards, err := h.pauseDiscards(ctx, wake, wake.Flow); discards || err != nil {
			return done, err
		}
	}
	if wake.Due.After(h.Now()) {
		return done, h.Wakes.Send(ctx, wake) // rule 8, an early timer: sent again without a read
	}
	if wake.Cause == machine.CauseDescendants {
		return h.stopDescendants(ctx, wake)
	}
	for try := 1; ; try++ {
		disposition, err := h.apply(ctx, wake)
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
// any transient error while results are in memory, which another worker would have to request
// again. Other errors leave the wake to its next delivery.
func (h *handler) retries(err error) bool {
	code := CodeOf(err)
	return code == CodeConflict || len(h.results) > 0 && code != CodeTooNew && code != CodeDefect
}

// apply loads the execution, applies the wake and commits, once.
func (h *handler) apply(ctx context.Context, wake Wake) (Disposition, error) {
	h.now = h.Now()
	base, err := h.Log.Latest(ctx, wake.Execution) // rule 1, load first
	if errors.Is(err, ErrNotFound) {
		return done, h.notFound(ctx, wake)
	}
	if err != nil {
		return Disposition{}, err
	}
	state, err := decodeState(base)
	if err != nil {
		return Disposition{}, err
	}
	if err := h.prepare(ctx, wake, state); err != nil {
		return Disposition{}, err
	}
	h.traceAgain(ctx, base, state)
	if wake.isRearm() {
		return h.rearm(ctx, wake, base, state)
	}
	if h.endedBy(wake, state) { // rules 17 and 25
		return h.reportEndAgain(ctx, wake, base, state)
	}
	if entered, ok := machine.Unresolved(state, wake.Cause); ok && !h.canOnlyEnd(state) { // rule 7
		return h.resumePending(ctx, wake, base, state, entered)
	}
	if wake.repeatsEnding(state) {
		return h.resumePending(ctx, wake, base, state, state.Ending.Entry)
	}
	signal, err := h.signal(ctx, wake, base, state) // rules 8 to 12, 18, 20 and 26
	switch {
	case err != nil:
		return done, err
	case signal == nil:
		return done, h.endIfOvertime(ctx, wake, base, state)
	}
	return done, h.advance(ctx, wake, base, state, signal) // rules 2 to 5
}

// prepare prepares the try for the execution of a state: wakes of descendants are marked, and the
// flow may be paused.
func (h *handler) prepare(ctx context.Context, wake Wake, state machine.State) (err error) {
	if root, generation := state.Root(); machine.IsCounted(generation) {
		h.core = h.forDescendants(root)
	}
	h.paused, err = h.pauseDiscards(ctx, wake, state.Flow.Name)
	return err
}

// advance applies a signal to the state in an item, and executes the resulting commands.
func (h *handler) advance(ctx context.Context, wake Wake, base Item, state machine.State, signal machine.Signal) error {
	d, err := h.loadDraft(ctx, wake.Cause, base, state)
	if err == nil {
		err = d.apply(ctx, signal)
	}
	if err != nil {
		return err
	}
	return d.runCommands(ctx)
}

// endIfOvertime handles a wake that does not apply: it ends the execution if its time limit has
// passed. A limit that is not the flow's own has no timer, so any wake checks it (rule 1). If the
// wake was sent again, its next delivery checks.
func (h *handler) endIfOvertime(ctx context.Context, wake Wake, base Item, state machine.State) error {
	if h.resent || !h.overtime(state, nil) {
		return nil
	}
	d, err := h.loadDraft(ctx, wake.Cause, base, state)
	if err != nil || !h.overtime(state, d.env.Flow) {
		return err
	}
	if wake.Cause != machine.CauseLimit {
		// Another delivery of the wake at hand may have deleted their message before the end (rule
		// 6), and would not come again if this worker died during it. So the end has a wake of its
		// own.
		return h.sendWake(ctx, base.Execution, machine.CauseLimit)
	}
	if err := d.apply(ctx, machine.TimerDue{At: h.now}); err != nil {
		return err
	}
	return d.runCommands(ctx)
}

// notFound handles a wake without a log. If it is the wake of a recent start, it is sent again,
// because item 0 may not have been written yet (rule 12).
func (h *handler) notFound(ctx context.Context, wake Wake) error {
	switch lane := wake.lane(); {
	case lane != nil:
		return h.laneNotFound(ctx, wake, *lane)
	case wake.Lane == nil && wake.Cause == machine.CauseStart && wake.young(h.now, startPatience):
		return h.resend(ctx, wake, h.now.Add(resendDelay))
	}
	return nil
}
