package enginetest

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// What a case does and wants where a token is out.

// ask leads an execution of a flow, which begins with a task that waits for a
// callback, to where Ask is submitted, and gives the wake of the start. Timers
// are kept.
func (b *fixture) ask(flow string) engine.Wake {
	b.t.Helper()
	b.answer("Ask", `{"asked":true}`)
	start := b.begin(flow)
	b.advance(start)
	b.trace = nil
	if w := b.waiting(); w.Token() == nil || !w.Submitted() {
		b.t.Fatalf("the execution waits for %+v", w)
	}
	return start
}

// askedNot leads an execution to where it waits for the token of Ask, whose
// worker dies before it called the function.
func (b *fixture) askedNot(flow string) engine.Wake {
	b.t.Helper()
	b.script("Ask", answer{err: errStopped})
	start := b.begin(flow)
	b.wantError(start, engine.CodeInternal)
	b.trace = nil
	return start
}

func (b *fixture) waiting() machine.Waiting {
	b.t.Helper()
	_, state := b.latest()
	if state.Waiting == nil {
		b.t.Fatalf("the execution is %s and waits for nothing", state.Status)
	}
	return *state.Waiting
}

// close closes the token that the execution waits for, as a client
// does, and gives the wake that was sent for it.
func (b *fixture) close(outcome token.Outcome) engine.Wake {
	b.t.Helper()
	wake := b.tokenWake()
	record, err := b.store.Close(b.t.Context(), wake.Cause, token.CloseOp{Outcome: outcome, By: token.ClosedByHand, At: b.Now()})
	if err != nil || record.Open() || !token.Same(*record.Outcome, outcome) {
		b.t.Fatalf("close: %+v, error %v", record, err)
	}
	return wake
}

// tokenWake is the wake that a client sends before it closes the token.
func (b *fixture) tokenWake() engine.Wake {
	b.t.Helper()
	return engine.Wake{Execution: testID, Cause: b.waiting().Handle(), Due: b.Now(), Sent: b.Now()}
}

func (b *fixture) beat() {
	b.t.Helper()
	if _, err := b.store.Beat(b.t.Context(), b.waiting().Handle(), b.Now()); err != nil {
		b.t.Fatal(err)
	}
}

// onPause is a pause in which something happens.
func (*fixture) onPause(do func()) func(context.Context, time.Duration) error {
	return func(context.Context, time.Duration) error {
		do()
		return nil
	}
}

// stop requests the end of the execution and gives its wake. The trace is
// empty then.
func (b *fixture) stop() engine.Wake {
	b.t.Helper()
	b.mu.Lock()
	kept := b.wakes
	b.wakes = nil
	b.mu.Unlock()
	if err := b.Stop(b.t.Context(), testID, "Enough", "it is enough"); err != nil {
		b.t.Fatal(err)
	}
	b.trace = nil
	stop := b.take()
	b.wakes = kept
	return stop
}

// takeTimer takes the live timer.
func (b *fixture) takeTimer() engine.Wake {
	b.t.Helper()
	_, state := b.latest()
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.wakes, func(w engine.Wake) bool { return w.Cause == state.Timer.Tag })
	if i < 0 {
		b.t.Fatalf("the live timer %q was never sent", state.Timer.Tag)
	}
	timer := b.wakes[i]
	b.wakes = slices.Delete(b.wakes, i, i+1)
	return timer
}

// wantHistory compares the events of tasks and of the end, without the words
// that all of them begin with.
func (b *fixture) wantHistory(want string) {
	b.t.Helper()
	history, err := b.History(b.t.Context(), testID)
	if err != nil {
		b.t.Fatal(err)
	}
	b.trace = nil
	wantNumbered(b.t, history)
	var got []string
	for _, event := range history {
		name := event.Type.String()
		if strings.HasPrefix(name, "Task") || strings.HasPrefix(name, "Execution") {
			got = append(got, strings.TrimPrefix(name, "Task"))
		}
	}
	want = "ExecutionStarted " + want
	if shown := strings.Join(got, " "); shown != want {
		b.t.Errorf("history %s\nwant    %s", shown, want)
	}
}

// wantEnd compares how the execution ended.
func (b *fixture) wantEnd(status machine.Status, name string) {
	b.t.Helper()
	if _, state := b.latest(); state.Status != status || state.Error != name {
		b.t.Errorf("the execution is %s with error %q (%s), want %s with %q", state.Status, state.Error, state.Cause, status, name)
	}
}

// rivalStops has another worker handle a wake until it dies: it may commit
// what it found, and closes nothing.
func (b *fixture) rivalStops(w engine.Wake) {
	b.t.Helper()
	rival := b.rival()
	rival.TokenStore = closesNothing{b.store}
	if _, err := rival.Advance(b.t.Context(), w); err == nil {
		b.t.Error("the rival did not come to a closing")
	}
}

type closesNothing struct{ Store }

// after is the instant so long after the epoch.
func after(d time.Duration) time.Time { return epoch.Add(d) }

// Close implements [engine.TokenStore]: the worker dies.
func (closesNothing) Close(context.Context, string, token.CloseOp) (token.Record, error) {
	return token.Record{}, errDied
}
