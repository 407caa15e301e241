package engine

import (
	"context"
	"time"

	"github.com/waitless/waitless/pkg/machine"
)

// resumePending handles a wake that entered something that has not ended: an earlier worker may
// have died with the same wake (rule 7, the worker may live). While that worker may live, nothing
// is repeated. After that the pending calls are made. If the latest item is the handler's own, or
// the result is in memory, the handler is that worker.
func (h *handler) resumePending(ctx context.Context, wake Wake, base Item, state machine.State, entered machine.Entry) (Disposition, error) {
	if err := h.loadWaitingInput(ctx, &state); err != nil {
		return Disposition{}, err
	}
	_, inMemory := h.resultOf(state)
	inMemory = inMemory || len(h.results) > 0 && state.Waiting.IsBetweenItems() // rule 29
	own := h.wrote(base)
	executed := wake.executedBefore(state)
	switch until, mayLive := h.mayLive(entered, h.WorkerDeadAfter); {
	case own && !inMemory:
		executed = machine.ExecutedNever
	case entered.Generation != h.Generation:
		executed = machine.ExecutedQueueLost
	case mayLive && !inMemory && !state.StopsLanes() && !wake.onlyNotifies(state):
		return Disposition{RetryAt: until}, nil
	}
	d, err := h.loadDraft(ctx, wake.Cause, base, state)
	if err != nil {
		return Disposition{}, err
	}
	signal, err := h.knownSignal(ctx, state)
	switch {
	case err != nil:
		return Disposition{}, err
	case signal != nil:
		d.hasResult = true
		err = d.apply(ctx, signal)
	case h.overtime(state, d.env.Flow): // nothing is called any more
		return done, h.sendWake(ctx, base.Execution, machine.CauseLimit)
	default:
		var next machine.Next
		next, err = d.askMachine(ctx, func(env machine.Env) (machine.Next, error) { return machine.Pending(env, state, h.now, executed) })
		if d.commands = next.Commands; err == nil && len(d.commands) == 0 && wake.Cause == machine.CauseRearmNotices {
			err = d.notifyWaiting(ctx)
		}
	}
	if err != nil {
		return Disposition{}, err
	}
	return done, d.runCommands(ctx)
}

// loadWaitingInput loads the input of the waiting attempt if a result for it is in memory. The
// input is then compared with the input of the remembered call.
func (m *memory) loadWaitingInput(ctx context.Context, state *machine.State) error {
	if state.Waiting == nil {
		return nil
	}
	r, ok := m.results[state.Waiting.Attempt]
	if !ok {
		return nil
	}
	waiting := *state.Waiting
	state.Waiting = &waiting
	return m.loader.fill(ctx, &waiting.Input, &r.call.StepInput)
}

// knownSignal returns the signal for the waiting attempt that is already known, or nil. It comes
// from the token's record, or from the call that this handler made (rule 4).
func (h *handler) knownSignal(ctx context.Context, state machine.State) (machine.Signal, error) {
	waiting := state.Waiting
	if waiting == nil {
		return nil, nil
	}
	if waiting.Token() != nil {
		record, err := h.TokenStore.Record(ctx, waiting.Handle())
		if err != nil {
			return nil, err
		}
		if signal := h.signalOf(state, record); signal != nil {
			return signal, nil
		}
	}
	r, ok := h.resultOf(state)
	switch {
	case !ok || state.Ending != nil:
		return nil, nil
	case r.queued:
		return machine.Queued{At: h.Now(), Attempt: waiting.Attempt}, nil
	case waiting.Token() != nil:
		return calls{h.session}.recordSubmission(ctx, waiting.Attempt, waiting.Handle(), r.outcome)
	}
	return machine.Returned{At: h.Now(), Attempt: waiting.Attempt, Outcome: r.outcome}, nil
}

// mayLive reports whether the worker that entered something may still be at work, and until when
// (rule 7, the worker may live). A worker is dead at deadAfter from its entry. A worker of another
// generation is dead: the clocks of two processes are not compared. If several processes share the
// log, an entry ahead of this clock counts as made now. An entry ahead by deadAfter or more is
// wrong, and its worker counts as dead.
func (c *core) mayLive(entered machine.Entry, deadAfter time.Duration) (until time.Time, may bool) {
	now := c.Now()
	age := now.Sub(entered.Since)
	if entered.Generation != c.Generation || age.Abs() >= deadAfter {
		return time.Time{}, false
	}
	return now.Add(deadAfter - max(age, 0)), true
}
