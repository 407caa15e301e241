package engine

import (
	"context"
	"errors"
	"hash/maphash"
	"slices"
	"sync"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

func (i Item) origin() value.Origin { return machine.ItemOrigin(i.Execution, i.Seq) }

// State decodes the state in the item.
func (i Item) State() (machine.State, error) { return machine.DecodeState(i.origin(), i.Body) }

// decodeState returns the state in an item. Its error has a code.
func decodeState(item Item) (machine.State, error) {
	state, err := item.State()
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

// decodedItems keeps items that were decoded. The lanes of a foreach, and each of its iterations,
// read the item of their parent that has the collection, or the part of large values. Its decoded
// form is many times as large as the item, so the workers of a process share it.
type decodedItems struct {
	cache cache[any, any] // func() decodedItem by contentKey, *sharedPart by partRef
	seed  maphash.Seed
}

// contentKey names the content of an item. An item of an execution that has expired may have had
// the same number.
type contentKey struct {
	item    ItemKey
	content uint64 // the hash
}

// decodedItem is an item that was decoded. Nothing changes it.
type decodedItem struct {
	state    machine.State
	numbered func(uint32) (value.Value, bool) // its values
	err      error
}

const (
	// maxDecoded is how many bytes of memory decoded items may have.
	maxDecoded = 16 << 20
	// decodedFactor is how many bytes a byte of an item has when it is decoded: 58 for a list of
	// small numbers.
	decodedFactor = 58
)

// decodedSize estimates the bytes of memory of a decoded item or part. The factor is far too high
// for most values, so no estimate takes all: the collection of a foreach stays beside the items of
// its lanes. Each of them would decode a copy of its own otherwise. Two such collections do not
// stay.
func decodedSize(encoded int) int {
	const most = maxDecoded / 3 * 2
	return min(encoded*decodedFactor, most)
}

func newDecodedItems() *decodedItems { return &decodedItems{seed: maphash.MakeSeed()} }

// decode decodes an item, once for all that read it at the same time. Without a cache it decodes.
func (d *decodedItems) decode(item Item) decodedItem {
	decode := func() decodedItem {
		state, numbered, err := machine.DecodeValues(item.origin(), item.Body)
		return decodedItem{state, numbered, decoded(item, err)}
	}
	if d == nil {
		return decode()
	}
	key := contentKey{item.Key(), maphash.Bytes(d.seed, item.Body)}
	once := d.cache.getOrPut(key, decodedSize(len(item.Body)), maxDecoded, func() any { return sync.OnceValue(decode) })
	return once.(func() decodedItem)() //nolint:forcetypeassert // the key says so
}

// unreadPart is the size of a part that was not read yet, or cannot be read.
const unreadPart = 1 << 10

// sharedPart is a part of large values that is read and decoded once for all that use it.
type sharedPart struct {
	mu       sync.Mutex
	numbered func(uint32) (value.Value, bool) // nil before it was read
}

// part returns the values of a part that is kept, or else reads it. Others that use it wait for
// that. An error is not kept. Without a cache it reads.
func (d *decodedItems) part(ref partRef, read func() (func(uint32) (value.Value, bool), int, error)) (func(uint32) (value.Value, bool), error) {
	if d == nil {
		numbered, _, err := read()
		return numbered, err
	}
	part := d.cache.getOrPut(ref, unreadPart, maxDecoded, func() any { return &sharedPart{} }).(*sharedPart) //nolint:forcetypeassert // the key says so
	part.mu.Lock()
	defer part.mu.Unlock()
	if part.numbered == nil {
		numbered, size, err := read()
		if err != nil {
			return nil, err
		}
		part.numbered = numbered
		d.cache.put(ref, part, decodedSize(size), maxDecoded)
	}
	return part.numbered, nil
}

// valueLoader loads the values of an execution that are held by reference. It reads them from the
// items that have them in full, in the log of the execution or of a lane.
type valueLoader struct {
	log      Log
	decoded  *decodedItems // nil does not share
	large    LargeValues
	parts    map[partRef]func(uint32) (value.Value, bool) // those that were read
	written  []value.Part                                 // of the last commit
	loaded   map[value.Ref]value.Value
	numbered map[ItemKey]func(uint32) (value.Value, bool) // the values of items that were read
}

func (c *core) newValueLoader() valueLoader {
	return valueLoader{log: c.Log, decoded: c.decoded, large: c.LargeValues}
}

// fill loads the missing parts of the values, in place.
func (l *valueLoader) fill(ctx context.Context, values ...*value.Value) error {
	for _, v := range values {
		for !v.IsComplete() {
			lookup := value.Lookup{Known: l.loaded}
			whole := lookup.Complete(*v)
			if len(lookup.Load) == 0 {
				*v = whole
				break
			}
			if err := l.load(ctx, lookup.Load); err != nil {
				return err
			}
		}
	}
	return nil
}

// show is fill for a reader. If a part of a value is missing or damaged, a text with the reason
// replaces the value.
func (l *valueLoader) show(ctx context.Context, values ...*value.Value) error {
	for _, v := range values {
		switch err := l.fill(ctx, v); {
		case CodeOf(err) == CodeDefect:
			*v = machine.LeftOut(err.Error())
		case err != nil:
			return err
		}
	}
	return nil
}

// load loads the values of the references. A value that is not where its reference says is a
// defect.
func (l *valueLoader) load(ctx context.Context, refs []value.Ref) error {
	if l.loaded == nil {
		l.loaded = map[value.Ref]value.Value{}
	}
	refs, err := l.loadParts(ctx, refs)
	if err == nil {
		err = l.readItems(ctx, refs)
	}
	if err != nil {
		return err
	}
	for _, ref := range refs {
		key := keyOf(ref)
		v, ok := l.numbered[key](ref.Number)
		if !ok {
			return decoded(Item{Execution: key.Execution, Seq: key.Seq}, machine.ErrDamaged)
		}
		l.loaded[ref] = v
	}
	return nil
}

// keyOf returns the key of the item that has the value in full.
func keyOf(ref value.Ref) ItemKey {
	key := ItemKey{Seq: ref.Seq}
	copy(key.Execution[:], ref.Log)
	return key
}

// readItems reads the items of the references, in one request for all that were not read before.
func (l *valueLoader) readItems(ctx context.Context, refs []value.Ref) error {
	var keys []ItemKey
	for _, ref := range refs {
		if key := keyOf(ref); l.numbered[key] == nil && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	items, err := getItems(ctx, l.log, keys)
	if err != nil {
		return err
	}
	for _, item := range items {
		if _, err := l.open(item); err != nil {
			return err
		}
	}
	return nil
}

// getItems returns the items with the keys, in their order. An item that does not exist has no
// Body, and is damaged for its reader.
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

// open returns the state of an item, and keeps its values at hand.
func (l *valueLoader) open(item Item) (machine.State, error) {
	opened := l.decoded.decode(item)
	if opened.err != nil {
		return machine.State{}, opened.err
	}
	if l.numbered == nil {
		l.numbered = map[ItemKey]func(uint32) (value.Value, bool){}
	}
	l.numbered[item.Key()] = opened.numbered
	return opened.state, nil
}
