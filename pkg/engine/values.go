package engine

import (
	"context"
	"errors"
	"slices"

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
	numbered map[ItemKey]func(uint32) (value.Value, bool) // the values of items that were read
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
	if err := h.readItems(ctx, refs); err != nil {
		return err
	}
	if h.loaded == nil {
		h.loaded = map[value.Ref]value.Value{}
	}
	for _, ref := range refs {
		key := keyOf(ref)
		v, ok := h.numbered[key](ref.Number)
		if !ok {
			return decoded(Item{Execution: key.Execution, Seq: key.Seq}, machine.ErrDamaged)
		}
		h.loaded[ref] = v
	}
	return nil
}

// keyOf returns the key of the item that has the value in full.
func keyOf(ref value.Ref) ItemKey {
	key := ItemKey{Seq: ref.Seq}
	copy(key.Execution[:], ref.Log)
	return key
}

// readItems reads the items of the references, together those that were not read before.
func (h *held) readItems(ctx context.Context, refs []value.Ref) error {
	var keys []ItemKey
	for _, ref := range refs {
		switch key := keyOf(ref); {
		case h.numbered[key] != nil || slices.Contains(keys, key):
		case h.parent.Key() == key:
			if err := h.open(h.parent); err != nil {
				return err
			}
		default:
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	items, err := getItems(ctx, h.log, keys)
	if err != nil {
		return err
	}
	for _, item := range items {
		if err := h.open(item); err != nil {
			return err
		}
	}
	return nil
}

// getItems returns the items with the keys, in their order. One that does not exist has no Body, and is
// damaged for its reader.
func getItems(ctx context.Context, log Log, keys []ItemKey) ([]Item, error) {
	found, err := log.Get(ctx, keys...)
	if err != nil {
		return nil, err
	}
	items := make([]Item, len(keys))
	for i, key := range keys {
		items[i] = found[key]
		items[i].Execution, items[i].Seq = key.Execution, key.Seq
	}
	return items, nil
}

// open decodes the values of an item and caches them.
func (h *held) open(item Item) error {
	numbered, err := machine.DecodeValues(item.place(), item.Body)
	if err != nil {
		return decoded(item, err)
	}
	if h.numbered == nil {
		h.numbered = map[ItemKey]func(uint32) (value.Value, bool){}
	}
	h.numbered[item.Key()] = numbered
	return nil
}
