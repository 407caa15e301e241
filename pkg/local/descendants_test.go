package local_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// growing is a flow that starts itself for each element of its input, and so without end.
const growing = `
version: v1
type: flow
steps:
  - type: foreach
    name: Each
    iterationMapping: {collection: $.list, item: x}
    steps:
      - type: task
        name: Again
        resourceArn: acs:fnf:::flow/flow
        pattern: %s
        inputMappings: [{target: list, source: $input.list}]
`

// chained is a flow that starts its successor until its input says that it is the last one.
const chained = `
version: v1
type: flow
steps:
  - {type: task, name: Next, resourceArn: "acs:fc:::services/s/functions/next", inputMappings: [{target: n, source: $input.n}],
     outputMappings: [{target: n, source: $local.n}, {target: more, source: $local.more}]}
  - type: choice
    name: More
    inputMappings: [{target: more, source: $local.more}]
    choices: [{condition: $.more == false, goto: End}]
  - {type: task, name: Again, resourceArn: "acs:fnf:::flow/flow", inputMappings: [{target: n, source: $local.n}]}
  - {type: succeed, name: End}
`

// A chain, in which each execution starts the next one, has no limit, but after a hundred starts it
// is paced.
func TestLongChainsArePaced(t *testing.T) {
	t.Parallel()
	const length = machine.MaxFastGeneration + 10
	clock := local.NewVirtualClock(time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC))
	begun := clock.Now()
	tasks, err := local.NewFunctions(clock, nil)
	if err != nil {
		t.Fatal(err)
	}
	var last time.Time
	tasks.AddFunction("next", func(call machine.Call) token.Outcome {
		n, _ := call.Input.Get("n").Int64()
		last = clock.Now()
		return token.Success(value.Object(
			value.Member{Key: "n", Value: value.Int(n + 1)}, value.Member{Key: "more", Value: value.Bool(n < length)},
		))
	})
	s := local.New(local.Config{Store: &store.Memory{}, Clock: clock, Functions: tasks})
	put, err := s.Client.PutFlow(t.Context(), "flow", []byte(chained))
	if err != nil {
		t.Fatal(err)
	}
	first := value.Object(value.Member{Key: "n", Value: value.Int(0)})
	if _, err := s.Start(t.Context(), engine.StartRequest{Flow: put, Execution: "one", Input: first}); err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if took := last.Sub(begun); took != (length-machine.MaxFastGeneration-1)*machine.Pace {
		t.Errorf("the last execution of the chain began after %s", took)
	}
}

// A family that grows without end ends with a stop of its root, although the root may have ended.
func TestGrowingFamiliesAreStopped(t *testing.T) {
	t.Parallel()
	for _, pattern := range patterns {
		t.Run(pattern, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
			defer cancel()
			store := &store.Memory{}
			s, _, ended := growFamily(t, ctx, store, pattern, 500)
			begun, id := time.Now(), engine.NewID("flow", "root")
			if err := s.Client.StopDescendants(ctx, id, "Enough", "it is enough"); err != nil {
				t.Fatal(err)
			}
			if err := s.Stop(ctx, id, "Enough", "it is enough"); err != nil && engine.CodeOf(err) != engine.CodeConflict {
				t.Fatal(err)
			}
			awaitAll(t, ctx, s, store)
			took := time.Since(begun)
			t.Logf("the stop took %s", took)
			if took > 10*time.Second {
				t.Errorf("the stop took %s", took)
			}
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) { // all ends are counted now
				t.Error(err)
			}
			if record, err := store.Root(t.Context(), machine.RootID(id)); err != nil || record.Open != 0 {
				t.Errorf("%d descendants are counted as open, error %v", record.Open, err)
			}
		})
	}
}

// A family that grows without end delays others by few wakes, also sub-flows of sub-flows.
func TestGrowingFamiliesDelayOthersLittle(t *testing.T) {
	t.Parallel()
	for _, pattern := range patterns {
		t.Run(pattern, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
			defer cancel()
			s, wakes, ended := growFamily(t, ctx, &store.Memory{}, pattern, 5000)
			others := startOthers(t, ctx, s)
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			wakes.check(t, others)
		})
	}
}

// patterns are those in which a step starts a sub-flow.
var patterns = []string{"sync", "requestResponse"}

// growFamily serves until ctx ends, and starts a family. It returns when so many wakes of
// descendants were handled.
func growFamily(
	t *testing.T, ctx context.Context, store local.Store, pattern string, size int, //nolint:revive // as t.Helper
) (s *local.System, wakes *receipts, end <-chan error) {
	t.Helper()
	wakes = &receipts{first: map[engine.ID]time.Time{}, size: size, grown: make(chan struct{})}
	s = local.New(local.Config{Store: store, Applied: wakes.add})
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	flow, err := s.Client.PutFlow(ctx, "flow", fmt.Appendf(nil, growing, pattern))
	if err != nil {
		t.Fatal(err)
	}
	list := value.Array(value.Int(1), value.Int(1), value.Int(1), value.Int(1), value.Int(1), value.Int(1))
	root := engine.StartRequest{Flow: flow, Execution: "root", Input: value.Object(value.Member{Key: "list", Value: list})}
	if _, err := s.Start(ctx, root); err != nil {
		t.Fatal(err)
	}
	select {
	case <-wakes.grown:
	case <-ctx.Done():
		t.Fatal("the family does not grow")
	}
	return s, wakes, ended
}

// other is an execution that is not of the family.
type other struct {
	id         engine.ID
	begin, end time.Time
}

// startOthers starts executions one after the other and awaits the end of each: some of one step,
// and some that end after a sub-flow of a sub-flow.
func startOthers(t *testing.T, ctx context.Context, s *local.System) (others []other) { //nolint:revive // as t.Helper
	t.Helper()
	const subflow = "version: v1\ntype: flow\nsteps: [{type: task, name: Call, resourceArn: \"acs:fnf:::flow/%s\", pattern: sync}]\n"
	flows := map[string]machine.FlowRef{}
	for _, flow := range []struct{ name, text string }{
		{"nap", "version: v1\ntype: flow\nsteps: [{type: pass, name: Nap}]\n"}, {"middle", fmt.Sprintf(subflow, "nap")}, {"outer", fmt.Sprintf(subflow, "middle")},
	} {
		put, err := s.Client.PutFlow(ctx, flow.name, []byte(flow.text))
		if err != nil {
			t.Fatal(err)
		}
		flows[flow.name] = put
	}
	for i := range 2 * samples {
		o := other{begin: time.Now()}
		request := engine.StartRequest{Flow: flows[[]string{"nap", "outer"}[i%2]], Execution: fmt.Sprint("other", i)}
		if _, err := s.Start(ctx, request); err != nil {
			t.Fatal(err)
		}
		o.id = engine.NewID(request.Flow.Name, request.Execution)
		if _, err := s.Await(ctx, o.id); err != nil {
			t.Fatal(err)
		}
		o.end = time.Now()
		others = append(others, o)
	}
	return others
}

// samples is odd. An execution may be late for a reason that is not the family, so tests look at
// the median.
const samples = 9

// receipts are the wakes that were received.
type receipts struct {
	mu          sync.Mutex
	at          []time.Time
	first       map[engine.ID]time.Time // of an execution
	descendants int
	size        int           // of the family that has grown
	grown       chan struct{} // is closed then
}

func (r *receipts) add(wake engine.Wake, at time.Time, _ engine.Disposition) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at = append(r.at, at)
	if _, ok := r.first[wake.Execution]; !ok {
		r.first[wake.Execution] = at
	}
	if !wake.Descendant {
		return
	}
	if r.descendants++; r.descendants == r.size {
		close(r.grown)
	}
}

// between returns how many wakes were received between two instants.
func (r *receipts) between(from, to time.Time) (count int) {
	for _, at := range r.at {
		if !at.Before(from) && at.Before(to) {
			count++
		}
	}
	return count
}

// check checks that the others of [startOthers] ended soon.
func (r *receipts) check(t *testing.T, others []other) {
	t.Helper()
	var before, nested []int // wakes
	var times []time.Duration
	for i, o := range others {
		times = append(times, o.end.Sub(o.begin))
		if i%2 == 0 {
			before = append(before, r.between(o.begin, r.first[o.id]))
		} else {
			nested = append(nested, r.between(o.begin, o.end))
		}
	}
	slices.Sort(before)
	slices.Sort(nested)
	slices.Sort(times)
	t.Logf("wakes before those of others: %v; until sub-flows of others ended: %v; times of others: %v", before, nested, times)
	if median := times[samples]; median > time.Second {
		t.Errorf("others ended after %s", median)
	}
	if median := before[samples/2]; median > 2*local.DefaultWorkers { // each worker handles one, and takes another one
		t.Errorf("%d wakes came before that of another execution", median)
	}
	if median := nested[samples/2]; median > 5000 {
		t.Errorf("a sub-flow of a sub-flow of another execution ended after %d wakes", median)
	}
}

// awaitAll returns when no execution is left that has not ended.
func awaitAll(t *testing.T, ctx context.Context, s *local.System, store *store.Memory) { //nolint:revive // as t.Helper
	t.Helper()
	for {
		list, err := store.Unfinished(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 {
			return
		}
		for _, one := range list {
			if _, err := s.Await(ctx, one.Execution); err != nil {
				t.Fatal(err)
			}
		}
	}
}
