package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// poisonReceives is from which receive on a defect ends the execution (rule 13).
const poisonReceives = 5

func checkSize(item Item) error {
	if size := len(item.Body); size > machine.MaxItem {
		return fmt.Errorf("log item %d has %d bytes and the limit is %d: pass on a key of large data, and not the data", item.Seq, size, machine.MaxItem)
	}
	return nil
}

// defect gives an error its code. That this process lacks keys is nothing that
// an execution should fail of: the next process may have them.
func defect(op string, err error) error {
	var keys *machine.KeysError
	if errors.As(err, &keys) {
		return &Error{CodeInternal, op, err}
	}
	return &Error{CodeDefect, op, err}
}

// poisoned reports whether the wake met a defect so often that it always will.
// What a newer release wrote is none.
func poisoned(receives int, err error) bool {
	return receives >= poisonReceives && CodeOf(err) == CodeDefect
}

// abandon ends the execution with the defect as its failure (rule 13). A token
// that is out is closed first, and what it then holds is recorded.
func (w *worker) abandon(ctx context.Context, cause error) error {
	for try := 1; ; try++ {
		err := w.abandonOnce(ctx, cause)
		if try == maxTries || CodeOf(err) != CodeConflict || w.engine.Pause(ctx, jitter(try)) != nil {
			return err
		}
	}
}

func (w *worker) abandonOnce(ctx context.Context, cause error) error {
	base, err := w.engine.Log.Latest(ctx, w.wake.Execution)
	if err != nil {
		return err
	}
	state, err := w.lastReadable(ctx, base)
	if err != nil || state.Status.Final() {
		return err
	}
	now, text := w.engine.Now(), cause.Error()
	var held token.Record
	if waiting := state.Waiting; waiting != nil && waiting.For == machine.WaitingForToken {
		closing := token.CloseOp{Outcome: token.Failure(machine.ErrorInternal, text), By: token.ClosedByStop, At: now}
		if held, err = w.engine.Outcomes.Close(ctx, waiting.Handle(), closing); err != nil {
			return err
		}
	}
	state, events := machine.Abandon(state, held, text, machine.Entry{By: w.wake.Cause, Since: now, Generation: w.engine.Generation})
	item := Item{Execution: w.wake.Execution, Seq: base.Seq + 1, Nonce: w.engine.Fresh()}
	item.Body, _ = machine.Encode(item.place(), state, events)
	if err := w.engine.put(ctx, item); err != nil {
		return err
	}
	w.engine.Observer.Committed(item.Execution, state, events)
	return w.engine.tellEnd(ctx, item.Execution, state)
}

// lastReadable is the state of the item, or of the last one before it that is
// not damaged; when all are, one of which nothing is known.
func (w *worker) lastReadable(ctx context.Context, item Item) (machine.State, error) {
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
		items, err := w.engine.Log.Items(ctx, item.Execution, seq, 1)
		if err != nil {
			return machine.State{}, err
		}
		if len(items) == 0 {
			return machine.State{}, errors.New("the log has a gap")
		}
		item = items[0]
	}
}
