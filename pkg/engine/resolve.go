package engine

import (
	"context"
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// unresolved handles a wake that entered something that has not ended (rule 7). While the worker that
// entered it may live, nothing is repeated. After that the pending calls are made. If the latest item
// is the handler's own, or the result is in memory, the handler is that worker.
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

// known returns the result of the pending call, if this handler made the call.
func (h *handler) known(waiting *machine.Waiting) (known result, ok bool) {
	if waiting == nil {
		return known, false
	}
	known, ok = h.results[waiting.Attempt]
	return known, ok && value.Equal(known.call.StepInput, waiting.Input)
}

// completeWaiting loads the input of the waiting attempt if a result for it is in memory, so that it can
// be compared with the input of that call.
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

// atHand returns the signal for the waiting attempt that is already known, or nil. It comes from the
// token's record, or from the call that this handler made (rule 4).
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

// mayLive reports whether the worker that entered something may still be at work, and until when, if no
// worker lives longer than life (rule 7). A worker of another generation is dead: the clocks of two
// processes are not compared. If several processes share the log, an instant ahead of this clock
// counts as the present, and an instant ahead by a whole life is wrong.
func (c *core) mayLive(entered machine.Entry, life time.Duration) (until time.Time, may bool) {
	now := c.clock()
	age := now.Sub(entered.Since)
	if entered.Generation != c.generation || age.Abs() >= life {
		return time.Time{}, false
	}
	return now.Add(life - max(age, 0)), true
}

// tellEnd reports a state that was just committed, if it is the last one. After an error the wake is
// delivered again, and the end is reported again.
func (c *core) tellEnd(ctx context.Context, id ID, state machine.State) error {
	if c.ends == nil || !state.Status.Final() {
		return nil
	}
	return c.ends.Ended(ctx, id, state)
}

// ended reports whether the wake ended the execution. The worker that did so may have died before it
// reported the end.
func (h *handler) ended(state machine.State) bool {
	return h.ends != nil && state.Status.Final() && state.By == h.wake.Cause
}

// endAgain reports the end again, if the worker that committed it cannot live any longer (rule 7).
func (h *handler) endAgain(ctx context.Context, base Item, state machine.State) (Disposition, error) {
	entered := machine.Entry{By: state.By, Since: state.At, Generation: state.Generation}
	if until, mayLive := h.mayLive(entered, h.workerLife); mayLive && !h.wrote(base) {
		return Disposition{RetryAt: until}, nil
	}
	return done, h.tellEnd(ctx, h.wake.Execution, state)
}
