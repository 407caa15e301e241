package local_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/local"
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

// A chain, in which each execution starts the next one, has no limit, but after a hundred starts it is paced.
func TestLongChainsArePaced(t *testing.T) {
	t.Parallel()
	const length = machine.MaxFastGeneration + 10
	clock := local.NewVirtualClock(time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC))
	begun := clock.Now()
	tasks, err := local.NewTasks(clock, nil)
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
	s := local.New(local.Config{Store: &local.MemoryStore{}, Clock: clock, Tasks: tasks})
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

// A family that grows without end delays others by few wakes. It ends with a stop of its root, although the root may have ended.
func TestGrowingFamiliesAreStopped(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"sync", "requestResponse"} {
		t.Run(pattern, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
			defer cancel()
			store := &local.MemoryStore{}
			var applied, descendants atomic.Int64
			grown := make(chan struct{})
			count := func(wake engine.Wake, _ time.Time, _ engine.Disposition) {
				applied.Add(1)
				if wake.Descendant && descendants.Add(1) == 2000 {
					close(grown)
				}
			}
			s := local.New(local.Config{Store: store, Applied: count})
			ended := make(chan error, 1)
			go func() { ended <- s.Serve(ctx) }()
			list := value.Array(value.Int(1), value.Int(1), value.Int(1), value.Int(1), value.Int(1), value.Int(1))
			family, err := s.Client.PutFlow(ctx, "flow", fmt.Appendf(nil, growing, pattern))
			if err != nil {
				t.Fatal(err)
			}
			root := engine.StartRequest{Flow: family, Execution: "root", Input: value.Object(value.Member{Key: "list", Value: list})}
			if _, err := s.Start(ctx, root); err != nil {
				t.Fatal(err)
			}
			select {
			case <-grown:
			case <-ctx.Done():
				t.Fatal("the family does not grow")
			}
			before := applied.Load()
			nap, err := s.Client.PutFlow(ctx, "nap", []byte("version: v1\ntype: flow\nsteps: [{type: pass, name: Nap}]\n"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Start(ctx, engine.StartRequest{Flow: nap, Execution: "one"}); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Await(ctx, engine.NewID("nap", "one")); err != nil {
				t.Fatal(err)
			}
			if others := applied.Load() - before; others > 1000 {
				t.Errorf("another execution ended after %d wakes of the family", others)
			}
			id := engine.NewID("flow", "root")
			if err := s.Client.StopDescendants(ctx, id, "Enough", "it is enough"); err != nil {
				t.Fatal(err)
			}
			if err := s.Stop(ctx, id, "Enough", "it is enough"); err != nil && engine.CodeOf(err) != engine.CodeConflict {
				t.Fatal(err)
			}
			awaitAll(t, ctx, s, store)
			if record, err := store.Root(ctx, machine.RootID(id)); err != nil || record.Open != 0 {
				t.Errorf("%d descendants are counted as open, error %v", record.Open, err)
			}
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
}

// awaitAll returns when no execution is left that has not ended.
func awaitAll(t *testing.T, ctx context.Context, s *local.System, store *local.MemoryStore) { //nolint:revive // as t.Helper
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
