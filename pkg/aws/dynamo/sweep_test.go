package dynamo_test

import (
	"fmt"
	"testing"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// A sweep reads each execution that has not ended once, and the index: the reference says what a
// month costs.
func TestSweepCosts(t *testing.T) {
	t.Parallel()
	const executions = 20
	r := startCosted(t, sample(t, "callback"), value.Object())
	flow, err := r.Newest(t.Context(), "sample")
	for i := 1; err == nil && i < executions; i++ {
		_, err = r.Start(t.Context(), engine.StartRequest{Flow: flow, Execution: fmt.Sprint("e", i)})
	}
	if err != nil {
		t.Fatal(err)
	}
	r.meter.take()
	r.meter.readRequests = 0
	place, err := r.store.SweepPlace(t.Context())
	if err != nil || place != nil {
		t.Fatalf("the place is %s, error %v", place, err)
	}
	ids, next, err := r.store.Executions(t.Context(), engine.Selection{Statuses: []machine.Status{machine.StatusRunning}}, "", 100)
	if err != nil || len(ids) != executions || next != "" {
		t.Fatalf("%d executions, next %q, error %v", len(ids), next, err)
	}
	if _, err := r.Rearm(t.Context(), ids, engine.RearmRequest{DryRun: true}); err != nil {
		t.Fatal(err)
	}
	const index = 8 // one for each part, half a unit
	if got := r.meter.take(); r.meter.readRequests != 1+index+executions || got.read > 1+index+executions || got.write != 0 {
		t.Errorf("%d requests, %+v; want %d", r.meter.readRequests, got, 1+index+executions)
	}
	for _, text := range []string{"there", "elsewhere"} {
		if err := r.store.SetSweepPlace(t.Context(), []byte(text)); err != nil {
			t.Fatal(err)
		}
		if place, err := r.store.SweepPlace(t.Context()); err != nil || string(place) != text {
			t.Errorf("the place is %s, error %v; want %s", place, err, text)
		}
	}
	if got := r.meter.take(); got.write != 2 || got.index != 0 {
		t.Errorf("%+v, want 2 writes", got)
	}
}
