package dynamo_test

import (
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// startShortLived starts a flow whose log is kept for two hours and a day at first.
func startShortLived(t *testing.T, steps string, input ...value.Member) *flowRun {
	t.Helper()
	r := &flowRun{
		t: t, meter: &meter{}, now: epoch,
		limits: machine.Limits{Duration: 90 * 24 * time.Hour, Retention: 24 * time.Hour, ShortLife: 2 * time.Hour},
	}
	r.store = newTables(t, func() time.Time { return r.now }, r.meter.options)
	return r.start("short", "version: v1\ntype: flow\nsteps:\n"+steps, value.Object(input...))
}

func TestALogThatWaitsLongerThanExpectedIsKeptWhole(t *testing.T) {
	t.Parallel()
	const days = 4
	r := startShortLived(t, `  - type: task
    name: StartJob
    resourceArn: acs:fc:::services/any/functions/StartJob
  - type: task
    name: Await
    resourceArn: acs:fc:::services/any/functions/GetJobStatus
    pattern: waitForCondition
    intervalSeconds: 3600
    condition: $.job_status == "success"
    inputMappings: [{target: job_id, source: $local.job_id}, {target: delay, source: $input.delay}]
`, value.Member{Key: "delay", Value: value.Int(days * 24 * 3600)}, value.Member{Key: "more", Value: value.String(strings.Repeat("x", 5<<10))})
	written := 2 // by the start, and by its wake before the first poll
	for ; r.now.Before(epoch.Add(days * 24 * time.Hour)); written++ {
		r.turn()
	}
	r.wantSucceeded()
	items, err := r.store.Items(t.Context(), r.id, 0, 1000)
	if early := written - len(items); err != nil || early != 2 {
		t.Errorf("%d of the %d items have expired, error %v; want the two polls before the log was extended", early, written, err)
	}
	history, err := r.History(t.Context(), r.id)
	if err != nil {
		t.Fatal(err)
	}
	for i, event := range history {
		if event.ID != i+1 {
			t.Errorf("event %d has the id %d", i+1, event.ID)
		}
	}
	state, err := r.Describe(t.Context(), r.id)
	if err != nil || len(history) != state.Events || state.Input.Get("more").IsMissing() {
		t.Errorf("the execution has %d events, want %d, error %v", len(history), state.Events, err)
	}
	if result, err := r.Start(t.Context(), engine.StartRequest{Flow: state.Flow, Execution: "run-1"}); result != engine.StartedDifferent {
		t.Errorf("started again: %v, error %v", result, err)
	}
}

func TestExtendingALogIsAReadAndAWriteOfEachItem(t *testing.T) {
	t.Parallel()
	r := startShortLived(t, "  - {type: wait, name: Short, duration: 3600}\n  - {type: wait, name: Long, duration: $.long}\n",
		value.Member{Key: "long", Value: value.Int(3601)})
	r.want("the short wait", r.turn(), capacity{read: 1, write: 1, messages: 1})
	r.want("the longer one", r.turn(), capacity{read: 2, write: 3, index: 1, messages: 1})
	r.want("the end", r.turn(), capacity{read: 1, write: 1, index: 1})
	r.wantSucceeded()
}

func TestWhatHasExpiredIsNotExtended(t *testing.T) {
	t.Parallel()
	store := newTables(t, atEpoch)
	item := itemOf("flow/one", 0, machine.StatusStarting, -2*kept)
	mustAppend(t, store, item)
	if err := store.Extend(t.Context(), epoch.Add(kept), item.Key()); err == nil || !strings.Contains(err.Error(), "item 0 has expired") {
		t.Errorf("error %v", err)
	}
	if err := store.Extend(t.Context(), epoch.Add(kept), engine.ItemKey{Seq: 7}); err == nil {
		t.Error("an item that does not exist was extended")
	}
}
