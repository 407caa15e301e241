package store

import (
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/token"
)

// stepwise is a database that calls functions between the steps of its commits. The changes are
// there before they are durable.
type stepwise struct {
	*memory
	begins, endures func()
}

func (s *stepwise) Commit(begun func(), changes ...Entry) error {
	s.begins()
	err := s.memory.Commit(begun, changes...)
	s.endures()
	return err
}

func useStepwise(t *testing.T) (*stepwise, *Keyed) {
	t.Helper()
	nothing := func() {}
	db, store := &stepwise{newMemory(), nothing, nothing}, &Keyed{}
	if err := store.Use(db); err != nil {
		t.Fatal(err)
	}
	return db, store
}

// A worker sees an outcome when its commit has begun, so that no commit of the worker is durable
// without it, and not before.
func TestAnOutcomeIsSeenWhenItsCommitHasBegun(t *testing.T) {
	t.Parallel()
	db, store := useStepwise(t)
	var order []string
	note := func(step string) func() {
		return func() {
			if record, err := store.RecordEarly(t.Context(), "handle"); step == "applied" && (err != nil || record.Open()) {
				t.Errorf("a worker sees %+v, error %v", record, err)
			}
			order = append(order, step)
		}
	}
	db.begins, db.endures = func() { order = append(order, "begun") }, func() { order = append(order, "durable") }
	closing := token.CloseOp{Outcome: token.Failure("No", ""), By: token.ClosedByHand}
	if _, err := store.CloseEarly(t.Context(), "handle", closing, note("applied")); err != nil {
		t.Fatal(err)
	}
	if want := []string{"begun", "applied", "durable"}; !slices.Equal(order, want) {
		t.Errorf("the order is %v, want %v", order, want)
	}
}

// No reader sees an item that a crash could undo, also the first one.
func TestNoItemIsReadBeforeItIsDurable(t *testing.T) {
	t.Parallel()
	for _, seq := range []uint64{0, 1} {
		db, store := useStepwise(t)
		id := engine.NewID("flow", "one")
		if seq > 0 {
			if err := store.Append(t.Context(), engine.Item{Execution: id}); err != nil {
				t.Fatal(err)
			}
		}
		var durable, ended atomic.Bool
		read := make(chan struct{})
		db.endures = func() {
			reading := make(chan struct{})
			go func() {
				defer close(read)
				close(reading)
				item, err := store.Latest(t.Context(), id)
				ended.Store(true)
				if err != nil || item.Seq == seq && !durable.Load() {
					t.Errorf("it reads item %d before that is durable, error %v", item.Seq, err)
				}
			}()
			<-reading
			const turns = 10_000 // in which the reader would return if it did not wait
			for range turns {
				if ended.Load() {
					break
				}
				runtime.Gosched()
			}
			durable.Store(true)
		}
		if err := store.Append(t.Context(), engine.Item{Execution: id, Seq: seq}); err != nil {
			t.Fatal(err)
		}
		<-read
	}
}
