package local_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/internal/suite/resumetest"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

const oneCallback = "version: v1\ntype: flow\nsteps:\n  - type: task\n    name: Ask\n    resourceArn: acs:fc:::services/s/functions/echo\n" +
	"    pattern: waitForCallback\n"

// slowClosing is a store that closes tokens once every other goroutine is idle.
type slowClosing struct {
	local.Store
	looks *atomic.Int64 // at tokens
}

func (s slowClosing) RecordEarly(ctx context.Context, handle string) (token.Record, error) {
	s.looks.Add(1)
	return s.Store.RecordEarly(ctx, handle)
}

func (s slowClosing) CloseEarly(ctx context.Context, handle string, closing token.CloseOp, applied func()) (token.Record, error) {
	synctest.Wait()
	return s.Store.CloseEarly(ctx, handle, closing, applied)
}

// lastCommitted is an observer that keeps the last state.
type lastCommitted struct{ state atomic.Pointer[machine.State] }

func (*lastCommitted) Calling(machine.Call, time.Time) {}

func (l *lastCommitted) Committed(_ engine.ID, state machine.State, _ []machine.Event) {
	l.state.Store(&state)
}

// A wake that finds its token open looks again after a pause, which no test
// has to wait for who closes it in this very process.
func TestTheWakeOfAClosedTokenComesAfterTheOutcome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := slowClosing{&store.Memory{}, &atomic.Int64{}}
		last := &lastCommitted{}
		s := local.New(local.Config{Store: store, Observer: last, Workers: 2})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			if err := s.Serve(ctx); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}()
		start(t, s, oneCallback, "one")
		synctest.Wait()
		flow, err := s.Client.Flow(t.Context(), last.state.Load().Flow)
		if err != nil {
			t.Fatal(err)
		}
		text, ok := machine.Token(store.Keys(), flow, *last.state.Load())
		if !ok {
			t.Fatal("it waits for no token")
		}
		store.looks.Store(0)
		if _, _, err := resumetest.Close(t.Context(), s.Tokens, text, token.Success(value.Object())); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		wantSucceeded(t, s, "one", 0)
		if looks := store.looks.Load(); looks != 1 {
			t.Errorf("the token was looked at %d times, want once", looks)
		}
		cancel()
		synctest.Wait()
	})
}

func TestTokensRejectInvalidText(t *testing.T) {
	t.Parallel()
	s := local.New(local.Config{Store: &store.Memory{}})
	if _, _, err := resumetest.Close(t.Context(), s.Tokens, "none", token.Success(value.Object())); !errors.Is(err, token.ErrInvalid) {
		t.Errorf("error %v", err)
	}
}

// Nor has anybody to wait who stops an execution in this very process.
func TestTheWakeOfAStopComesAfterTheRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := slowClosing{&store.Memory{}, &atomic.Int64{}}
		last := &lastCommitted{}
		s := local.New(local.Config{Store: store, Observer: last})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			if err := s.Serve(ctx); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}()
		start(t, s, "version: v1\ntype: flow\nsteps:\n  - type: wait\n    name: Sleep\n    duration: 3600\n", "one")
		synctest.Wait()
		asked := time.Now()
		if err := s.Stop(t.Context(), last.state.Load().ID(), "Enough", ""); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if state := last.state.Load(); state.Status != machine.StatusStopped || !state.At.Equal(asked) {
			t.Errorf("it is %s at %s, asked at %s", state.Status, state.At, asked)
		}
		cancel()
		synctest.Wait()
	})
}
