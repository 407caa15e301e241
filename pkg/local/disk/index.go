package disk

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// startedKey returns the key of an execution's entry in the list. Keys are in the order of the list: the
// latest start first, then the smallest id.
func startedKey(p local.Place) []byte {
	key := binary.BigEndian.AppendUint64([]byte{keyStarted}, ^(uint64(p.Started.UnixNano()) ^ 1<<63))
	return append(key, p.ID[:]...)
}

// placeOf reads what startedKey wrote.
func placeOf(key []byte) (local.Place, error) {
	if len(key) != 1+8+idSize {
		return local.Place{}, damagedStore(errors.New("an entry of the list of executions cannot be read"))
	}
	nanoseconds := int64(^binary.BigEndian.Uint64(key[1:]) ^ 1<<63) //nolint:gosec // as above
	return local.Place{Started: time.Unix(0, nanoseconds), ID: engine.ID(key[1+8:])}, nil
}

// entryOf returns the list entry of an execution with this head.
func entryOf(execution engine.ID, head machine.Head) change {
	var e value.Encoder
	status := head.Status
	if !status.Final() {
		status = machine.StatusRunning
	}
	e.Text(head.Flow.Name)
	e.Text(string(status))
	return change{startedKey(local.Place{Started: head.Started, ID: execution}), e.Bytes()}
}

// headOf returns the head of an item. An item that ends a damaged execution may lack the start; the
// head then has that of the first item, if it can be read.
func (s *Store) headOf(item engine.Item) machine.Head {
	head, err := machine.HeadOf(item.Body)
	if err == nil && !head.Started.IsZero() {
		return head
	}
	if value, ok, err := s.get(itemKey(item.Execution, 0)); err == nil && ok {
		if first, err := decodeItem(itemKey(item.Execution, 0), value); err == nil {
			known, _ := machine.HeadOf(first.Body)
			head.Started, head.Flow = known.Started, known.Flow
		}
	}
	if head.Started.IsZero() {
		head.Started = time.Unix(0, 0)
	}
	return head
}

// Executions implements the index of the management API. It reads the entries of the page, and
// those in between that have another flow or status.
func (s *Store) Executions(
	ctx context.Context, flow string, status machine.Status, after string, limit int,
) (ids []engine.ID, next string, err error) {
	lower, upper := prefix(keyStarted)
	if after != "" {
		last, err := local.ParsePlace(after)
		if err != nil {
			return nil, "", err
		}
		lower = append(startedKey(last), 0)
	}
	err = s.do(ctx, operation{name: "list executions"}, func() (err error) {
		var last local.Place
		for key, entry := range s.entries(lower, upper, &err) {
			d := value.NewDecoder(entry)
			if name, found := d.Text(), machine.Status(d.Text()); (flow != "" && name != flow) || (status != "" && found != status) {
				continue
			}
			if len(ids) == limit {
				next = last.String()
				break
			}
			if last, err = placeOf(key); err != nil {
				break
			}
			ids = append(ids, last.ID)
		}
		return err
	})
	if err != nil {
		return nil, "", err
	}
	return ids, next, nil
}
