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
		if try == maxTries || CodeOf(err) != CodeConflict || h.sleep(ctx, jitter(try)) != nil {
			return err
		}
	}
}

func (h *handler) abandonOnce(ctx context.Context, cause error) error {
	base, err := h.log.Latest(ctx, h.wake.Execution)
	if err != nil {
		return err
	}
	state, err := h.lastReadable(ctx, base)
	if err != nil || state.Status.Final() {
		return err
	}
	now, text := h.clock(), cause.Error()
	var record token.Record
	if waiting := state.Waiting; waiting != nil && waiting.For == machine.WaitingForToken {
		closing := token.CloseOp{Outcome: token.Failure(machine.ErrorInternal, text), By: token.ClosedByStop, At: now}
		if record, err = h.tokens.Close(ctx, waiting.Handle(), closing); err != nil {
			return err
		}
	}
	state, events := machine.Abandon(state, record, false, text, machine.Entry{By: h.wake.Cause, Since: now, Generation: h.generation})
	item := Item{Execution: h.wake.Execution, Seq: base.Seq + 1, Nonce: h.newNonce()}
	item.Body, _ = machine.Encode(item.place(), state, events)
	if err := h.put(ctx, item); err != nil {
		return err
	}
	h.observer.Committed(item.Execution, state, events)
	return h.sendEnd(ctx, item.Execution, state)
}

// lastReadable returns the state of the item, or of the last item before it that is not damaged. If
// all items are damaged, the state is empty.
func (h *handler) lastReadable(ctx context.Context, item Item) (machine.State, error) {
	for seq := item.Seq; ; {
		state, err := decodeState(item)
		switch {
		case CodeOf(err) == CodeTooNew:
			return state, err
		case err == nil:
			return state, nil
		case seq == 0:
			return machine.State{Status: machine.StatusRunning}, nil
		}
		seq--
		items, err := h.log.Items(ctx, item.Execution, seq, 1)
		if err != nil {
			return machine.State{}, err
		}
		if len(items) == 0 {
			return machine.State{}, errors.New("the log has a gap")
		}
		item = items[0]
	}
}
