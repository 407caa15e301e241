package enginetest

import (
	"errors"
	"fmt"
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
}

func interleave(t *testing.T, store Store, turn, deaths int) {
	t.Helper()
	flow := put(t, store, "world", worldFlow)
	plan := &plan{}
	for run := 0; ; run++ {
		w := newWorld(t, store, flow, fmt.Sprintf("race-%d-%d-%d", turn, deaths, run))
		w.start(living)
		for range turn {
			w.turn(living)
		}
		trace := w.race(plan, deaths)
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
	verdict engine.Verdict
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

// race has two workers handle the next message and gives the order of their
// effects.
func (w *world) race(plan *plan, deaths int) (trace []string) {
	w.t.Helper()
	m, ok := w.next()
	if !ok {
		w.t.Fatal("there is no message")
	}
	racers := []*racer{w.race1("a", m.wake), w.race1("b", m.wake)}
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
	w.endRace(m.wake, racers)
	return trace
}

// race1 brings a new worker to its first effect.
func (w *world) race1(name string, wake engine.Wake) *racer {
	r := &racer{name: name, at: make(chan bool), let: make(chan bool)}
	go func() {
		r.verdict, r.err = w.worker(r.alive).Advance(w.t.Context(), wake)
		r.at <- false
	}()
	r.waiting = <-r.at
	return r
}

// endRace puts the message back unless one is done with it.
func (w *world) endRace(wake engine.Wake, racers []*racer) {
	w.t.Helper()
	again := w.clock().Add(lostFor)
	for _, r := range racers {
		switch {
		case r.err != nil && !errors.Is(r.err, errDied):
			w.t.Fatalf("worker %s: %v", r.name, r.err)
		case r.err == nil && r.verdict.PutBack.IsZero():
			return
		case r.err == nil && r.verdict.PutBack.After(again):
			again = r.verdict.PutBack
		}
	}
	if again.After(w.clock().Add(workerLife + time.Second)) {
		w.t.Fatalf("the message was put back until %s, and it is %s", again, w.clock())
	}
	w.send(wake, again)
}
