package enginetest

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// Descendants is the suite of [engine.Descendants]. Each case gets an empty store.
func Descendants(t *testing.T, open func(t *testing.T) engine.Descendants) {
	t.Helper()
	runCases(t, open, []testCase[engine.Descendants]{
		{"an unknown root has the zero record", descendantsNone},
		{"each start is counted, and each end", descendantsCount},
		{"an end is never counted below zero", descendantsLeave},
		{"no start is counted over the limit", descendantsLimit},
		{"no start is counted after a request to stop, and the first request stays", descendantsStopped},
		{"paced starts have turns of their own", descendantsPaced},
		{"a root that met the limit paces all starts, until no turn was taken for a minute", descendantsCalm},
		{"paced starts at once have turns of their own", descendantsRace},
		{"a count that was made anew stays only if the record did not change", descendantsRecount},
	})
}

var root = engine.NewID("flow", "root")

func enter(c on[engine.Descendants], of engine.ID, at time.Duration, paced bool) (engine.RootRecord, bool) {
	c.t.Helper()
	after, ok, err := c.it.Enter(c.t.Context(), of, engine.EnterOp{At: epoch.Add(at), Paced: paced, Expires: epoch.Add(time.Hour)})
	if err != nil {
		c.t.Fatal(err)
	}
	return after, ok
}

func wantOpen(c on[engine.Descendants], of engine.ID, open int) engine.RootRecord {
	c.t.Helper()
	record, err := c.it.Root(c.t.Context(), of)
	if err != nil || record.Open != open {
		c.t.Errorf("the record is %+v, error %v; want %d open descendants", record, err, open)
	}
	return record
}

func descendantsNone(c on[engine.Descendants]) {
	if record, err := c.it.Root(c.t.Context(), root); err != nil || record != (engine.RootRecord{}) {
		c.t.Errorf("the record is %+v, error %v", record, err)
	}
}

func descendantsCount(c on[engine.Descendants]) {
	for i := range 3 {
		at := time.Duration(i) * time.Second
		if after, ok := enter(c, root, at, false); !ok || after.Open != i+1 || !after.Entered.Equal(epoch.Add(at)) {
			c.t.Errorf("start %d is counted: %t, %+v", i, ok, after)
		}
	}
	enter(c, other, 0, false)
	if err := c.it.Leave(c.t.Context(), root); err != nil {
		c.t.Fatal(err)
	}
	wantOpen(c, root, 2)
	wantOpen(c, other, 1)
}

func descendantsLeave(c on[engine.Descendants]) {
	enter(c, root, 0, false)
	for range 3 {
		if err := c.it.Leave(c.t.Context(), root); err != nil {
			c.t.Fatal(err)
		}
	}
	wantOpen(c, root, 0)
	enter(c, root, 0, false)
	wantOpen(c, root, 1)
}

// full sets the count of a root.
func full(c on[engine.Descendants], open int) {
	c.t.Helper()
	read, _ := enter(c, root, 0, false)
	if err := c.it.Recount(c.t.Context(), root, read, open); err != nil {
		c.t.Fatal(err)
	}
	wantOpen(c, root, open)
}

func descendantsLimit(c on[engine.Descendants]) {
	full(c, machine.MaxDescendants-1)
	if after, ok := enter(c, root, 0, false); !ok || after.Open != machine.MaxDescendants {
		c.t.Errorf("the last start is counted: %t, %+v", ok, after)
	}
	for _, paced := range []bool{false, true} {
		if after, ok := enter(c, root, 0, paced); ok || after.Open != machine.MaxDescendants || after.Stop != nil {
			c.t.Errorf("paced %t: one start more is counted: %t, %+v", paced, ok, after)
		}
	}
}

func descendantsStopped(c on[engine.Descendants]) {
	enter(c, root, 0, false)
	for _, request := range []engine.StopRequest{{Cause: "enough"}, {Error: "Later"}} {
		if err := c.it.StopDescendants(c.t.Context(), root, request, epoch.Add(time.Hour)); err != nil {
			c.t.Fatal(err)
		}
	}
	for _, paced := range []bool{false, true} {
		if after, ok := enter(c, root, 0, paced); ok || after.Stop == nil || *after.Stop != (engine.StopRequest{Cause: "enough"}) {
			c.t.Errorf("paced %t: a start is counted: %t, %+v", paced, ok, after)
		}
	}
	if record := wantOpen(c, root, 1); record.Stop == nil || !record.Expires.After(epoch) {
		c.t.Errorf("the record is %+v", record)
	}
	if err := c.it.StopDescendants(c.t.Context(), other, engine.StopRequest{}, epoch.Add(time.Hour)); err != nil {
		c.t.Fatal(err)
	}
	if record := wantOpen(c, other, 0); record.Stop == nil {
		c.t.Error("a request for a root without counted descendants is lost")
	}
}

func descendantsPaced(c on[engine.Descendants]) {
	enter(c, root, 0, false) // has no turn
	const s = time.Second
	for i, tt := range []struct{ at, next time.Duration }{{0, s}, {0, 2 * s}, {s, 3 * s}, {10 * s, 11 * s}, {10 * s, 12 * s}} {
		want := epoch.Add(tt.next)
		if after, ok := enter(c, root, tt.at, true); !ok || !after.NextStart.Equal(want) || after.Open != i+2 {
			c.t.Errorf("start %d is counted: %t, %+v; want the next start at %s", i, ok, after, want)
		}
	}
}

func descendantsCalm(c on[engine.Descendants]) {
	full(c, machine.MaxDescendants)
	for range 2 {
		if after, ok := enter(c, root, time.Second, false); ok || !after.NextStart.Equal(epoch.Add(time.Second)) {
			c.t.Errorf("a start over the limit: %t, %+v", ok, after)
		}
	}
	if err := c.it.Recount(c.t.Context(), root, wantOpen(c, root, machine.MaxDescendants), 1); err != nil {
		c.t.Fatal(err)
	}
	const s = time.Second
	for i, tt := range []struct{ at, next time.Duration }{{s, 2 * s}, {s, 3 * s}, {62 * s, 63 * s}, {123 * s, 63 * s}, {124 * s, 63 * s}} {
		if after, ok := enter(c, root, tt.at, false); !ok || !after.NextStart.Equal(epoch.Add(tt.next)) || after.Open != i+2 {
			c.t.Errorf("start %d is counted: %t, %+v; want the next start at %s", i, ok, after, tt.next)
		}
	}
}

func descendantsRace(c on[engine.Descendants]) {
	const starts = 20
	var all sync.WaitGroup
	var turns sync.Map
	var counted atomic.Int32
	for range starts {
		all.Go(func() {
			if after, ok := enter(c, root, 0, true); ok {
				counted.Add(1)
				turns.Store(after.NextStart.UnixNano(), true)
			}
		})
	}
	all.Wait()
	different := 0
	turns.Range(func(any, any) bool { different++; return true })
	if counted.Load() != starts || different != starts {
		c.t.Errorf("%d starts are counted, with %d turns; want %d", counted.Load(), different, starts)
	}
	if record := wantOpen(c, root, starts); !record.NextStart.Equal(epoch.Add(starts * machine.Pace)) {
		c.t.Errorf("the record is %+v", record)
	}
}

func descendantsRecount(c on[engine.Descendants]) {
	read, _ := enter(c, root, 0, false)
	enter(c, root, time.Second, false)
	if err := c.it.Recount(c.t.Context(), root, read, 0); err != nil {
		c.t.Fatal(err)
	}
	read = wantOpen(c, root, 2)
	if err := c.it.Recount(c.t.Context(), root, read, 1); err != nil {
		c.t.Fatal(err)
	}
	wantOpen(c, root, 1)
}

// Pauses is the suite of [engine.Pauses]. Each case gets an empty store.
func Pauses(t *testing.T, open func(t *testing.T) engine.Pauses) {
	t.Helper()
	runCases(t, open, []testCase[engine.Pauses]{
		{"a flow is paused until it is resumed", func(c on[engine.Pauses]) {
			set := func(flow string, paused bool) {
				c.t.Helper()
				if err := c.it.SetPaused(c.t.Context(), flow, paused); err != nil {
					c.t.Fatal(err)
				}
			}
			want := func(flow string, want bool) {
				c.t.Helper()
				if got, err := c.it.Paused(c.t.Context(), flow, time.Now().Add(time.Hour)); got != want || err != nil {
					c.t.Errorf("flow %s is paused: %t, error %v; want %t", flow, got, err, want)
				}
			}
			want("a", false)
			set("a", false) // has no effect
			set("a", true)
			set("a", true)
			set("b", true)
			want("a", true)
			want("b", true)
			want("ab", false)
			set("a", false)
			want("a", false)
			want("b", true)
		}},
	})
}
