package enginetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
)

// Rearms is the suite of [engine.Client.Rearm]: each story of [Crashes] is told once for each
// number of messages that were handled before. Then the queues lose all messages, timers and long
// calls included, and the execution and its sub-flow are rearmed, once or twice. It ends as
// otherwise. In the runs of "nothing lost" no message is lost, and the wakes meet those of the
// workers. Of a [Sampled] store each tenth number is tried.
func Rearms(t *testing.T, open func(t *testing.T) Store) {
	t.Helper()
	for i, s := range stories {
		for _, c := range []struct {
			name  string
			lose  bool
			times int
		}{{"all lost", true, 1}, {"all lost, rearmed twice", true, 2}, {"nothing lost", false, 1}} {
			t.Run(s.name+", "+c.name, func(t *testing.T) {
				t.Parallel()
				store := open(t)
				flow := s.put(t, store)
				step := 1
				if _, ok := store.(sampled); ok {
					step = 10
				}
				for handled := i % step; ; handled += step {
					w := s.world(t, store, flow, fmt.Sprintf("rearm-%d-%t-%d-%d", i, c.lose, c.times, handled))
					if !w.rearmed(handled, c.lose, c.times) {
						return
					}
				}
			})
		}
	}
}

// rearmed tells the story until so many messages are handled, rearms the execution and finishes it.
// It reports whether that many messages came.
func (w *storyWorld) rearmed(handled int, lose bool, times int) bool {
	w.t.Helper()
	plan := &plan{sample: 1, run: handled}
	alive := func() bool { w.act(plan); return true }
	w.start(alive)
	reached := true
	for range handled {
		reached = reached && w.turn(alive)
	}
	if lose {
		w.loseMessages()
	}
	for range times {
		w.rearm(lose)
	}
	for turns := 0; w.turn(alive) || w.repeat(); turns++ {
		if turns == 1000 {
			w.t.Fatalf("rearmed after %d messages: the messages do not end: %s", handled, w.story())
		}
	}
	most := 1
	if lose && times > 1 {
		most = 2 // a long call is queued once more each time
	}
	if err := w.check(most); err != nil {
		w.t.Fatalf("rearmed after %d messages: %s: %v", handled, w.story(), err)
	}
	return reached
}

// loseMessages drops all messages, and lets the closers pass that sent their wakes before (rule
// 10).
func (w *storyWorld) loseMessages() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.messages = nil
	w.now = w.now.Add(time.Minute)
}

// rearm rearms the execution, and the sub-flow that it waits for.
func (w *storyWorld) rearm(calls bool) {
	w.t.Helper()
	ids := []engine.ID{w.id()}
	if child := w.asker(); w.nested && child != (engine.ID{}) {
		ids = append(ids, child)
	}
	found, err := w.worker(living).client().Rearm(w.t.Context(), ids, engine.RearmRequest{Calls: calls})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range found {
		if r.Err == nil && len(r.Needs) == 0 && !slices.ContainsFunc(w.messages, func(m message) bool { return m.wake.Execution == r.Execution }) {
			w.t.Errorf("execution %s needs nothing", r.Execution)
		}
	}
}
