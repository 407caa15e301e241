package local

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/internal/suite/enginetest"
)

var testEpoch = time.Date(2026, 1, 31, 10, 0, 0, 987654321, time.UTC)

// queueEnds are both ends of a queue, as enginetest wants them.
type queueEnds struct{ *queue }

func (q queueEnds) Receive(t *testing.T) (engine.Wake, bool) {
	t.Helper()
	w, _, ok := q.next(t.Context())
	return w, ok
}

func (q queueEnds) Finish(_ *testing.T, w engine.Wake, putBack time.Time) { q.finished(w, putBack) }

func (q queueEnds) Now() time.Time { return q.clock.Now() }

func (q queueEnds) Pass(d time.Duration) {
	if q.clock.virtual {
		q.clock.jump(q.clock.Now().Add(d))
		return
	}
	time.Sleep(d) // in a bubble
}

func TestQueueWithVirtualClock(t *testing.T) {
	t.Parallel()
	enginetest.Wakes(t, func(t *testing.T, test func(*testing.T, enginetest.Queue)) {
		t.Helper()
		q := newQueue(NewVirtualClock(testEpoch))
		q.HoldBack(engine.ID{}) // so that the suite moves the clock, and the queue does not
		test(t, queueEnds{q})
	})
}

func TestQueueWithRealClock(t *testing.T) {
	t.Parallel()
	enginetest.Wakes(t, func(t *testing.T, test func(*testing.T, enginetest.Queue)) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) { test(t, queueEnds{newQueue(&Clock{})}) })
	})
}

// virtualQueue has wakes that are due after these times, of one execution
// each. The tag says which.
func virtualQueue(t *testing.T, after ...time.Duration) *queue {
	t.Helper()
	q := newQueue(NewVirtualClock(testEpoch))
	for i, d := range after {
		tag := string(rune('a' + i))
		send(t, q, engine.NewID("flow", tag), tag, d)
	}
	return q
}

func send(t *testing.T, q *queue, execution engine.ID, tag string, after time.Duration) {
	t.Helper()
	if err := q.Send(t.Context(), engine.Wake{Execution: execution, Cause: tag, Due: testEpoch.Add(after)}); err != nil {
		t.Fatal(err)
	}
}

// wantNext receives the wake with the tag, "" for none, when the virtual clock
// shows so much after the epoch.
func wantNext(t *testing.T, q *queue, tag string, after time.Duration) engine.Wake {
	t.Helper()
	w, _, ok := q.next(t.Context())
	if ok != (tag != "") || w.Cause != tag || !q.clock.Now().Equal(testEpoch.Add(after)) {
		t.Fatalf("next wake %q (%v) at %s, want %q at %s", w.Cause, ok, q.clock.Now().Sub(testEpoch), tag, after)
	}
	return w
}

func TestVirtualClockMovesWhenNothingElseCan(t *testing.T) {
	t.Parallel()
	const s = time.Second
	t.Run("not while a wake is due", func(t *testing.T) {
		t.Parallel()
		q := virtualQueue(t, 0, 10*s, -s)
		q.finished(wantNext(t, q, "c", 0), time.Time{})
		q.finished(wantNext(t, q, "a", 0), time.Time{})
		q.finished(wantNext(t, q, "b", 10*s), time.Time{})
		wantNext(t, q, "", 10*s)
	})
	t.Run("not while a wake is being handled", func(t *testing.T) {
		t.Parallel()
		q := virtualQueue(t, 0, 0, 10*s)
		a, b := wantNext(t, q, "a", 0), wantNext(t, q, "b", 0)
		wantNext(t, q, "", 0)
		q.finished(a, time.Time{})
		wantNext(t, q, "", 0)
		q.finished(b, time.Time{})
		wantNext(t, q, "c", 10*s)
	})
	t.Run("not while a start is under way", func(t *testing.T) {
		t.Parallel()
		q := virtualQueue(t, 10*s)
		release := q.HoldBack(engine.NewID("flow", "new"))
		wantNext(t, q, "", 0)
		release()
		wantNext(t, q, "a", 10*s)
	})
	t.Run("to the instant that a wake is put back to", func(t *testing.T) {
		t.Parallel()
		q := virtualQueue(t, 0, 10*s)
		q.finished(wantNext(t, q, "a", 0), testEpoch.Add(5*s))
		q.finished(wantNext(t, q, "a", 5*s), testEpoch.Add(60*s))
		q.finished(wantNext(t, q, "b", 10*s), time.Time{})
		wantNext(t, q, "a", 60*s)
	})
	t.Run("never back", func(t *testing.T) {
		t.Parallel()
		q := virtualQueue(t, 10*s)
		q.finished(wantNext(t, q, "a", 10*s), time.Time{})
		send(t, q, engine.NewID("flow", "late"), "late", 5*s)
		wantNext(t, q, "late", 10*s)
	})
}

func TestWakesDueAtOnceComeInTheOrderOfSending(t *testing.T) {
	t.Parallel()
	q := virtualQueue(t, slices.Repeat([]time.Duration{time.Second}, 20)...)
	for i := range 20 {
		wantNext(t, q, string(rune('a'+i)), time.Second)
	}
}

func TestWakesOfOneExecutionAreHandledInTurn(t *testing.T) {
	t.Parallel()
	q := virtualQueue(t, 0)
	one := engine.NewID("flow", "a")
	send(t, q, one, "second", 0)
	send(t, q, one, "third", 0)
	send(t, q, engine.NewID("flow", "other"), "other", 0)
	a := wantNext(t, q, "a", 0)
	wantNext(t, q, "other", 0)
	wantNext(t, q, "", 0)
	q.finished(a, time.Time{})
	second := wantNext(t, q, "second", 0)
	wantNext(t, q, "", 0)
	q.finished(second, time.Time{})
	wantNext(t, q, "third", 0)
}

func TestStartHoldsItsWakeBack(t *testing.T) {
	t.Parallel()
	q := virtualQueue(t)
	one := engine.NewID("flow", "one")
	first, second := q.HoldBack(one), q.HoldBack(one)
	send(t, q, one, "start", 0)
	wantNext(t, q, "", 0)
	first()
	wantNext(t, q, "", 0)
	second()
	wantNext(t, q, "start", 0)
}

func TestIdle(t *testing.T) {
	t.Parallel()
	q := virtualQueue(t)
	want := func(want bool, when string) {
		t.Helper()
		idle := false
		select {
		case <-q.whenIdle():
			idle = true
		default:
		}
		if idle != want {
			t.Errorf("%s: idle is %v", when, idle)
		}
	}
	want(true, "empty")
	release := q.HoldBack(engine.NewID("flow", "a"))
	want(false, "a start under way")
	send(t, q, engine.NewID("flow", "a"), "a", time.Second)
	release()
	want(false, "a wake waits")
	a := wantNext(t, q, "a", time.Second)
	want(false, "a wake is being handled")
	q.finished(a, testEpoch.Add(time.Minute))
	want(false, "a wake is put back")
	q.finished(wantNext(t, q, "a", time.Minute), time.Time{})
	want(true, "all is done")
}

func TestReceiveWaitsAndEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(&Clock{})
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := q.receive(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Minute {
			t.Errorf("after %s error %v", time.Since(begin), err)
		}
		begin = time.Now()
		wake := engine.Wake{Execution: engine.NewID("flow", "a"), Due: begin.Add(time.Hour)}
		if err := q.Send(ctx, wake); err != nil {
			t.Fatal(err)
		}
		go func() { // an earlier one comes while the later one is waited for
			earlier := engine.Wake{Execution: engine.NewID("flow", "b"), Due: begin.Add(90 * time.Second)}
			if err := q.Send(context.WithoutCancel(ctx), earlier); err != nil {
				t.Error(err)
			}
		}()
		for _, want := range []time.Duration{90 * time.Second, time.Hour} {
			if _, err := q.receive(t.Context()); err != nil || time.Since(begin) != want {
				t.Errorf("after %s error %v, want a wake after %s", time.Since(begin), err, want)
			}
		}
	})
}

// Several wakes may be sent while no receiver waits, with one signal for all.
func TestReceiverSignalsTheNextReceiver(t *testing.T) {
	t.Parallel()
	q := virtualQueue(t, 0, 0, 0)
	for left := 2; left >= 0; left-- {
		select {
		case <-q.ready:
		default:
			t.Fatalf("no signal with %d wakes left", left+1)
		}
		if _, _, ok := q.next(t.Context()); !ok {
			t.Fatalf("no wake with %d left", left+1)
		}
	}
	if len(q.ready) > 0 {
		t.Error("a signal with nothing left")
	}
}

func TestReceiveHandsOutNothingWhenItsContextHasEnded(t *testing.T) {
	t.Parallel()
	q := virtualQueue(t, 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if w, err := q.receive(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("received %+v, error %v", w, err)
	}
	wantNext(t, q, "a", 0)
}

// A machine that sleeps stops timers and not the clock.
func TestRealClockIsLookedAtEveryMinute(t *testing.T) {
	t.Parallel()
	q := newQueue(&Clock{})
	if err := q.Send(t.Context(), engine.Wake{Due: time.Now().Add(8 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if _, pause, ok := q.next(t.Context()); ok || pause <= 0 || pause > time.Minute {
		t.Errorf("a pause of %s", pause)
	}
}

// A report that was accepted takes effect, although the clock stepped back before its wake was
// handled.
func TestWakesThatWereDueStayDueWhenTheClockStepsBack(t *testing.T) {
	t.Parallel()
	now := testEpoch
	q := newQueue(NewClock(func() time.Time { return now }))
	push := func(tag, execution string, after time.Duration) {
		t.Helper()
		wake := engine.Wake{Execution: engine.NewID("flow", execution), Cause: tag, Sent: now, Due: now.Add(after)}
		if err := q.Send(t.Context(), wake); err != nil {
			t.Fatal(err)
		}
	}
	next := func(tag string) engine.Wake {
		t.Helper()
		w, _, ok := q.next(t.Context())
		if ok != (tag != "") || w.Cause != tag {
			t.Fatalf("next wake %q (%v), want %q", w.Cause, ok, tag)
		}
		return w
	}
	push("handled", "one", 0)
	push("kept back", "one", 0)
	handled := next("handled")
	next("")
	push("report", "two", 0)
	push("wait", "three", time.Second)

	now = now.Add(-time.Hour)
	push("earlier wait", "four", time.Second)
	q.finished(next("report"), time.Time{})
	q.finished(handled, time.Time{})
	q.finished(next("kept back"), now.Add(time.Second))
	next("")
	now = now.Add(time.Second)
	next("earlier wait")
	next("kept back")
	now = now.Add(time.Hour)
	next("wait")
	next("")
}
