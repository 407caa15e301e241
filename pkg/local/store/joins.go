package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"sync"
	"time"

	"github.com/waitless/waitless/pkg/engine"
)

var joinForm = form[engine.JoinRecord]{unknown: engine.NewJoinRecord(), decode: engine.DecodeJoinRecord, encode: engine.JoinRecord.Encode}

// waitingJoin is a join or a claim that waits for its turn, and its result.
type waitingJoin struct {
	change func(engine.JoinRecord) engine.JoinRecord
	done   bool
	after  engine.JoinRecord
	err    error
}

// waitingJoins are the joins and claims that wait, by fork.
type waitingJoins struct {
	mu     sync.Mutex
	byFork map[engine.ForkID][]*waitingJoin
}

func (w *waitingJoins) add(fork engine.ForkID, one *waitingJoin) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byFork == nil {
		w.byFork = map[engine.ForkID][]*waitingJoin{}
	}
	w.byFork[fork] = append(w.byFork[fork], one)
}

func (w *waitingJoins) take(fork engine.ForkID) []*waitingJoin {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer delete(w.byFork, fork)
	return w.byFork[fork]
}

// Join implements [engine.Joins]. The lanes of a fork often end together, and each join is durable
// before the next one begins. So the joins that wait for one are made together.
func (s *Keyed) Join(ctx context.Context, fork engine.ForkID, end engine.LaneEnd) (engine.JoinRecord, error) {
	return s.changeJoin(ctx, operation{"join a lane", fork.Log}, fork, func(r engine.JoinRecord) engine.JoinRecord { return r.With(end) })
}

// Claim implements [engine.Joins]. Claims wait for each other as joins do.
func (s *Keyed) Claim(ctx context.Context, fork engine.ForkID, claim engine.ClaimRequest) (engine.JoinRecord, error) {
	return s.changeJoin(ctx, operation{"claim items", fork.Log}, fork, func(r engine.JoinRecord) engine.JoinRecord { return r.WithClaim(claim) })
}

// Report implements [engine.Joins].
func (s *Keyed) Report(ctx context.Context, fork engine.ForkID, report engine.FailureReport) (engine.JoinRecord, error) {
	return s.changeJoin(ctx, operation{"report failed items", fork.Log}, fork, func(r engine.JoinRecord) engine.JoinRecord { return r.WithFailures(report) })
}

// Raise implements [engine.Joins].
func (s *Keyed) Raise(ctx context.Context, fork engine.ForkID, before, after engine.JoinRecord, _ time.Time) error {
	isBefore := false
	_, err := s.changeJoin(ctx, operation{"raise a join record", fork.Log}, fork, func(r engine.JoinRecord) engine.JoinRecord {
		if isBefore = bytes.Equal(r.Encode(), before.Encode()); isBefore {
			r.Cursor, r.Claims, r.Failures = after.Cursor, after.Claims, after.Failures
		}
		return r
	})
	if err == nil && !isBefore {
		err = engine.ErrConflict
	}
	return err
}

// changeJoin changes a join record, together with others that wait to change it.
func (s *Keyed) changeJoin(
	ctx context.Context, op operation, fork engine.ForkID, change func(engine.JoinRecord) engine.JoinRecord,
) (engine.JoinRecord, error) {
	own := &waitingJoin{change: change}
	err := s.do(ctx, op, func() error {
		s.joins.add(fork, own)
		stripe := s.stripeOf(joinKey(fork))
		stripe.Lock()
		defer stripe.Unlock()
		if !own.done {
			s.join(fork, s.joins.take(fork))
		}
		return own.err
	})
	if err != nil {
		return engine.JoinRecord{}, err
	}
	return own.after, nil
}

// join makes joins and claims of a fork in one step. The stripe is held.
func (s *Keyed) join(fork engine.ForkID, joins []*waitingJoin) {
	key := joinKey(fork)
	record, stored, err := joinForm.find(s, key)
	for _, one := range joins {
		record = one.change(record)
		one.after, one.done = record, true
	}
	if encoded := record.Encode(); err == nil && !bytes.Equal(encoded, stored) {
		err = s.db.Commit(nil, Entry{key, encoded})
	}
	for _, one := range joins {
		one.err = err
	}
}

// Joined implements [engine.Joins].
func (s *Keyed) Joined(ctx context.Context, fork engine.ForkID) (engine.JoinRecord, error) {
	return joinForm.read(ctx, s, "read a join record", joinKey(fork))
}

func joinKey(fork engine.ForkID) []byte {
	return binary.BigEndian.AppendUint64(idKey(keyJoin, fork.Log), uint64(fork.Attempt)) //nolint:gosec // never negative
}
