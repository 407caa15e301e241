package dynamo_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/value"
)

// SendAll implements [engine.Wakes].
func (r *flowRun) SendAll(ctx context.Context, wakes []engine.Wake) error {
	r.batches += (len(wakes) + 9) / 10
	return engine.SendEach(ctx, wakes, r.Send)
}

const shortCall = `          - type: task
            name: Call%d
            resourceArn: acs:fc:::services/any/functions/echo
            inputMappings: [{target: one, source: $input.one}]
`

func parallelOf(branches int, output string) string {
	text := "version: v1\ntype: flow\nsteps:\n  - type: parallel\n    name: Fork\n    branches:\n"
	for i := range branches {
		text += "      - steps:\n" + fmt.Sprintf(shortCall, i)
	}
	return text + output
}

func foreachOf(items int, output string) string {
	list := strings.TrimSuffix(strings.Repeat("1,", items), ",")
	return "version: v1\ntype: flow\nsteps:\n  - type: foreach\n    name: Each\n    inputMappings: [{target: list, source: [" + list + "]}]\n" +
		"    iterationMapping: {collection: $.list, item: one}\n    steps:" + strings.ReplaceAll("\n"+fmt.Sprintf(shortCall, 0), "\n    ", "\n") + output
}

const allOutputs = "    outputMappings: [{target: all, source: $local}]\n"

// What an execution costs that is nothing but a fork: its start, the fork, the items and joins of
// the lanes, and its end.
func TestCostsOfForks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		flow  string
		lanes int
		want  capacity
		// requests are those of reads: the outputs of all lanes are one.
		requests int
		// isEstimated says that the values are small and no mapping uses the outputs, so the
		// estimate is exact.
		isEstimated bool
	}{
		{"parallel of 2", parallelOf(2, ""), 2, capacity{read: 7, write: 7, index: 2, messages: 4}, 7, true},
		{"parallel of 10", parallelOf(10, ""), 10, capacity{read: 23, write: 23, index: 2, messages: 12}, 23, true},
		{"parallel of 10, outputs used", parallelOf(10, allOutputs), 10, capacity{read: 33, write: 23, index: 2, messages: 12}, 24, false},
		{"foreach of 100", foreachOf(100, ""), 100, capacity{read: 203, write: 203, index: 2, messages: 102}, 203, true},
		// The results of up to ten items of a lane share a commit (rule 22).
		{"foreach of 200", foreachOf(200, ""), 100, capacity{read: 203, write: 203, index: 2, messages: 102}, 203, true},
		// A list of 1,000 numbers has 2 KB: the items that hold it take three units more.
		{"foreach of 1,000", foreachOf(1000, ""), 100, capacity{read: 203, write: 206, index: 2, messages: 102}, 203, false},
		// Ten results have 1 to 2 KB, so an item costs a fifth of a unit, and no more than of
		// 1,000. The list has 30 KB.
		{"foreach of 10,000", strings.Replace(foreachOf(10_000, ""), "target: one", "target: argumentOfCall", 1), 100,
			capacity{read: 203, write: 2132, index: 2, messages: 102}, 203, false},
		// The outputs of 120 items have more than 1 KB: the last item takes two units.
		{"foreach of 120, outputs used", foreachOf(120, allOutputs), 100, capacity{read: 303, write: 204, index: 2, messages: 102}, 204, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := &flowRun{t: t, meter: &meter{}, now: epoch}
			r.store = newTables(t, atEpoch, r.meter.options)
			r.start("forks", c.flow, value.Object())
			sum := r.meter.take()
			for len(r.wakes) > 0 {
				used := r.turn()
				sum = capacity{sum.read + used.read, sum.write + used.write, sum.index + used.index, sum.messages + used.messages}
			}
			r.want("the execution", sum, c.want)
			if want := (c.lanes + 8) / 10; r.batches != want {
				t.Errorf("%d batches of wakes, want %d", r.batches, want)
			}
			if got := r.meter.readRequests; got != c.requests {
				t.Errorf("%d requests to read, want %d", got, c.requests)
			}
			r.wantSucceeded()
			if c.isEstimated {
				r.sum = sum
				r.estimates(c.name, 1)
			}
		})
	}
}

// What an execution costs that is nothing but a sub-flow of one short call: at the parent the
// waiting item, the submission, the token and the end, of the sub-flow its start and its end, and a
// read of the token at its start. The definitions of the flow are one read more.
func TestCostsOfASubflow(t *testing.T) {
	t.Parallel()
	r := &flowRun{t: t, meter: &meter{}, now: epoch}
	r.store = newTables(t, atEpoch, r.meter.options)
	child := "version: v1\ntype: flow\nsteps:\n  - {type: task, name: A, resourceArn: \"acs:fc:::services/any/functions/echo\"}\n"
	if _, err := r.store.Put(t.Context(), "child", []byte(child)); err != nil {
		t.Fatal(err)
	}
	r.meter.take()
	r.start("parent", "version: v1\ntype: flow\nsteps:\n  - {type: task, name: Sub, resourceArn: \"acs:fnf:::flow/child\", pattern: sync}\n", value.Object())
	r.want("the start", r.meter.take(), capacity{write: 1, index: 1, messages: 1})
	r.want("the parent until it waits, and the start of the sub-flow", r.turn(), capacity{read: 2, write: 3, index: 1, messages: 1})
	r.want("the sub-flow", r.turn(), capacity{read: 2, write: 2, index: 1, messages: 1})
	r.want("the parent after the end of the sub-flow", r.turn(), capacity{read: 2, write: 1, index: 1})
	// Without what an execution with one call takes: a read, its start and its end with their
	// entries in the index, and a wake.
	r.sum = capacity{read: 6 - 1, write: 7 - 2, index: 4 - 2, messages: 3 - 1}
	r.estimates("the parent", 1)
}
