package local

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// startedSize is the size of a key of the list of executions.
const startedSize = 1 + 8 + idSize

// entryOf returns the list entry of an execution with this head. Keys are in the order of the list: the
// latest start first, then the smallest id.
func entryOf(execution engine.ID, head machine.Head) Entry {
	key := binary.BigEndian.AppendUint64([]byte{keyStarted}, ^(uint64(head.Started.UnixNano()) ^ 1<<63))
	var e value.Encoder
	status := head.Status
	if !status.Final() {
		status = machine.StatusRunning
	}
	e.Text(head.Flow.Name)
	e.Text(string(status))
	return Entry{append(key, execution[:]...), e.Bytes()}
}

// headOf returns the head of an item. An item that ends a damaged execution may lack the start; the
// head then has that of the first item, if it can be read.
func (s *KeyedStore) headOf(item engine.Item) machine.Head {
	head, err := machine.HeadOf(item.Body)
	if err == nil && !head.Started.IsZero() {
		return head
	}
	key := itemKey(item.Execution, 0)
	if value, ok, err := s.db.Get(key); err == nil && ok {
		if first, err := decodeItem(key, value); err == nil {
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
// those in between that have another flow or status. A page token is the last key of the page.
func (s *KeyedStore) Executions(
	ctx context.Context, flow string, status machine.Status, after string, limit int,
) (ids []engine.ID, next string, err error) {
	lower := []byte{keyStarted}
	if after != "" {
		last, err := hex.DecodeString(after)
		if err != nil || len(last) != startedSize-1 {
			err := fmt.Errorf("invalid page token %q: use next of the previous page", after)
			return nil, "", &engine.Error{Code: engine.CodeInvalid, Op: "list executions", Err: err}
		}
		lower = append(append(lower, last...), 0)
	}
	err = s.do(ctx, operation{name: "list executions"}, func() (err error) {
		var last []byte
		ofFlow, inStatus := encodedText(flow), encodedText(string(status)) // an entry is the one, then the other
		for key, entry := range s.db.Entries(Range{lower, []byte{keyStarted + 1}}, &err) {
			if (flow != "" && !bytes.HasPrefix(entry, ofFlow)) || (status != "" && !bytes.HasSuffix(entry, inStatus)) {
				continue
			}
			if len(ids) == limit {
				next = hex.EncodeToString(last[1:])
				break
			}
			if len(key) != startedSize {
				return damaged("the list of executions")
			}
			last = append(last[:0], key...)
			ids = append(ids, engine.ID(key[1+8:]))
		}
		return err
	})
	if err != nil {
		return nil, "", err
	}
	return ids, next, nil
}

func encodedText(text string) []byte {
	var e value.Encoder
	e.Text(text)
	return e.Bytes()
}
