package engine

import (
	"context"
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// unresolved handles a wake that entered what has not ended (rule 7). While
// the worker that did may live, nothing is repeated; then what is pending is
// carried out. A worker that finds its own item, or has the result at hand, is
// that worker.
func (h *handler) unresolved(ctx context.Context, base Item, state machine.State, entered machine.Entry) (Disposition, error) {
	if err := h.completeWaiting(ctx, &state); err != nil {
		return Disposition{}, err
	}
	_, known := h.known(state.Waiting)
	own := h.wrote(base)
	past := machine.PastUnknown
	switch until, mayLive := h.mayLive(entered, h.workerLife); {
	case own && !known:
		past = machine.PastNone
	case entered.Generation != h.generation:
		past = machine.PastLost
	case mayLive && !known:
		return Disposition{RetryAt: until}, nil
	}
	d, err := h.draft(ctx, base, state)
	if err != nil {
		return Disposition{}, err
	}
	signal, err := h.atHand(ctx, state)
	if err == nil && signal == nil && h.overtime(state, d.env.Flow.Timeout) { // nothing is called any more
		signal = machine.TimerDue{At: h.now}
	}
	switch {
	case err != nil:
		return Disposition{}, err
	case signal != nil:
		d.hasResult = true
		err = h.tell(ctx, d, signal)
	default:
		var next machine.Next
		next, err = h.withHeld(ctx, d, func(env machine.Env) (machine.Next, error) { return machine.Pending(env, state, h.now, past) })
		d.commands = next.Commands
	}
	if err != nil {
		return Disposition{}, err
	}
	return done, h.finish(ctx, d)
}

// wrote reports whether the item is this worker's own.
func (h *handler) wrote(item Item) bool { return slices.Contains(h.nonces, item.Nonce) }

type result struct {
	call    machine.Call
	outcome token.Outcome
	queued  bool // all that is known of the call is that it is in the task queue
}

// known is the result of the call that is waited for, if this worker made it.
func (h *handler) known(waiting *machine.Waiting) (known result, ok bool) {
	if waiting == nil {
		return known, false
	}
	known, ok = h.results[waiting.Attempt]
	return known, ok && value.Equal(known.call.StepInput, waiting.Input)
}

// completeWaiting makes the input of what is waited for comparable with that of
// the call whose result is at hand, if there is one.
func (h *handler) completeWaiting(ctx context.Context, state *machine.State) error {
	if state.Waiting == nil {
		return nil
	}
	known, ok := h.results[state.Waiting.Attempt]
	if !ok {
		return nil
	}
	waiting := *state.Waiting
	state.Waiting = &waiting
	if err := h.held.complete(ctx, &waiting.Input, &known.call.StepInput); err != nil {
		return err
	}
	h.results[waiting.Attempt] = known
	return nil
}

// atHand is what became of the attempt that is waited for, nil when nobody
// here knows: what the record of its token tells, or the result of the call
// that this worker made (rule 4).
func (h *handler) atHand(ctx context.Context, state machine.State) (machine.Signal, error) {
	waiting := state.Waiting
	if waiting == nil {
		return nil, nil
	}
	if waiting.For == machine.WaitingForToken {
		record, err := h.tokens.Record(ctx, waiting.Handle())
		if err != nil {
			return nil, err
		}
		if signal := h.told(state, record); signal != nil {
			return signal, nil
		}
	}
	known, ok := h.known(waiting)
	switch {
	case !ok || state.Ending != nil:
		return nil, nil
	case known.queued:
		return machine.Queued{At: h.clock(), Attempt: waiting.Attempt}, nil
	case waiting.For == machine.WaitingForToken:
		return h.submitted(ctx, waiting.Attempt, waiting.Handle(), known.outcome)
	}
	return machine.Returned{At: h.clock(), Attempt: waiting.Attempt, Outcome: known.outcome}, nil
}

// mayLive reports whether the worker that entered something may still be at work,
// and until when, if none lives longer than life (rule 7). One of another
// generation of the process is dead: the clocks of two processes are not
// compared. Where several work together, their clocks differ a little: an instant
// ahead of ours counts as ours, and one that is ahead by a whole life is wrong.
func (c *core) mayLive(entered machine.Entry, life time.Duration) (until time.Time, may bool) {
	now := c.clock()
	age := now.Sub(entered.Since)
	if entered.Generation != c.generation || age.Abs() >= life {
		return time.Time{}, false
	}
	return now.Add(life - max(age, 0)), true
}

// tellEnd tells of a state that was just committed, if it is the last one. An
// error keeps the wake, by which it is told again.
func (c *core) tellEnd(ctx context.Context, id ID, state machine.State) error {
	if c.ends == nil || !state.Status.Final() {
		return nil
	}
	return c.ends.Ended(ctx, id, state)
}

// ended reports whether the wake is the one that ended the execution: then the
// worker that did may have died before it told so.
func (h *handler) ended(state machine.State) bool {
	return h.ends != nil && state.Status.Final() && state.By == h.wake.Cause
}

// endAgain tells of the end again, once the worker that committed it cannot
// live (rule 7).
func (h *handler) endAgain(ctx context.Context, base Item, state machine.State) (Disposition, error) {
	entered := machine.Entry{By: state.By, Since: state.At, Generation: state.Generation}
	if until, mayLive := h.mayLive(entered, h.workerLife); mayLive && !h.wrote(base) {
		return Disposition{RetryAt: until}, nil
	}
	return done, h.tellEnd(ctx, h.wake.Execution, state)
}
