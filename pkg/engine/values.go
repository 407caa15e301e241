package engine

import (
	"context"
	"errors"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

func (i Item) place() value.Origin { return machine.Place(i.Execution, i.Seq) }

// decodeState returns the state in an item.
func decodeState(item Item) (machine.State, error) {
	state, err := machine.DecodeState(item.place(), item.Body)
	return state, decoded(item, err)
}

// decoded adds the code to an error of reading an item.
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

// held loads the values of an execution that are held by reference. It reads them from the items that
// have them in full, in the execution's log or in those of its lanes.
type held struct {
	log      Log
	parent   Item // of a lane, if it was read; its values are not read again
	loaded   map[value.Ref]value.Value
	numbered map[itemKey]func(uint32) (value.Value, bool) // the values of items that were read
}

// itemKey names an item.
type itemKey struct {
	log string
	seq uint64
}

// complete loads the missing parts of the values, in place.
func (h *held) complete(ctx context.Context, values ...*value.Value) error {
	for _, v := range values {
		for !v.IsComplete() {
			lookup := value.Lookup{Known: h.loaded}
			whole := lookup.Complete(*v)
			if len(lookup.Load) == 0 {
				*v = whole
				break
			}
			if err := h.load(ctx, lookup.Load); err != nil {
				return err
			}
		}
	}
	return nil
}

// load loads the values of the references. A value that is not where its reference says is a defect.
func (h *held) load(ctx context.Context, refs []value.Ref) error {
	if h.loaded == nil {
		h.loaded = map[value.Ref]value.Value{}
	}
	for _, ref := range refs {
		if _, ok := h.loaded[ref]; ok {
			continue
		}
		v, err := h.read(ctx, ref)
		if err != nil {
			return err
		}
		h.loaded[ref] = v
	}
	return nil
}

func (h *held) read(ctx context.Context, ref value.Ref) (value.Value, error) {
	var id ID
	copy(id[:], ref.Log)
	nowhere := decoded(Item{Execution: id, Seq: ref.Seq}, machine.ErrDamaged)
	numbered, ok := h.numbered[itemKey{ref.Log, ref.Seq}]
	if !ok {
		item, err := h.item(ctx, id, ref.Seq)
		if err != nil {
			return value.Value{}, err
		}
		if item.Seq != ref.Seq || item.Body == nil {
			return value.Value{}, nowhere
		}
		if numbered, err = h.open(item); err != nil {
			return value.Value{}, err
		}
	}
	v, ok := numbered(ref.Number)
	if !ok {
		return value.Value{}, nowhere
	}
	return v, nil
}

// item reads an item. It returns another one, or none, if the log does not have it.
func (h *held) item(ctx context.Context, id ID, seq uint64) (Item, error) {
	if h.parent.Execution == id && h.parent.Seq == seq {
		return h.parent, nil
	}
	items, err := h.log.Items(ctx, id, seq, 1)
	if err != nil || len(items) == 0 {
		return Item{}, err
	}
	return items[0], nil
}

// open decodes the values of an item and caches them.
func (h *held) open(item Item) (func(uint32) (value.Value, bool), error) {
	numbered, err := machine.DecodeValues(item.place(), item.Body)
	if err != nil {
		return nil, decoded(item, err)
	}
	if h.numbered == nil {
		h.numbered = map[itemKey]func(uint32) (value.Value, bool){}
	}
	h.numbered[itemKey{string(item.Execution[:]), item.Seq}] = numbered
	return numbered, nil
}
