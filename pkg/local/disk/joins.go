package disk

import (
	"context"
	"encoding/binary"

	"github.com/waitless/waitless/pkg/engine"
)

// Join implements [engine.Joins].
func (s *Store) Join(ctx context.Context, fork engine.ForkID, end engine.LaneEnd) (record engine.JoinRecord, err error) {
	key := joinKey(fork)
	err = s.step(ctx, "join a lane", string(key), func() ([]change, error) {
		before, err := s.joined(key)
		if err != nil {
			return nil, err
		}
		record = before.With(end)
		return []change{{key, record.Encode()}}, nil
	})
	return record, err
}

// Joined implements [engine.Joins].
func (s *Store) Joined(ctx context.Context, fork engine.ForkID) (engine.JoinRecord, error) {
	return read(ctx, s, operation{name: "read a join record"}, func() (engine.JoinRecord, error) {
		key := joinKey(fork)
		stripe := s.stripeOfHandle(string(key))
		stripe.RLock()
		defer stripe.RUnlock()
		return s.joined(key)
	})
}

func (s *Store) joined(key []byte) (engine.JoinRecord, error) {
	stored, ok, err := s.get(key)
	if err != nil || !ok {
		return engine.NewJoinRecord(), err
	}
	return engine.DecodeJoinRecord(stored)
}

func joinKey(fork engine.ForkID) []byte {
	return binary.BigEndian.AppendUint64(append([]byte{keyJoin}, fork.Log[:]...), uint64(fork.Attempt)) //nolint:gosec // never negative
}
