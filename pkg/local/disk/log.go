package disk

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/machine"
)

// idSize is the size of an [engine.ID].
const idSize = len(engine.ID{})

// logKey returns the prefix of the keys of an execution's items.
func logKey(id engine.ID) []byte {
	key := make([]byte, 0, 1+idSize+8)
	key = append(key, keyItem)
	return append(key, id[:]...)
}

func itemKey(id engine.ID, seq uint64) []byte { return binary.BigEndian.AppendUint64(logKey(id), seq) }

func unfinishedKey(id engine.ID) []byte { return append([]byte{keyUnfinished}, id[:]...) }

// encodeItem encodes what the key of an item lacks.
func encodeItem(item engine.Item) []byte {
	value := make([]byte, 0, binary.MaxVarintLen64+len(item.Nonce)+len(item.Body))
	value = binary.AppendUvarint(value, uint64(len(item.Nonce)))
	value = append(value, item.Nonce...)
	return append(value, item.Body...)
}

var errDamagedItem = errors.New("a log item is damaged; restore a copy of the store's directory")

// decodeItem reads an item. The result shares no memory with value.
func decodeItem(key, value []byte) (engine.Item, error) {
	length, size := binary.Uvarint(value)
	if len(key) != 1+idSize+8 || size <= 0 || length > uint64(len(value)-size) { //nolint:gosec // never negative
		return engine.Item{}, errDamagedItem
	}
	nonce, body := value[size:][:length], value[size:][length:]
	return engine.Item{
		Execution: engine.ID(key[1:]), Seq: binary.BigEndian.Uint64(key[1+idSize:]),
		Nonce: string(nonce), Body: bytes.Clone(body),
	}, nil
}

// Latest implements [engine.Log].
func (s *Store) Latest(ctx context.Context, execution engine.ID) (engine.Item, error) {
	return read(ctx, s, operation{"read the log", execution}, func() (engine.Item, error) {
		stripe := s.stripeOf(execution)
		stripe.RLock()
		defer stripe.RUnlock()
		item, err := s.latest(stripe, execution)
		item.Body = bytes.Clone(item.Body)
		return item, err
	})
}

// latest returns the last item, whose body is shared with the stripe. The stripe is held.
func (s *Store) latest(stripe *stripe, execution engine.ID) (engine.Item, error) {
	if stripe.latest.Execution == execution && stripe.latest.Body != nil {
		return stripe.latest, nil
	}
	items, err := s.db.NewIter(nil)
	if err != nil {
		return engine.Item{}, explain(err)
	}
	item, err := lastItem(items, execution)
	return item, errors.Join(err, items.Close())
}

// lastItem finds the item with the highest number.
func lastItem(items *pebble.Iterator, execution engine.ID) (engine.Item, error) {
	prefix := logKey(execution)
	if !items.SeekLT(itemKey(execution, 1<<64-1)) || !bytes.HasPrefix(items.Key(), prefix) {
		if err := items.Error(); err != nil {
			return engine.Item{}, explain(err)
		}
		return engine.Item{}, engine.ErrNotFound
	}
	value, err := items.ValueAndErr()
	if err != nil {
		return engine.Item{}, explain(err)
	}
	return decodeItem(items.Key(), value)
}

// Append implements [engine.Log].
func (s *Store) Append(ctx context.Context, item engine.Item) error {
	return s.do(ctx, operation{"append to the log", item.Execution}, func() error {
		stripe := s.stripeOf(item.Execution)
		stripe.Lock()
		defer stripe.Unlock()
		if err := s.checkNext(stripe, item); err != nil {
			return err
		}
		value := encodeItem(item)
		if err := s.commits.commit(s.itemChanges(item, value)...); err != nil {
			return err
		}
		item.Body = value[len(value)-len(item.Body):] // a copy
		stripe.latest = item
		return nil
	})
}

// checkNext returns an error unless the item is the next one of its log. The stripe is held.
func (s *Store) checkNext(stripe *stripe, item engine.Item) error {
	if known := stripe.latest; known.Body != nil && known.Execution == item.Execution && known.Seq+1 == item.Seq {
		return nil
	}
	value, exists, err := s.get(itemKey(item.Execution, item.Seq))
	if err != nil {
		return err
	}
	if exists {
		there, err := decodeItem(itemKey(item.Execution, item.Seq), value)
		if err != nil {
			return err
		}
		return &engine.ConflictError{Nonce: there.Nonce}
	}
	if item.Seq == 0 { // the log is empty, since logs have no gaps
		return nil
	}
	latest, err := s.latest(stripe, item.Execution)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return local.GapError(item, 0)
	case err != nil:
		return err
	case latest.Seq+1 != item.Seq:
		return local.GapError(item, latest.Seq+1)
	}
	return nil
}

// itemChanges returns the changes that add the item to its log and update the indexes.
func (s *Store) itemChanges(item engine.Item, value []byte) []change {
	changes := append(make([]change, 0, 3), change{itemKey(item.Execution, item.Seq), value})
	status, err := machine.StatusOf(item.Body)
	switch {
	case err == nil && status.Final():
		changes = append(changes, change{unfinishedKey(item.Execution), nil})
	case item.Seq == 0:
		changes = append(changes, change{unfinishedKey(item.Execution), []byte{}})
		if err != nil { // the list could show nothing of it
			return changes
		}
	default:
		return changes
	}
	return append(changes, entryOf(item.Execution, s.headOf(item)))
}

// Items implements [engine.Log].
func (s *Store) Items(ctx context.Context, execution engine.ID, from uint64, limit int) ([]engine.Item, error) {
	return read(ctx, s, operation{"read the log", execution}, func() (items []engine.Item, err error) {
		stripe := s.stripeOf(execution)
		stripe.RLock()
		defer stripe.RUnlock()
		for key, stored := range s.entries(itemKey(execution, from), itemKey(execution, 1<<64-1), &err) {
			if len(items) == limit {
				break
			}
			item, err := decodeItem(key, stored)
			if err != nil {
				return nil, err
			}
			items = append(items, item)
		}
		return items, err
	})
}

// Unfinished returns the latest items of executions that have not ended, in the order of their ids:
// at most limit of them, from those behind the id after on. Call it before anything is written.
func (s *Store) Unfinished(ctx context.Context, after engine.ID, limit int) ([]engine.Item, error) {
	return read(ctx, s, operation{name: "look for unfinished executions"}, func() ([]engine.Item, error) { return s.unfinished(after, limit) })
}

func (s *Store) unfinished(after engine.ID, limit int) (latest []engine.Item, err error) {
	items, err := s.db.NewIter(nil)
	if err != nil {
		return nil, explain(err)
	}
	_, upper := prefix(keyUnfinished)
	for key := range s.entries(append(unfinishedKey(after), 0), upper, &err) {
		if len(latest) == limit {
			break
		}
		var item engine.Item
		if item, err = lastItem(items, engine.ID(key[1:])); err != nil {
			break
		}
		latest = append(latest, item)
	}
	return latest, errors.Join(err, items.Close())
}
