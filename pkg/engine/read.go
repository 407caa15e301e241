package engine

import (
	"context"
	"errors"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

func (i Item) place() value.Origin { return machine.Place(i.Execution, i.Seq) }

// decodeState reads the state of an item and gives errors their code.
func decodeState(item Item) (machine.State, error) {
	state, err := machine.DecodeState(item.place(), item.Body)
	return state, decoded(item, err)
}

// decoded is an error of reading an item with its code.
func decoded(item Item, err error) error {
	if err == nil {
		return nil
	}
	code := CodeDefect
	if _, tooNew := errors.AsType[*machine.FormatError](err); tooNew {
		code = CodeTooNew
	}
	return &Error{code, "read the log of execution " + item.Execution.String(), err}
}

// Describe is the state of an execution, its input and output complete. One
// that does not exist: an error with [CodeNotFound].
func (e *Engine) Describe(ctx context.Context, id ID) (machine.State, error) {
	item, err := e.Log.Latest(ctx, id)
	if err != nil {
		return machine.State{}, &Error{CodeOf(err), "describe execution " + id.String(), err}
	}
	state, err := decodeState(item)
	if err != nil {
		return machine.State{}, err
	}
	held := &held{log: e.Log, execution: id}
	return state, held.complete(ctx, &state.Input, &state.Output)
}

// historyPage is how many items are read at once.
const historyPage = 100

// History is the history of an execution from its first event on, its values
// complete. One that does not exist: an error with [CodeNotFound].
func (e *Engine) History(ctx context.Context, id ID) ([]machine.Event, error) {
	var history []machine.Event
	held := &held{log: e.Log, execution: id}
	for from := uint64(0); ; from += historyPage {
		items, err := e.Log.Items(ctx, id, from, historyPage)
		if err != nil {
			return nil, &Error{CodeOf(err), "read the history of execution " + id.String(), err}
		}
		for _, item := range items {
			_, events, err := machine.Decode(item.place(), item.Body)
			if err != nil {
				return nil, decoded(item, err)
			}
			for i := range events {
				if err := held.complete(ctx, &events[i].Input, &events[i].Local, &events[i].Output); err != nil {
					return nil, err
				}
			}
			history = append(history, events...)
		}
		if len(items) < historyPage {
			break
		}
	}
	if len(history) == 0 {
		return nil, &Error{CodeNotFound, "read the history of execution " + id.String(), ErrNotFound}
	}
	return history, nil
}

// held finds the values of an execution that are held by reference, in the
// items of its log where they stand in full.
type held struct {
	log       Log
	execution ID
	known     map[value.Ref]value.Value
	numbered  map[uint64]func(uint32) (value.Value, bool) // the values of items that were read
}

// complete makes values complete, in place.
func (h *held) complete(ctx context.Context, values ...*value.Value) error {
	for _, v := range values {
		for !v.IsComplete() {
			lookup := value.Lookup{Known: h.known}
			whole := lookup.Complete(*v)
			if len(lookup.Missing) == 0 {
				*v = whole
				break
			}
			if err := h.load(ctx, lookup.Missing); err != nil {
				return err
			}
		}
	}
	return nil
}

// load makes values known. One that is not where the reference says is a
// defect.
func (h *held) load(ctx context.Context, refs []value.Ref) error {
	if h.known == nil {
		h.known = map[value.Ref]value.Value{}
	}
	for _, ref := range refs {
		if _, known := h.known[ref]; known {
			continue
		}
		v, err := h.read(ctx, ref)
		if err != nil {
			return err
		}
		h.known[ref] = v
	}
	return nil
}

func (h *held) read(ctx context.Context, ref value.Ref) (value.Value, error) {
	numbered, ok := h.numbered[ref.Seq]
	if !ok {
		items, err := h.log.Items(ctx, h.execution, ref.Seq, 1)
		if err != nil {
			return value.Value{}, err
		}
		if len(items) == 0 || items[0].Seq != ref.Seq {
			return value.Value{}, decoded(Item{Execution: h.execution, Seq: ref.Seq}, machine.ErrDamaged)
		}
		if numbered, err = h.open(items[0]); err != nil {
			return value.Value{}, err
		}
	}
	v, ok := numbered(ref.Number)
	if !ok {
		return value.Value{}, decoded(Item{Execution: h.execution, Seq: ref.Seq}, machine.ErrDamaged)
	}
	return v, nil
}

// open finds the values of an item, and keeps them for the next time.
func (h *held) open(item Item) (func(uint32) (value.Value, bool), error) {
	numbered, err := machine.DecodeValues(item.place(), item.Body)
	if err != nil {
		return nil, decoded(item, err)
	}
	if h.numbered == nil {
		h.numbered = map[uint64]func(uint32) (value.Value, bool){}
	}
	h.numbered[item.Seq] = numbered
	return numbered, nil
}

// withHeld asks the machine, and again with the values that it misses.
func (w *worker) withHeld(ctx context.Context, d *draft, ask func(machine.Env) (machine.Next, error)) (machine.Next, error) {
	for {
		next, err := ask(d.env)
		if err != nil {
			return machine.Next{}, defect("ask the machine", err)
		}
		if len(next.Load) == 0 {
			return next, nil
		}
		if err := w.held.load(ctx, next.Load); err != nil {
			return machine.Next{}, err
		}
		d.env.Held = w.held.known
	}
}

// completeWaiting makes the input of what is waited for comparable with that of
// the call whose result is at hand, if there is one.
func (w *worker) completeWaiting(ctx context.Context, state *machine.State) error {
	if state.Waiting == nil {
		return nil
	}
	known, ok := w.results[state.Waiting.Attempt]
	if !ok {
		return nil
	}
	waiting := *state.Waiting
	state.Waiting = &waiting
	if err := w.held.complete(ctx, &waiting.Input, &known.call.StepInput); err != nil {
		return err
	}
	w.results[waiting.Attempt] = known
	return nil
}

// settle reads back the state that was committed, when large values in it refer
// to the item from then on: a later item of this draft would have them again.
func (d *draft) settle() (err error) {
	if d.large {
		d.state, err = decodeState(d.base)
		d.large = false
	}
	return err
}
