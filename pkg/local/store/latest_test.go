package store_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
)

// lookUps counts reads of single keys and of last entries.
type lookUps struct {
	store.Database
	count atomic.Int64
}

func (l *lookUps) Get(key []byte) ([]byte, bool, error) {
	l.count.Add(1)
	return l.Database.Get(key)
}

func (l *lookUps) Last(ranges ...store.Range) ([]store.Entry, error) {
	l.count.Add(int64(len(ranges)))
	return l.Database.Last(ranges...)
}

// With 20,000 open executions the latest item of each is in memory, so a wake reads nothing. What
// is beyond the limit is read from the log.
func TestLatestItemsOfOpenExecutionsAreInMemory(t *testing.T) {
	t.Parallel()
	const executions, large = 20_000, 200
	db, s := &lookUps{Database: store.NewDatabase()}, &store.Keyed{}
	if err := s.Use(db); err != nil {
		t.Fatal(err)
	}
	for n := range executions {
		appendStarted(t, s, "flow", fmt.Sprintf("run-%d", n), machine.StatusRunning, time.Duration(n)*time.Second)
	}
	read := func() int64 {
		before := db.count.Load()
		for n := range executions {
			id := engine.NewID("flow", fmt.Sprintf("run-%d", n))
			if item, err := s.Latest(t.Context(), id); err != nil || item.Execution != id {
				t.Fatalf("item of %s, %v; want that of %s", item.Execution, err, id)
			}
		}
		return db.count.Load() - before
	}
	if reads := read(); reads != 0 {
		t.Errorf("%d reads for the latest items of %d open executions, want 0", reads, executions)
	}
	for n := range large {
		id := engine.NewID("large", fmt.Sprintf("run-%d", n))
		if err := s.Append(t.Context(), engine.Item{Execution: id, Body: make([]byte, 390<<10)}); err != nil {
			t.Fatal(err)
		}
	}
	if reads := read(); reads == 0 || reads > executions/10 {
		t.Errorf("%d reads after %d large items; want some, since the memory has a limit", reads, large)
	}
}
