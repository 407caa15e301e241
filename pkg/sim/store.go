package sim

import (
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/token"
)

// store keeps the log of the execution and what is known of tokens.
type store struct {
	items   []engine.Item
	records map[string][]byte // by handle, encoded so that nobody shares them
}

func (s *store) latest() (engine.Item, error) {
	if len(s.items) == 0 {
		return engine.Item{}, engine.ErrNotFound
	}
	return s.items[len(s.items)-1], nil
}

func (s *store) append(item engine.Item) error {
	size := uint64(len(s.items))
	switch {
	case item.Seq < size:
		return &engine.ConflictError{Nonce: s.items[item.Seq].Nonce}
	case item.Seq > size:
		return errGap
	}
	s.items = append(s.items, item)
	return nil
}

func (s *store) from(seq uint64, limit int) []engine.Item {
	items := s.items[min(seq, uint64(len(s.items))):]
	return items[:min(limit, len(items))]
}

// record changes what is known of a token in one step and answers it.
func (s *store) record(handle string, change func(token.Record) token.Record) (token.Record, error) {
	var r token.Record
	if stored, ok := s.records[handle]; ok {
		var err error
		if r, err = token.DecodeRecord(stored); err != nil {
			return r, err
		}
	}
	r = change(r)
	s.records[handle] = r.Encode()
	return r, nil
}

func unchanged(r token.Record) token.Record { return r }

func beat(at time.Time) func(token.Record) token.Record {
	return func(r token.Record) token.Record { return r.Beat(at) }
}
