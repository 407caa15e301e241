package disk_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/disk"
	"github.com/waitless/waitless/pkg/machine"
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
        pattern: requestResponse
        inputMappings: [{target: list, source: $input.list}]
`

// family is a system on a disk store, in real time, with an execution of growing.
type family struct {
	*local.System
	store *disk.Store
	grown func() // is called after some hundred more wakes of descendants
	wakes atomic.Int64
}

var familyRoot = engine.NewID("flow", "root")

// openFamily opens a store as a process does that begins.
func openFamily(t *testing.T, dir string) *family {
	t.Helper()
	f := &family{store: openDisk(t, dir)}
	f.System = local.New(local.Config{Store: f.store, Applied: func(wake engine.Wake, _ time.Time, _ engine.Disposition) {
		if wake.Descendant {
			f.wakes.Add(1)
		}
		if f.wakes.Load() >= enoughWakes && f.grown != nil {
			f.grown()
		}
	}})
	return f
}

// enoughWakes is when a family has some hundred descendants.
const enoughWakes = 300

// grow serves until the family has grown.
func (f *family) grow(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	f.grown = cancel
	f.wakes.Store(0)
	if err := f.Serve(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("the family does not grow: %v", err)
	}
	f.grown = nil
}

// open returns how many descendants that are counted have not ended.
func (f *family) open(t *testing.T) (counted int) {
	t.Helper()
	list, err := f.store.Unfinished(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range list {
		state, err := f.Client.Describe(t.Context(), one.Execution)
		if err != nil {
			t.Fatal(err)
		}
		if _, generation := state.Root(); machine.IsCounted(generation) {
			counted++
		}
	}
	return counted
}

// count returns how many open descendants the record of the root has.
func (f *family) count(t *testing.T) int {
	t.Helper()
	record, err := f.store.Root(t.Context(), machine.RootID(familyRoot))
	if err != nil {
		t.Fatal(err)
	}
	return record.Open
}

// stop requests the stop of the root and of all descendants.
func (f *family) stop(t *testing.T) {
	t.Helper()
	if err := f.Client.StopDescendants(t.Context(), familyRoot, "Enough", "it is enough"); err != nil {
		t.Fatal(err)
	}
	if err := f.Stop(t.Context(), familyRoot, "Enough", "it is enough"); err != nil && engine.CodeOf(err) != engine.CodeConflict {
		t.Fatal(err)
	}
}

// serveUntilAllEnded serves until no execution is left that has not ended, and returns how long
// that took.
func (f *family) serveUntilAllEnded(t *testing.T) time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	begun := time.Now()
	ended := make(chan error, 1)
	go func() { ended <- f.Serve(ctx) }()
	for {
		list, err := f.store.Unfinished(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 {
			break
		}
		for _, one := range list {
			if _, err := f.Await(ctx, one.Execution); err != nil {
				t.Fatal(err)
			}
		}
	}
	took := time.Since(begun)
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	return took
}

// A stop of a family is not over when its process ends. The next process stops what is left.
func TestGrowingFamiliesAreStoppedAfterARestart(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ before, after bool }{
		"stopped before the restart": {before: true},
		"stopped after the restart":  {after: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "store")
			f := openFamily(t, dir)
			flow, err := f.Client.PutFlow(t.Context(), "flow", []byte(growing))
			if err != nil {
				t.Fatal(err)
			}
			list := value.Array(value.Int(1), value.Int(1), value.Int(1))
			input := value.Object(value.Member{Key: "list", Value: list})
			if _, err := f.Start(t.Context(), engine.StartRequest{Flow: flow, Execution: "root", Input: input}); err != nil {
				t.Fatal(err)
			}
			f.grow(t)
			if tt.before {
				f.stop(t)
			}
			if err := f.store.Shut(); err != nil {
				t.Fatal(err)
			}

			f = openFamily(t, dir)
			open := f.open(t)
			if got := f.count(t); got != open || open == 0 {
				t.Fatalf("%d descendants are counted, and %d are open", got, open)
			}
			if tt.after {
				f.grow(t)
				if grown := f.open(t); grown <= open {
					t.Errorf("of %d open descendants %d are left after more starts", open, grown)
				}
				f.stop(t)
			}
			open = f.open(t)
			took := f.serveUntilAllEnded(t)
			t.Logf("%d descendants were stopped within %s", open, took)
			if took > 10*time.Second {
				t.Errorf("the stop of %d descendants took %s", open, took)
			}
			if left := f.count(t); left != 0 {
				t.Errorf("%d descendants are counted as open", left)
			}
		})
	}
}

// A paused flow is paused in the next process, too. When it is resumed, its executions go on: in
// that process when they are rearmed, and in the one after it.
func TestPausedFlowsStayPausedAfterARestart(t *testing.T) {
	t.Parallel()
	for name, rearms := range map[string]bool{"resumed and rearmed": true, "resumed and begun again": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "store")
			p := begin(t, dir, 0)
			start(t, p.System, waitHour, "one")
			p.runUntil(t, waits)

			p = begin(t, dir, time.Minute)
			flow, err := p.Client.Pause(t.Context(), "flow")
			if err != nil {
				t.Fatal(err)
			}
			p.shut(t)

			p = begin(t, dir, 2*time.Hour)
			p.runToEnd(t)
			p.want(t, machine.StatusRunning, "", 0)
			if _, err := p.Start(t.Context(), engine.StartRequest{Flow: flow, Execution: "two"}); engine.CodeOf(err) != engine.CodePaused {
				t.Errorf("the start of an execution of the paused flow: %v", err)
			}
			if err := p.Client.Resume(t.Context(), "flow"); err != nil {
				t.Fatal(err)
			}
			if rearms {
				_, err = p.Client.Rearm(t.Context(), []engine.ID{engine.NewID("flow", "one")}, engine.RearmRequest{})
			} else {
				p.shut(t)
				p = begin(t, dir, 2*time.Hour)
			}
			if err != nil {
				t.Fatal(err)
			}
			p.runToEnd(t)
			p.want(t, machine.StatusSucceeded, "", 2*time.Hour)
		})
	}
}
