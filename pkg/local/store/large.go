package store

import (
	"bytes"
	"context"
	"time"

	"github.com/waitless/waitless/pkg/engine"
)

// StoreValue implements [engine.LargeValues].
func (s *Keyed) StoreValue(ctx context.Context, name string, data []byte, _ time.Time) error {
	return s.do(ctx, operation{name: "store large value " + name}, func() error {
		return s.db.Commit(nil, Entry{largeKey(name), bytes.Clone(data)})
	})
}

// LoadValue implements [engine.LargeValues].
func (s *Keyed) LoadValue(ctx context.Context, name string) ([]byte, error) {
	return read(ctx, s, operation{name: "read large value " + name}, func() ([]byte, error) {
		data, ok, err := s.db.Get(largeKey(name))
		if err == nil && !ok {
			err = engine.ErrNotFound
		}
		return data, err
	})
}

func largeKey(name string) []byte { return append([]byte{keyLarge}, name...) }
