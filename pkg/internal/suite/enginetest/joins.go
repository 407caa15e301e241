package enginetest

import (
	"context"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
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
		{"a claim takes the next items, and the answer has the record", joinsClaim},
		{"the same claim twice is the same range", joinsClaimAgain},
		{"a claim is refused after the last item, after a failure, and after a later claim", joinsClaimRefused},
		{"a join removes the claim of its lane, unless the lane retired", joinsClaimJoined},
		{"100 lanes claim at once: each item is the item of one lane", joinsClaimRace},
		{"a record is raised unless it changed", joinsRaise},
		{"a report returns the failed items of all lanes, and their number never becomes lower", joinsReport},
		{"failed items stay after the join of their lane, and are raised", joinsReportStays},
	})
}

func claim(t *testing.T, joins engine.Joins, lane, number, size int) engine.JoinRecord {
	t.Helper()
	request := engine.ClaimRequest{Lane: lane, Number: number, Size: size, First: 10, Items: 20, Expires: epoch.Add(time.Hour)}
	record, err := joins.Claim(t.Context(), fork, request)
	if err != nil {
		t.Fatalf("claim %d of lane %d: %v", number, lane, err)
	}
	return record
}

func claimOf(number, from, to int) engine.Claim {
	return engine.Claim{Number: number, Range: machine.Range{From: from, To: to}}
}

func wantClaims(t *testing.T, record engine.JoinRecord, cursor int, claims map[int]engine.Claim) {
	t.Helper()
	if record.Cursor != cursor || !maps.Equal(record.Claims, claims) {
		t.Errorf("the record is %+v, want cursor %d and claims %v", record, cursor, claims)
	}
}

func joinsClaim(c on[engine.Joins]) {
	wantClaims(c.t, claim(c.t, c.it, 7, 1, 3), 13, map[int]engine.Claim{7: claimOf(1, 10, 13)})
	wantClaims(c.t, claim(c.t, c.it, 99, 1, 1), 14, map[int]engine.Claim{7: claimOf(1, 10, 13), 99: claimOf(1, 13, 14)})
	want := map[int]engine.Claim{7: claimOf(2, 14, 14), 99: claimOf(1, 13, 14)}
	wantClaims(c.t, claim(c.t, c.it, 7, 2, 0), 14, want)
	record, err := c.it.Joined(c.t.Context(), fork)
	if wantClaims(c.t, record, 14, want); err != nil {
		c.t.Error(err)
	}
}

func joinsClaimAgain(c on[engine.Joins]) {
	for _, size := range []int{2, 2, 5} { // as after a lost answer, and by another release
		wantClaims(c.t, claim(c.t, c.it, 3, 1, size), 12, map[int]engine.Claim{3: claimOf(1, 10, 12)})
	}
}

func joinsClaimRefused(c on[engine.Joins]) {
	claim(c.t, c.it, 1, 1, 4)
	claim(c.t, c.it, 1, 2, 4)
	want := map[int]engine.Claim{1: claimOf(2, 14, 18)}
	wantClaims(c.t, claim(c.t, c.it, 1, 1, 1), 18, want)
	want[2] = claimOf(1, 18, 23) // of which the last three do not exist
	wantClaims(c.t, claim(c.t, c.it, 2, 1, 5), 23, want)
	wantClaims(c.t, claim(c.t, c.it, 3, 1, 1), 23, want)
	failed := fork
	failed.Attempt++
	join(c.t, c.it, failed, ended(0, 1, true))
	request := engine.ClaimRequest{Lane: 1, Number: 1, Size: 1, First: 10, Items: 20, Expires: epoch.Add(time.Hour)}
	record, err := c.it.Claim(c.t.Context(), failed, request)
	if err != nil || record.Failed != 0 || record.Cursor != 0 || len(record.Claims) > 0 {
		c.t.Errorf("after a failure the record is %+v, error %v", record, err)
	}
}

func joinsClaimJoined(c on[engine.Joins]) {
	claim(c.t, c.it, 1, 1, 2)
	claim(c.t, c.it, 2, 1, 0)
	join(c.t, c.it, fork, ended(1, 5, false))
	retired := ended(2, 6, false)
	retired.Retired = true
	record := join(c.t, c.it, fork, retired)
	wantClaims(c.t, record, 12, map[int]engine.Claim{2: claimOf(1, 12, 12)})
	wantJoined(c.t, c.it, fork, engine.NoLane, map[int]uint64{1: 5, 2: 6})
}

func joinsClaimRace(c on[engine.Joins]) {
	const lanes = 100
	request := engine.ClaimRequest{Number: 1, Size: 1, First: lanes, Items: 2 * lanes, Expires: epoch.Add(time.Hour)}
	var claiming sync.WaitGroup
	var mu sync.Mutex
	taken := map[int]int{}
	for lane := range lanes {
		claiming.Go(func() {
			request := request
			request.Lane = lane
			record, err := c.it.Claim(c.t.Context(), fork, request)
			mu.Lock()
			defer mu.Unlock()
			if taken[record.Claims[lane].From]++; err != nil {
				c.t.Error(err)
			}
		})
	}
	claiming.Wait()
	for item := lanes; item < 2*lanes; item++ {
		if taken[item] != 1 {
			c.t.Errorf("item %d is the item of %d lanes", item, taken[item])
		}
	}
}

func joinsRaise(c on[engine.Joins]) {
	join(c.t, c.it, fork, ended(5, 1, false))
	before := claim(c.t, c.it, 1, 1, 2)
	after := before
	after.Cursor, after.Claims = 15, map[int]engine.Claim{1: claimOf(2, 12, 14), 2: claimOf(1, 14, 15)}
	raise := func() error { return c.it.Raise(c.t.Context(), fork, before, after, epoch.Add(time.Hour)) }
	if err := raise(); err != nil {
		c.t.Fatal(err)
	}
	record, err := c.it.Joined(c.t.Context(), fork)
	if wantClaims(c.t, record, 15, after.Claims); err != nil {
		c.t.Error(err)
	}
	wantJoined(c.t, c.it, fork, engine.NoLane, map[int]uint64{5: 1})
	if err := raise(); engine.CodeOf(err) != engine.CodeConflict {
		c.t.Errorf("a record that changed is raised: %v", err)
	}
}

// report reports failed items of a lane and checks the record.
func report(t *testing.T, joins engine.Joins, lane, failed int, want map[int]int) {
	t.Helper()
	record, err := joins.Report(t.Context(), fork, engine.FailureReport{Lane: lane, Failed: failed, Expires: epoch.Add(time.Hour)})
	if err != nil || !maps.Equal(record.Failures, want) {
		t.Errorf("after %d of lane %d the failed items are %v, error %v; want %v", failed, lane, record.Failures, err, want)
	}
}

func joinsReport(c on[engine.Joins]) {
	report(c.t, c.it, 7, 1, map[int]int{7: 1})
	report(c.t, c.it, 99, 4, map[int]int{7: 1, 99: 4})
	report(c.t, c.it, 7, 2, map[int]int{7: 2, 99: 4})
	report(c.t, c.it, 7, 1, map[int]int{7: 2, 99: 4}) // as by a worker that was late
	report(c.t, c.it, 7, 2, map[int]int{7: 2, 99: 4}) // as after a lost answer
	wantClaims(c.t, claim(c.t, c.it, 7, 1, 3), 13, map[int]engine.Claim{7: claimOf(1, 10, 13)})
	report(c.t, c.it, 0, 1, map[int]int{0: 1, 7: 2, 99: 4})
	record, err := c.it.Joined(c.t.Context(), fork)
	if wantClaims(c.t, record, 13, map[int]engine.Claim{7: claimOf(1, 10, 13)}); err != nil || !maps.Equal(record.Failures, map[int]int{0: 1, 7: 2, 99: 4}) {
		c.t.Errorf("the record is %+v, error %v", record, err)
	}
}

func joinsReportStays(c on[engine.Joins]) {
	report(c.t, c.it, 3, 1, map[int]int{3: 1})
	before := join(c.t, c.it, fork, ended(3, 5, false))
	if !maps.Equal(before.Failures, map[int]int{3: 1}) {
		c.t.Errorf("after the join the record is %+v", before)
	}
	after := before
	after.Failures = map[int]int{3: 2, 4: 1}
	raise := func() error { return c.it.Raise(c.t.Context(), fork, before, after, epoch.Add(time.Hour)) }
	if err := raise(); err != nil {
		c.t.Fatal(err)
	}
	record, err := c.it.Joined(c.t.Context(), fork)
	if err != nil || !maps.Equal(record.Failures, after.Failures) || len(record.Joined) != 1 {
		c.t.Errorf("the record is %+v, error %v", record, err)
	}
	if err := raise(); engine.CodeOf(err) != engine.CodeConflict {
		c.t.Errorf("a record that changed is raised: %v", err)
	}
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
