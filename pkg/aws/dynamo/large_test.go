package dynamo_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/value"
)

// objects counts the requests to a bucket.
type objects struct {
	engine.LargeValues

	puts, gets int
}

func (o *objects) StoreValue(ctx context.Context, name string, data []byte, expires time.Time) error {
	o.puts++
	return o.LargeValues.StoreValue(ctx, name, data, expires)
}

func (o *objects) LoadValue(ctx context.Context, name string) ([]byte, error) {
	o.gets++
	return o.LargeValues.LoadValue(ctx, name)
}

func startLarge(t *testing.T, flow string, input value.Value) *flowRun {
	t.Helper()
	r := &flowRun{t: t, meter: &meter{}, now: epoch}
	r.store = newTables(t, atEpoch, r.meter.options)
	r.large = &objects{LargeValues: r.store.Bucket}
	return r.start("large", flow, input)
}

// largeTurn is a turn of a new worker, as the interpreter has for each wake.
func (r *flowRun) largeTurn() capacity {
	r.t.Helper()
	r.newWorker()
	return r.turn()
}

func (r *flowRun) wantObjects(what string, puts, gets int) {
	r.t.Helper()
	if r.large.puts != puts || r.large.gets != gets {
		r.t.Errorf("%s: %d PUT and %d GET, want %d and %d", what, r.large.puts, r.large.gets, puts, gets)
	}
	r.large.puts, r.large.gets = 0, 0
}

const largeCalls = `version: v1
type: flow
steps:
  - type: task
    name: First
    resourceArn: acs:fc:::services/any/functions/echo
    inputMappings: [{target: text, source: $input.text}]
    outputMappings: [{target: text, source: $local.text}]
  - {type: wait, name: Pause, duration: 1}
  - type: task
    name: Second
    resourceArn: acs:fc:::services/any/functions/echo
    inputMappings: [{target: text, source: $input.text}]
    outputMappings: [{target: small, source: $local.small}]
`

// A value of 1 MB costs a PUT when it arises and a GET for each wake that needs it, and items stay
// as small as without it.
func TestCostsOfALargeValue(t *testing.T) {
	t.Parallel()
	r := startLarge(t, largeCalls, value.Object(value.Member{Key: "text", Value: value.String(strings.Repeat("x", 1<<20))}))
	start := r.meter.take()
	r.want("the start", start, capacity{write: 1, index: 1, messages: 1})
	r.wantObjects("the start", 1, 0)
	first := r.largeTurn()
	r.want("the first call", first, capacity{read: 1, write: 1, messages: 1})
	r.wantObjects("the first call", 1, 1)
	second := r.largeTurn()
	r.want("the second call", second, capacity{read: 1, write: 1, index: 1})
	r.wantObjects("the second call", 1, 1) // of its result, from which the output is mapped
	r.sum = start.plus(first).plus(second)
	r.estimates("a large value", 1)
}

const keepsEach = `version: v1
type: flow
steps:
  - type: foreach
    name: Each
    iterationMapping: {collection: $.list, item: item}
    outputMappings: [{target: results, source: $local}]
    steps:
      - type: pass
        name: Keep
        outputMappings: [{target: kept, source: $input.item}]
outputMappings: [{target: results, source: $local.results}]
`

// Each lane reads the list once, the joined outputs are stored once, and the flow returns all of
// them.
func TestOutputsOf10000Iterations(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("advances 100 lanes of 100 items each, which takes seconds: run without -short")
	}
	const iterations, lanes = 10_000, 100
	list := make([]value.Value, iterations)
	for i := range list {
		list[i] = value.String(fmt.Sprintf("item %05d %s", i, strings.Repeat("x", 80)))
	}
	r := startLarge(t, keepsEach, value.Object(value.Member{Key: "list", Value: value.Array(list...)}))
	r.meter.take()
	for len(r.wakes) > 0 {
		r.largeTurn()
	}
	state, err := r.Describe(t.Context(), r.id)
	if err != nil {
		t.Fatal(err)
	}
	results := state.Output.Get("results")
	for i := range list {
		if !value.Equal(results.At(i).Get("kept"), list[i]) {
			t.Fatalf("result %d is %.100s; the execution %s: %s", i, results.At(i).Get("kept").JSON(), state.Status, state.Cause)
		}
	}
	r.wantObjects("all", 2, lanes+3)
}
