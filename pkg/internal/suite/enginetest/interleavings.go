package enginetest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
)

// Interleavings is the suite of two workers that are given the same wake at
// once, for each wake of an execution: their effects come in every order, and
// one of them may die before any of its effects. The message is deleted for
// both as soon as one is done with it. The execution ends as if nothing had
// happened. It is many thousands of runs.
func Interleavings(t *testing.T, open func(t *testing.T) Store) {
	t.Helper()
	for turn, name := range []string{"the start", "the first timer", "the last timer"} {
		for _, deaths := range []int{0, 1} {
			t.Run(fmt.Sprintf("%s, %d die", name, deaths), func(t *testing.T) {
				t.Parallel()
				interleave(t, open(t), turn, deaths)
			})
		}
	}
	interleaveStories(t, open)
}

func interleave(t *testing.T, store Store, turn, deaths int) {
	t.Helper()
	flow := put(t, store, "world", worldFlow)
	plan := &plan{}
	plan.limit(store, false)
	for run := 0; ; run++ {
		w := newWorld(t, store, flow, fmt.Sprintf("race-%d-%d-%d", turn, deaths, run))
		w.start(living)
		for range turn {
			w.turn(living)
		}
		trace := w.raceNext(plan, deaths)
		w.finish(living)
		if err := w.check(); err != nil {
			t.Fatalf("after %s: %v", strings.Join(trace, " "), err)
		}
		if most := worldCalls + 1 + deaths; w.callCount() > most {
			t.Fatalf("after %s: %d calls, want %d at most", strings.Join(trace, " "), w.callCount(), most)
		}
		if !plan.next() {
			t.Logf("%d runs", run+1)
			return
		}
	}
}

// racer is a worker whose effects wait to be let through.
type racer struct {
	name    string
	at      chan bool // true at each effect, false at the end
	let     chan bool // whether it lives
	waiting bool
	died    bool
	message *message // nil for one who has none
	verdict engine.Disposition
	err     error
}

func (r *racer) alive() bool {
	if r.died {
		return false
	}
	r.at <- true
	r.died = !<-r.let
	return !r.died
}

// raceNext has two workers handle the next message and gives the order of
// their effects.
func (w *world) raceNext(plan *plan, deaths int) (trace []string) {
	w.t.Helper()
	m, ok := w.next()
	if !ok {
		w.t.Fatal("there is no message")
	}
	return w.race(plan, deaths, w.racer("a", m), w.racer("b", m))
}

// race lets the effects of racers through in an order of the plan's and gives
// it.
func (w *world) race(plan *plan, deaths int, racers ...*racer) (trace []string) {
	w.t.Helper()
	for {
		var ready []*racer
		for _, r := range racers {
			if r.waiting {
				ready = append(ready, r)
			}
		}
		if len(ready) == 0 {
			break
		}
		choices := len(ready)
		if deaths > 0 {
			choices *= 2
		}
		choice := plan.choose(choices)
		r, lives := ready[choice%len(ready)], choice < len(ready)
		step := r.name
		if !lives {
			deaths--
			step += "-dies"
		}
		trace = append(trace, step)
		r.let <- lives
		r.waiting = <-r.at
	}
	w.endRace(racers)
	return trace
}

// racer is a new worker with a message, brought to its first effect.
func (w *world) racer(name string, m message) *racer {
	r := newRacer(name, func(r *racer) {
		if m.task != nil {
			r.verdict, r.err = w.worker(r.alive).RunTask(w.t.Context(), *m.task)
			return
		}
		r.verdict, r.err = w.worker(r.alive).Advance(w.t.Context(), m.wake)
	})
	r.message = &m
	return r
}

// newRacer advances an actor to its first effect.
func newRacer(name string, act func(r *racer)) *racer {
	r := &racer{name: name, at: make(chan bool), let: make(chan bool)}
	go func() {
		act(r)
		r.at <- false
	}()
	r.waiting = <-r.at
	return r
}

// endRace redelivers each message that was not acknowledged.
func (w *world) endRace(racers []*racer) {
	w.t.Helper()
	lost := w.clock().Add(lostFor)
	left := map[string]message{}
	for _, r := range racers {
		if r.message == nil {
			continue
		}
		m, seen := left[key(*r.message)]
		if !seen {
			m = *r.message
			m.at = lost
		}
		if r.verdict.RetryAt.After(m.at) {
			m.at = r.verdict.RetryAt
		}
		left[key(m)] = m
		longest := workerDeadAfter + time.Second
		if m.task != nil {
			longest = begunFor
		}
		if m.at.After(w.clock().Add(longest)) {
			w.t.Fatalf("the message was put back until %s, and it is %s", m.at, w.clock())
		}
	}
	for _, r := range racers {
		switch {
		case r.err != nil && !errors.Is(r.err, errDied):
			w.t.Fatalf("worker %s: %v", r.name, r.err)
		case r.err == nil && r.message != nil && r.verdict.RetryAt.IsZero():
			delete(left, key(*r.message))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		w.put(left[name])
	}
}
