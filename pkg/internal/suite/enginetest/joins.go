package enginetest

import (
	"context"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
)

// Joins is the suite of [engine.Joins]. Each case gets an empty store.
func Joins(t *testing.T, open func(t *testing.T) engine.Joins) {
	t.Helper()
	runCases(t, open, []testCase[engine.Joins]{
		{"a fork of which no lane has ended", joinsNone},
		{"each join returns all lanes so far", joinsAll},
		{"the same join twice changes nothing", joinsAgain},
		{"the first lane that failed stays", joinsFailed},
		{"forks have records of their own", joinsForks},
		{"100 lanes at once: one of them is told of all", joinsRace},
		{"a cancelled context is an error and changes nothing", joinsCancelled},
	})
}

var fork = engine.ForkID{Log: engine.NewID("flow", "forked"), Attempt: 3}

func ended(lane int, seq uint64, failed bool) engine.LaneEnd {
	return engine.LaneEnd{Lane: lane, Seq: seq, Failed: failed, Expires: epoch.Add(time.Hour)}
}

func join(t *testing.T, joins engine.Joins, fork engine.ForkID, end engine.LaneEnd) engine.JoinRecord {
	t.Helper()
	record, err := joins.Join(t.Context(), fork, end)
	if err != nil {
		t.Fatalf("lane %d joins: %v", end.Lane, err)
	}
	return record
}

func wantJoined(t *testing.T, joins engine.Joins, fork engine.ForkID, failed int, joined map[int]uint64) {
	t.Helper()
	got, err := joins.Joined(t.Context(), fork)
	if err != nil || got.Failed != failed || !maps.Equal(got.Joined, joined) {
		t.Errorf("the record is %+v, error %v; want %v, failed %d", got, err, joined, failed)
	}
}

func joinsNone(c on[engine.Joins]) { wantJoined(c.t, c.it, fork, engine.NoLane, nil) }

func joinsAll(c on[engine.Joins]) {
	want := map[int]uint64{}
	for lane, seq := range []uint64{7, 0, 4999, 123_456_789} {
		want[lane] = seq
		if got := join(c.t, c.it, fork, ended(lane, seq, false)); got.Failed != engine.NoLane || !maps.Equal(got.Joined, want) {
			c.t.Errorf("lane %d is told %+v, want %v", lane, got, want)
		}
	}
	wantJoined(c.t, c.it, fork, engine.NoLane, want)
}

func joinsAgain(c on[engine.Joins]) {
	for range 3 { // as after a lost answer
		join(c.t, c.it, fork, ended(1, 5, true))
	}
	wantJoined(c.t, c.it, fork, 1, map[int]uint64{1: 5})
}

func joinsFailed(c on[engine.Joins]) {
	for _, end := range []engine.LaneEnd{ended(0, 1, false), ended(2, 3, true), ended(1, 2, true), ended(2, 3, true), ended(0, 1, false)} {
		join(c.t, c.it, fork, end)
	}
	wantJoined(c.t, c.it, fork, 2, map[int]uint64{0: 1, 1: 2, 2: 3})
}

func joinsForks(c on[engine.Joins]) {
	later, elsewhere := fork, fork
	later.Attempt = 300
	elsewhere.Log = engine.NewID("flow", "another")
	join(c.t, c.it, fork, ended(0, 1, true))
	join(c.t, c.it, later, ended(1, 2, false))
	wantJoined(c.t, c.it, fork, 0, map[int]uint64{0: 1})
	wantJoined(c.t, c.it, later, engine.NoLane, map[int]uint64{1: 2})
	wantJoined(c.t, c.it, elsewhere, engine.NoLane, nil)
}

func joinsRace(c on[engine.Joins]) {
	const lanes = 100
	told := make([]engine.JoinRecord, lanes)
	var joining sync.WaitGroup
	for lane := range told {
		joining.Go(func() { told[lane] = join(c.t, c.it, fork, ended(lane, 7, lane%2 == 1)) })
	}
	joining.Wait()
	full, failed := 0, engine.NoLane
	for lane, record := range told {
		if _, ok := record.Joined[lane]; !ok {
			c.t.Errorf("lane %d is not in its record", lane)
		}
		if len(record.Joined) == lanes {
			full++
			failed = record.Failed
		}
	}
	if full != 1 || failed == engine.NoLane {
		c.t.Errorf("%d lanes are told of all, the failed one is %d", full, failed)
	}
	for lane, record := range told {
		if record.Failed != engine.NoLane && record.Failed != failed {
			c.t.Errorf("lane %d is told that lane %d failed first, and the last one that lane %d did", lane, record.Failed, failed)
		}
	}
}

func joinsCancelled(c on[engine.Joins]) {
	ctx, cancel := context.WithCancel(c.t.Context())
	cancel()
	if _, err := c.it.Join(ctx, fork, ended(0, 1, true)); err == nil {
		c.t.Error("a join with a cancelled context is stored")
	}
	if _, err := c.it.Joined(ctx, fork); err == nil {
		c.t.Error("a record is read with a cancelled context")
	}
	wantJoined(c.t, c.it, fork, engine.NoLane, nil)
}
