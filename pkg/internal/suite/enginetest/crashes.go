package enginetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// Crashes is the suite of workers that die: an execution is run as often as it
// has effects, with a worker that dies before each of them, the deletion of
// the message included. It ends as if nothing had happened, with one call
// more at most. The store may keep what one run wrote while the next runs.
func Crashes(t *testing.T, open func(t *testing.T) Store) {
	t.Helper()
	for _, c := range []struct {
		name    string
		deaths  int
		doubled bool
	}{
		{"no worker dies", 0, false},
		{"a worker dies before any effect", 1, false},
		{"two workers die before any two effects", 2, false},
		{"no worker dies and each wake comes twice", 0, true},
		{"a worker dies before any effect and each wake comes twice", 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			crash(t, open(t), c.deaths, c.doubled)
		})
	}
	crashStories(t, open)
}

// crash runs an execution for each way in which so many workers can die.
func crash(t *testing.T, store Store, deaths int, doubled bool) {
	t.Helper()
	flow := put(t, store, "world", worldFlow)
	plan := &plan{}
	plan.limit(store, false)
	for run := 0; ; run++ {
		w := newWorld(t, store, flow, fmt.Sprintf("crash-%d-%t-%d", deaths, doubled, run))
		left, died := deaths, []int{}
		effects := 0
		alive := func() bool {
			effects++
			if left == 0 || plan.choose(2) == 0 {
				return true
			}
			left--
			died = append(died, effects)
			return false
		}
		w.start(mortal(alive))
		if doubled {
			w.double()
		}
		w.finishMortal(alive, doubled)
		if err := w.check(); err != nil {
			t.Fatalf("workers died before effects %v: %v", died, err)
		}
		if most := worldCalls + len(died); w.callCount() > most {
			t.Fatalf("workers died before effects %v: %d calls, want %d at most", died, w.callCount(), most)
		}
		if !plan.next() {
			t.Logf("%d runs", run+1)
			return
		}
	}
}

// mortal is the gate of one worker: once dead, it stays dead.
func mortal(alive gate) gate {
	dead := false
	return func() bool {
		if !dead {
			dead = !alive()
		}
		return !dead
	}
}

// finishMortal delivers messages until none is left, each to a new worker.
func (w *world) finishMortal(alive gate, doubled bool) {
	w.t.Helper()
	for turns := 0; ; turns++ {
		if !w.turn(mortal(alive)) {
			return
		}
		if doubled {
			w.double()
		}
		if turns == 1000 {
			w.t.Fatal("the messages do not end")
		}
	}
}

// double sends every message twice, once each.
func (w *world) double() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range slices.Clone(w.messages) {
		if !w.doubled[key(m)] {
			w.doubled[key(m)] = true
			m.at = m.at.Add(time.Nanosecond)
			w.messages = append(w.messages, m)
		}
	}
}

func key(m message) string {
	if m.task != nil {
		return "task " + m.task.Handle
	}
	return fmt.Sprint(m.wake.Execution, m.wake.Cause, m.wake.Seq)
}

// plan makes choices so that all of them come in turn: run after run the last
// choice that can be another one is.
type plan struct {
	choices, of []int
	made        int
	// sample, unless 0, is how many runs are made of choices that are drawn,
	// where all would be too many. The same run always draws the same.
	sample, run int
	drawn       *rand.Rand
}

// Sampled is the store to a suite that makes more runs than it is quick enough
// for: of each case of [Crashes] and [Interleavings] so many runs are made, with
// orders and deaths that are drawn.
func Sampled(store Store, runs int) Store { return sampled{Store: store, runs: runs} }

// SampledForks is [Sampled] for the cases with forks, which have ten times as many
// runs as the others.
func SampledForks(store Store, runs int) Store { return sampled{Store: store, runs: runs, forks: true} }

type sampled struct {
	Store
	runs  int
	forks bool // only cases with forks
}

// limit leaves the plan no more runs than the store is good for.
func (p *plan) limit(store Store, forks bool) {
	if s, ok := store.(sampled); ok && (forks || !s.forks) {
		p.sample = s.runs
	}
}

// choose is a number below n.
func (p *plan) choose(n int) int {
	if p.sample > 0 {
		return p.draw(n)
	}
	if p.made == len(p.choices) {
		p.choices, p.of = append(p.choices, 0), append(p.of, n)
	}
	p.made++
	return p.choices[p.made-1]
}

// draw is mostly 0, so that what is chosen comes late as often as early.
func (p *plan) draw(n int) int {
	if p.drawn == nil {
		p.drawn = rand.New(rand.NewPCG(uint64(p.run), 0)) //nolint:gosec // guards nothing, counts from 0
	}
	if p.drawn.IntN(8) > 0 {
		return 0
	}
	return p.drawn.IntN(n)
}

// next prepares the next run. It is false after the last.
func (p *plan) next() bool {
	if p.sample > 0 {
		p.run, p.drawn = p.run+1, nil
		return p.run < p.sample
	}
	p.made = 0
	for i := len(p.choices) - 1; i >= 0; i-- {
		if p.choices[i]+1 < p.of[i] {
			p.choices[i]++
			p.choices, p.of = p.choices[:i+1], p.of[:i+1]
			return true
		}
	}
	return false
}
