package enginetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// IndexedLog is a log and the list of its executions.
type IndexedLog interface {
	engine.Log
	engine.Index
}

// Index is the suite of an [IndexedLog]. The store's clock stands at 2026-01-31
// 10:00 UTC or before.
func Index(t *testing.T, open func(t *testing.T) IndexedLog) {
	t.Helper()
	for name, test := range map[string]func(onIndex){
		"a log without executions lists none":            indexNone,
		"executions are listed, the latest start first":  indexOrder,
		"pages hold each execution once":                 indexPages,
		"a page goes on where the one before ended":      indexGoesOn,
		"executions that started together are all there": indexTogether,
		"statuses and times select executions":           indexSelects,
		"an unknown page token is rejected":              indexNoPage,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(onIndex{t, open(t)})
		})
	}
}

type onIndex struct {
	*testing.T
	log IndexedLog
}

// append adds the next item of the execution flow/name, which started so long
// after epoch.
func (c onIndex) append(name string, seq uint64, status machine.Status, after time.Duration) engine.ID {
	c.Helper()
	flowText, execution, _ := strings.Cut(name, "/")
	state, events := machine.New(machine.FlowRef{Name: flowText, Hash: "hash"}, &flow.Flow{}, execution, value.Object(), epoch.Add(after), machine.Limits{})
	state.Status = status
	item := engine.Item{Execution: engine.NewID(flowText, execution), Seq: seq, Nonce: fmt.Sprintf("%s-%d", name, seq)}
	item.Body, _ = machine.Encode(machine.ItemOrigin(item.Execution, seq), state, events)
	if err := c.log.Append(c.Context(), item); err != nil {
		c.Fatal(err)
	}
	return item.Execution
}

// all is the whole list, read in pages.
func (c onIndex) all(of engine.Selection, limit int) (all []engine.ID) {
	c.Helper()
	for after := ""; ; {
		ids, next, err := c.log.Executions(c.Context(), of, after, limit)
		if err != nil || len(ids) > limit {
			c.Fatalf("a page of %d has %d, error %v", limit, len(ids), err)
		}
		all = append(all, ids...)
		if after = next; after == "" {
			return all
		}
	}
}

func indexNone(c onIndex) {
	if all := c.all(engine.Selection{}, 10); len(all) > 0 {
		c.Errorf("listed: %v", all)
	}
}

func indexOrder(c onIndex) {
	succeeded := c.append("a/succeeded", 0, machine.StatusStarting, 0)
	running := c.append("b/running", 0, machine.StatusStarting, 2*time.Second)
	failed := c.append("b/failed", 0, machine.StatusStarting, time.Nanosecond)
	c.append("b/running", 1, machine.StatusRunning, 2*time.Second)
	c.append("a/succeeded", 1, machine.StatusSucceeded, 0)
	c.append("b/failed", 1, machine.StatusFailed, time.Nanosecond)
	starting := c.append("c/starting", 0, machine.StatusStarting, 3*time.Second)
	for _, tt := range []struct {
		flow     string
		statuses []machine.Status
		want     []engine.ID
	}{
		{"", nil, []engine.ID{starting, running, failed, succeeded}},
		{"b", nil, []engine.ID{running, failed}},
		{"", []machine.Status{machine.StatusRunning}, []engine.ID{starting, running}},
		{"", []machine.Status{machine.StatusFailed}, []engine.ID{failed}},
		{"", []machine.Status{machine.StatusSucceeded, machine.StatusFailed}, []engine.ID{failed, succeeded}},
		{"b", []machine.Status{machine.StatusFailed, machine.StatusStarting, machine.StatusRunning}, []engine.ID{running, failed}},
		{"a", []machine.Status{machine.StatusSucceeded}, []engine.ID{succeeded}},
		{"a", []machine.Status{machine.StatusFailed}, nil},
		{"d", nil, nil},
	} {
		if got := c.all(engine.Selection{Flow: tt.flow, Statuses: tt.statuses}, 100); !slices.Equal(got, tt.want) {
			c.Errorf("of flow %q with statuses %q: %v; want %v", tt.flow, tt.statuses, got, tt.want)
		}
	}
}

// indexSelects: pages of each size hold what a range of time, several statuses and a flow select,
// in order.
func indexSelects(c onIndex) {
	const step = time.Second
	statuses := []machine.Status{machine.StatusStarting, machine.StatusSucceeded, machine.StatusFailed, machine.StatusStopped}
	ids := make([]engine.ID, 24)
	for i := range ids {
		name, after := fmt.Sprintf("flow%d/run-%d", i%2, i), time.Duration(i)*step
		ids[i] = c.append(name, 0, machine.StatusStarting, after)
		if status := statuses[i/2%len(statuses)]; status.Final() {
			c.append(name, 1, status, after)
		}
	}
	for _, tt := range []struct {
		flow          string
		statuses      []machine.Status
		since, before time.Time
	}{
		{since: epoch.Add(5 * step)},
		{before: epoch.Add(5 * step)},
		{since: epoch.Add(5*step + 1), before: epoch.Add(9*step + 1)},
		{since: epoch.Add(5 * step), before: epoch.Add(5 * step)},
		{since: epoch.Add(9 * step), before: epoch.Add(5 * step)},
		{since: time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)},
		{since: time.Date(1500, 1, 1, 0, 0, 0, 0, time.UTC), before: time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)},
		{flow: "flow1", since: epoch.Add(3 * step), before: epoch.Add(20 * step)},
		{statuses: statuses[1:3], since: epoch.Add(3 * step), before: epoch.Add(20 * step)},
		{"flow0", statuses[:2], epoch.Add(2 * step), epoch.Add(22 * step)},
		{"flow1", statuses, epoch.Add(2 * step), epoch.Add(22 * step)},
	} {
		var want []engine.ID
		for i, id := range slices.Backward(ids) {
			at := epoch.Add(time.Duration(i) * step)
			if (tt.flow == "" || tt.flow == fmt.Sprintf("flow%d", i%2)) && (tt.statuses == nil || slices.Contains(tt.statuses, statuses[i/2%len(statuses)])) &&
				!at.Before(tt.since) && (tt.before.IsZero() || at.Before(tt.before)) {
				want = append(want, id)
			}
		}
		for _, limit := range []int{1, 3, 100} {
			if got := c.all(engine.Selection{Flow: tt.flow, Statuses: tt.statuses, Since: tt.since, Before: tt.before}, limit); !slices.Equal(got, want) {
				c.Errorf("%+v in pages of %d: %v, want %v", tt, limit, got, want)
			}
		}
	}
}

// indexPages: many executions, of most of which the status is another one.
func indexPages(c onIndex) {
	var want []engine.ID
	for i := range 60 {
		name, after := fmt.Sprintf("flow/run-%d", i), time.Duration(i)*time.Second
		id := c.append(name, 0, machine.StatusStarting, after)
		if i%3 > 0 {
			c.append(name, 1, machine.StatusSucceeded, after)
			want = append(want, id)
		}
	}
	slices.Reverse(want)
	for _, limit := range []int{1, 7, 40, 100} {
		if got := c.all(engine.Selection{Flow: "flow", Statuses: []machine.Status{machine.StatusSucceeded}}, limit); !slices.Equal(got, want) {
			c.Errorf("in pages of %d: %v, want %v", limit, got, want)
		}
	}
}

// indexGoesOn: what comes and ends between two pages moves nothing.
func indexGoesOn(c onIndex) {
	first := c.append("flow/first", 0, machine.StatusStarting, 0)
	second := c.append("flow/second", 0, machine.StatusStarting, time.Second)
	running := engine.Selection{Statuses: []machine.Status{machine.StatusRunning}}
	page, next, err := c.log.Executions(c.Context(), running, "", 1)
	if err != nil || !slices.Equal(page, []engine.ID{second}) || next == "" {
		c.Fatalf("the first page is %v with next %q, error %v", page, next, err)
	}
	c.append("flow/third", 0, machine.StatusStarting, time.Minute)
	c.append("flow/second", 1, machine.StatusSucceeded, time.Second)
	page, _, err = c.log.Executions(c.Context(), running, next, 10)
	if err != nil || !slices.Equal(page, []engine.ID{first}) {
		c.Errorf("the page behind it is %v, error %v; want %v", page, err, first)
	}
}

func indexTogether(c onIndex) {
	var want []engine.ID
	for i := range 10 {
		want = append(want, c.append(fmt.Sprintf("flow/run-%d", i), 0, machine.StatusStarting, 0))
	}
	got := c.all(engine.Selection{}, 3)
	for _, id := range want {
		if !slices.Contains(got, id) || len(got) != len(want) {
			c.Fatalf("listed: %v, want %v in any order", got, want)
		}
	}
}

func indexNoPage(c onIndex) {
	_, _, err := c.log.Executions(c.Context(), engine.Selection{}, "not a page", 1)
	if engine.CodeOf(err) != engine.CodeInvalid || !strings.Contains(err.Error(), "not a page") {
		c.Errorf("error %v", err)
	}
}
