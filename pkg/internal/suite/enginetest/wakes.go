package enginetest

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// Queue is an [engine.Wakes] with its other end and its clock.
type Queue interface {
	engine.Wakes

	// Receive takes a wake that is due by now and keeps others from it. It is
	// false when none is due; over a network it first waits as long as a wake
	// may be under way.
	Receive(t *testing.T) (engine.Wake, bool)

	// Finish ends the handling of a wake that was received: for good, or
	// until putBack when that is not zero.
	Finish(t *testing.T, w engine.Wake, putBack time.Time)

	// Now is the clock by which wakes are due.
	Now() time.Time

	// Pass lets time pass, real or not.
	Pass(d time.Duration)
}

// Wakes is the suite of [engine.Wakes]. The adapter opens an empty queue for
// each case and hands it to test.
func Wakes(t *testing.T, with func(t *testing.T, test func(t *testing.T, queue Queue))) {
	t.Helper()
	for _, c := range []testCase[Queue]{
		{"a wake comes back as it was sent", wakesRoundTrip},
		{"an instant in the past is due at once", wakesPast},
		{"a wake never comes early", wakesNeverEarly},
		{"a wake two days ahead never comes early", wakesFarAhead},
		{"wakes come in the order in which they are due", wakesOrder},
		{"a finished wake leaves the others", wakesFinish},
		{"a wake that is put back comes again unchanged and not early", wakesPutBack},
		{"two wakes of one execution both come", wakesOneExecution},
		{"nothing is lost of many senders", wakesManySenders},
		{"wakes that are sent together all come", wakesTogether},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			with(t, func(t *testing.T, queue Queue) {
				t.Helper()
				c.run(on[Queue]{t, queue})
			})
		})
	}
}

// someWake is due after the given time. Each number is another execution.
func someWake(q Queue, number int, after time.Duration) engine.Wake {
	now := q.Now()
	return engine.Wake{
		Execution: engine.NewID("flow", fmt.Sprintf("run-%d", number)), Cause: fmt.Sprintf("tag-%d", number),
		Due: now.Add(after), Sent: now, Seq: uint64(number), //nolint:gosec // number counts from 0
	}
}

func send(t *testing.T, q Queue, wakes ...engine.Wake) {
	t.Helper()
	for _, w := range wakes {
		if err := q.Send(t.Context(), w); err != nil {
			t.Fatalf("send: %v", err)
		}
	}
}

func sameWake(a, b engine.Wake) bool {
	return a.Execution == b.Execution && a.Cause == b.Cause && a.Due.Equal(b.Due) && a.Sent.Equal(b.Sent) && a.Seq == b.Seq &&
		reflect.DeepEqual(a.Lane, b.Lane)
}

func wantWake(t *testing.T, q Queue, want engine.Wake) {
	t.Helper()
	got, ok := q.Receive(t)
	switch {
	case !ok:
		t.Fatalf("no wake at %s, want %+v", q.Now(), want)
	case !sameWake(got, want):
		t.Fatalf("the wake is %+v, want %+v", got, want)
	}
}

func wantNoWake(t *testing.T, q Queue) {
	t.Helper()
	if w, ok := q.Receive(t); ok {
		t.Fatalf("a wake at %s: %+v", q.Now(), w)
	}
}

func wakesRoundTrip(c on[Queue]) {
	t, q := c.t, c.it
	timer := someWake(q, 1<<40, 0)
	send(t, q, timer)
	wantWake(t, q, timer)
	q.Finish(t, timer, time.Time{})

	start := engine.Wake{Execution: engine.NewID("flow", "run"), Cause: machine.CauseStart, Due: q.Now(), Sent: q.Now()}
	send(t, q, start)
	wantWake(t, q, start)
	q.Finish(t, start, time.Time{})
	wantNoWake(t, q)
}

func wakesPast(c on[Queue]) {
	t, q := c.t, c.it
	w := someWake(q, 1, -time.Hour)
	send(t, q, w)
	wantWake(t, q, w)
}

func wakesNeverEarly(c on[Queue]) {
	t, q := c.t, c.it
	w := someWake(q, 1, 3*time.Second)
	send(t, q, w)
	wantNoWake(t, q)
	q.Pass(2999 * time.Millisecond)
	if q.Now().Before(w.Due) { // a real clock may have gone further
		wantNoWake(t, q)
	}
	q.Pass(time.Millisecond)
	wantWake(t, q, w)
}

func wakesFarAhead(c on[Queue]) {
	t, q := c.t, c.it
	w := someWake(q, 1, 48*time.Hour)
	send(t, q, w)
	q.Pass(47 * time.Hour)
	wantNoWake(t, q)
	q.Pass(time.Hour)
	wantWake(t, q, w)
}

func wakesOrder(c on[Queue]) {
	t, q := c.t, c.it
	third, first, second := someWake(q, 3, 6*time.Second), someWake(q, 1, 2*time.Second), someWake(q, 2, 4*time.Second)
	send(t, q, third, first, second)
	for _, w := range []engine.Wake{first, second, third} {
		wantNoWake(t, q)
		q.Pass(2 * time.Second)
		wantWake(t, q, w)
		q.Finish(t, w, time.Time{})
	}
	wantNoWake(t, q)
}

func wakesFinish(c on[Queue]) {
	t, q := c.t, c.it
	first, second := someWake(q, 1, 0), someWake(q, 2, time.Second)
	send(t, q, first, second)
	wantWake(t, q, first)
	q.Finish(t, first, time.Time{})
	q.Pass(time.Second)
	wantWake(t, q, second)
}

func wakesPutBack(c on[Queue]) {
	t, q := c.t, c.it
	w := someWake(q, 1, 0)
	send(t, q, w)
	wantWake(t, q, w)
	q.Finish(t, w, q.Now().Add(2*time.Second))
	wantNoWake(t, q)
	q.Pass(2 * time.Second)
	wantWake(t, q, w)
	q.Finish(t, w, time.Time{})
	q.Pass(time.Minute)
	wantNoWake(t, q)
}

func wakesOneExecution(c on[Queue]) {
	t, q := c.t, c.it
	first, second := someWake(q, 1, 0), someWake(q, 1, time.Second)
	second.Cause = "other-tag"
	send(t, q, first, second)
	q.Pass(time.Second)
	for range 2 {
		got, ok := q.Receive(t)
		if !ok || !sameWake(got, first) && !sameWake(got, second) {
			t.Fatalf("received %v: %+v", ok, got)
		}
		q.Finish(t, got, time.Time{})
	}
}

func wakesManySenders(c on[Queue]) {
	t, q := c.t, c.it
	const senders, each = 16, 16
	missing := map[engine.ID]engine.Wake{}
	var wakes [senders * each]engine.Wake
	for i := range wakes {
		wakes[i] = someWake(q, i, time.Duration(i%3)*time.Second)
		missing[wakes[i].Execution] = wakes[i]
	}
	together(senders, func(i int) {
		for _, w := range wakes[i*each : (i+1)*each] {
			if err := q.Send(t.Context(), w); err != nil {
				t.Error(err)
			}
		}
	})
	q.Pass(2 * time.Second)
	wantAll(t, q, missing)
}

// wakesTogether sends what a fork of many lanes does.
func wakesTogether(c on[Queue]) {
	t, q := c.t, c.it
	const lanes = 23 // two full batches of SQS, and a rest
	sent, missing := make([]engine.Wake, lanes), map[engine.ID]engine.Wake{}
	for i := range sent {
		lane := machine.Lane{Parent: engine.NewID("flow", "run"), Attempt: 7, Index: i, Count: lanes}
		sent[i] = engine.Wake{Execution: lane.ID(), Lane: &lane, Cause: machine.CauseStart, Due: q.Now(), Sent: q.Now()}
		missing[lane.ID()] = sent[i]
	}
	if err := errors.Join(q.SendAll(t.Context(), sent), q.SendAll(t.Context(), nil)); err != nil {
		t.Fatalf("send %d wakes, and none: %v", lanes, err)
	}
	wantAll(t, q, missing)
}

// wantAll receives wakes until none is due. All that are missing come, as they were sent.
func wantAll(t *testing.T, q Queue, missing map[engine.ID]engine.Wake) {
	t.Helper()
	all := len(missing)
	for {
		got, ok := q.Receive(t)
		if !ok {
			break
		}
		if want, ok := missing[got.Execution]; ok && !sameWake(got, want) {
			t.Errorf("the wake is %+v, want %+v", got, want)
		}
		delete(missing, got.Execution)
		q.Finish(t, got, time.Time{})
	}
	if len(missing) > 0 {
		t.Errorf("%d of %d wakes did not come", len(missing), all)
	}
}
