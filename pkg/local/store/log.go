package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// idSize is the size of an [engine.ID].
const idSize = len(engine.ID{})

// idKey returns a kind's key of an execution.
func idKey(kind byte, id engine.ID) []byte {
	key := make([]byte, 0, 1+idSize+8) // as long as the key of an item
	return append(append(key, kind), id[:]...)
}

func itemKey(id engine.ID, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(idKey(keyItem, id), seq)
}

// encodeItem encodes the fields of an item that its key lacks.
func encodeItem(item engine.Item) []byte {
	value := make([]byte, 0, binary.MaxVarintLen64+len(item.Nonce)+len(item.Body))
	value = binary.AppendUvarint(value, uint64(len(item.Nonce)))
	value = append(value, item.Nonce...)
	return append(value, item.Body...)
}

// decodeItem reads an item. Its body shares memory with value.
func decodeItem(key, value []byte) (engine.Item, error) {
	length, size := binary.Uvarint(value)
	if len(key) != 1+idSize+8 || size <= 0 || length > uint64(len(value)-size) { //nolint:gosec // never negative
		return engine.Item{}, damaged("a log item")
	}
	return engine.Item{
		Execution: engine.ID(key[1:]), Seq: binary.BigEndian.Uint64(key[1+idSize:]),
		Nonce: string(value[size:][:length]), Body: value[size:][length:],
	}, nil
}

// Latest implements [engine.Log].
func (s *Keyed) Latest(ctx context.Context, execution engine.ID) (engine.Item, error) {
	return read(ctx, s, operation{"read the log", execution}, func() (engine.Item, error) {
		stripe := s.stripeOf(execution[:])
		stripe.RLock()
		defer stripe.RUnlock()
		item, err := s.latest(stripe, execution)
		item.Body, item.Rest = bytes.Clone(item.Body), 0
		return item, err
	})
}

// latest returns the last item, which shares its body with the stripe. The stripe is held.
func (s *Keyed) latest(stripe *stripe, execution engine.ID) (engine.Item, error) {
	if i := stripe.find(execution); i >= 0 {
		return stripe.latest[i], nil
	}
	last, err := s.db.Last(logOf(execution, 0))
	switch {
	case err != nil:
		return engine.Item{}, err
	case last[0].Key == nil:
		return engine.Item{}, engine.ErrNotFound
	}
	return decodeItem(last[0].Key, last[0].Value)
}

// logOf returns the range of an execution's items from a number on.
func logOf(id engine.ID, from uint64) Range { return Range{itemKey(id, from), itemKey(id, 1<<64-1)} }

// Extend implements [engine.Log]. A store on one machine removes an execution by its state, not by
// its items.
func (*Keyed) Extend(context.Context, time.Time, ...engine.ItemKey) error { return nil }

// Append implements [engine.Log].
func (s *Keyed) Append(ctx context.Context, item engine.Item) error {
	return s.do(ctx, operation{"append to the log", item.Execution}, func() error {
		stripe := s.stripeOf(item.Execution[:])
		stripe.Lock()
		defer stripe.Unlock()
		head, err := machine.StatusOf(item.Body)
		if err := s.checkNext(stripe, item); err != nil {
			return err
		}
		value := encodeItem(item)
		var rest machine.Rest // of the last item, 0 if it is not known
		if i := stripe.find(item.Execution); i >= 0 {
			rest = stripe.latest[i].Rest
		}
		changes := s.itemChanges(item, value, head, err == nil && head.Status.Final(), rest)
		if err := s.db.Commit(nil, changes...); err != nil {
			return err
		}
		s.noteRunning(changes)
		item.Body = value[len(value)-len(item.Body):] // a copy
		stripe.keep(item, latestSize/len(s.stripes))
		return nil
	})
}

// checkNext returns an error unless the item is the next one of its log. The stripe is held.
func (s *Keyed) checkNext(stripe *stripe, item engine.Item) error {
	if i := stripe.find(item.Execution); i >= 0 && stripe.latest[i].Seq+1 == item.Seq {
		return nil
	}
	key := itemKey(item.Execution, item.Seq)
	value, exists, err := s.db.Get(key)
	if err != nil {
		return err
	}
	if exists {
		there, err := decodeItem(key, value)
		if err != nil {
			return err
		}
		return &engine.ConflictError{Nonce: there.Nonce}
	}
	if item.Seq == 0 { // the log is empty, since logs have no gaps
		return nil
	}
	latest, err := s.latest(stripe, item.Execution)
	switch size := latest.Seq + 1; {
	case errors.Is(err, engine.ErrNotFound):
		return gapError(item, 0)
	case err == nil && size != item.Seq:
		return gapError(item, size)
	}
	return err
}

func gapError(item engine.Item, size uint64) error {
	return fmt.Errorf("item %d would leave a gap after %d items", item.Seq, size)
}

// itemChanges returns the changes that add the item to its log and update the indexes. rest is the
// current value of the execution's list entry.
func (s *Keyed) itemChanges(item engine.Item, value []byte, head machine.Head, isFinal bool, rest machine.Rest) []Entry {
	changes := append(make([]Entry, 0, 4), Entry{itemKey(item.Execution, item.Seq), value})
	switch {
	case head.Lane: // its execution is listed
		return changes
	case isFinal:
		changes = append(changes, Entry{endedKey(endOf(item)), []byte{}})
		if head.Notified {
			changes = append(changes, untold(item.Execution))
		}
	case item.Seq > 0 && item.Rest == rest:
		return changes
	case item.Seq > 0:
		return append(changes, s.runningEntry(item))
	}
	changes = append(changes, descendantChanges(item, isFinal)...)
	return append(changes, listChanges(item, s.headOf(item), isFinal)...)
}

// Items implements [engine.Log].
func (s *Keyed) Items(ctx context.Context, execution engine.ID, from uint64, limit int) ([]engine.Item, error) {
	return read(ctx, s, operation{"read the log", execution}, func() (items []engine.Item, err error) {
		stripe := s.stripeOf(execution[:])
		stripe.RLock()
		defer stripe.RUnlock()
		for key, stored := range s.db.Entries(logOf(execution, from), &err) {
			if len(items) == limit {
				break
			}
			item, err := decodeItem(key, bytes.Clone(stored))
			if err != nil {
				return nil, err
			}
			items = append(items, item)
		}
		return items, err
	})
}

// Get implements [engine.Log].
func (s *Keyed) Get(ctx context.Context, keys ...engine.ItemKey) (map[engine.ItemKey]engine.Item, error) {
	return read(ctx, s, operation{name: "read items of executions"}, func() (map[engine.ItemKey]engine.Item, error) {
		found := make(map[engine.ItemKey]engine.Item, len(keys))
		for _, key := range keys {
			item, ok, err := s.get(key)
			if err != nil {
				return nil, err
			}
			if ok {
				found[key] = item
			}
		}
		return found, nil
	})
}

// get returns an item. ok is false if it does not exist.
func (s *Keyed) get(key engine.ItemKey) (item engine.Item, ok bool, err error) {
	stripe := s.stripeOf(key.Execution[:])
	stripe.RLock()
	defer stripe.RUnlock()
	stored := itemKey(key.Execution, key.Seq)
	value, ok, err := s.db.Get(stored)
	if err != nil || !ok {
		return engine.Item{}, false, err
	}
	item, err = decodeItem(stored, value)
	return item, true, err
}
