package disk_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/internal/suite/resumetest"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/disk"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// seenEarly is a store that tells when a worker has seen an outcome.
type seenEarly struct {
	*disk.Store
	once sync.Once
	seen chan struct{}
}

func (s *seenEarly) RecordEarly(ctx context.Context, handle string) (token.Record, error) {
	record, err := s.Store.RecordEarly(ctx, handle)
	if err == nil && !record.Open() {
		s.once.Do(func() { close(s.seen) })
	}
	return record, err
}

// submittedOnce is an observer of an execution that submits one task.
type submittedOnce struct {
	submitted chan machine.State
	isFinal   atomic.Bool
}

func (*submittedOnce) Calling(machine.Call, time.Time) {}

func (o *submittedOnce) Committed(_ engine.ID, state machine.State, _ []machine.Event) {
	o.isFinal.Store(state.Status.Final())
	if state.Waiting != nil && state.Waiting.Submitted() {
		o.submitted <- state
	}
}

// TestWorkerGoesOnWhileAnOutcomeIsWritten holds up the sync of an outcome until a worker has seen
// the outcome. Requests do not see it meanwhile.
func TestWorkerGoesOnWhileAnOutcomeIsWritten(t *testing.T) {
	t.Parallel()
	var outcome atomic.Pointer[func()] // what happens before the next sync
	store := &seenEarly{seen: make(chan struct{}), Store: openOn(t, errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if isSync(op) {
			if before := outcome.Swap(nil); before != nil {
				(*before)()
			}
		}
		return nil
	})))}
	observer := &submittedOnce{submitted: make(chan machine.State, 1)}
	tasks, err := local.NewFunctions(&local.Clock{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := local.New(local.Config{Store: store, Observer: observer, Functions: tasks})
	start(t, s, "version: v1\ntype: flow\nsteps:\n  - type: task\n    name: Ask\n    resourceArn: acs:fc:::services/s/functions/echo\n"+
		"    pattern: waitForCallback\n", "one")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var serving sync.WaitGroup
	defer serving.Wait()
	defer cancel()
	serving.Go(func() {
		if err := s.Serve(ctx); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	state := <-observer.submitted
	flow, err := s.Client.Flow(ctx, state.Flow)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := s.Client.Token(flow, state)
	before := func() {
		select {
		case <-store.seen:
		case <-ctx.Done():
			t.Error("no worker sees the outcome before it is durable")
		}
		if observer.isFinal.Load() {
			t.Error("the execution ended before the outcome is durable")
		}
	}
	outcome.Store(&before)
	if _, _, err := resumetest.Close(ctx, s.Tokens, text, answered); err != nil {
		t.Fatal(err)
	}
	if state, err := s.Await(ctx, engine.NewID("flow", "one")); err != nil || state.Status != machine.StatusSucceeded {
		t.Errorf("it is %s, error %v", state.Status, err)
	}
}
