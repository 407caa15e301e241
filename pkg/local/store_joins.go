package local

import (
	"context"
	"encoding/binary"

	"github.com/waitless/waitless/pkg/engine"
)

var joinForm = form[engine.JoinRecord]{unknown: engine.NewJoinRecord(), decode: engine.DecodeJoinRecord, encode: engine.JoinRecord.Encode}

// Join implements [engine.Joins].
func (s *KeyedStore) Join(ctx context.Context, fork engine.ForkID, end engine.LaneEnd) (engine.JoinRecord, error) {
	return joinForm.change(ctx, s, "join a lane", joinKey(fork), func(r engine.JoinRecord) engine.JoinRecord { return r.With(end) })
}

// Joined implements [engine.Joins].
func (s *KeyedStore) Joined(ctx context.Context, fork engine.ForkID) (engine.JoinRecord, error) {
	return joinForm.read(ctx, s, "read a join record", joinKey(fork))
}

func joinKey(fork engine.ForkID) []byte {
	return binary.BigEndian.AppendUint64(idKey(keyJoin, fork.Log), uint64(fork.Attempt)) //nolint:gosec // never negative
}
