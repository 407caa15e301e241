package enginetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/machine"
)

// meeting is who meets at one execution: "start", "timer", "token" and "stop"
// are workers with these wakes, "task" one with the task of the queue, "answer"
// one with the wake that the task leads to, "lane 0" one with the start of that lane, and "hand" a
// client that closes the token.
type meeting struct {
	story  string
	racers []string
	deaths int
}

var meetings = []meeting{
	{"a callback", []string{"start", "stop"}, 0},
	{"a callback", []string{"token", "token"}, 1},
	{"a callback", []string{"token", "timer"}, 1},
	{"a callback", []string{"token", "stop"}, 1},
	{"a callback", []string{"timer", "stop"}, 1},
	{"a callback", []string{"timer", "hand"}, 1},
	{"a callback", []string{"stop", "hand"}, 1},
	{"a callback", []string{"start", "start"}, 1},
	{"a callback and heartbeats", []string{"timer", "hand"}, 1},
	{"a callback at most once", []string{"start", "stop"}, 1},
	{"a callback at most once", []string{"start", "start"}, 1},
	{"a claimed call", []string{"start", "start"}, 1},
	{"a claimed call", []string{"start", "stop"}, 1},
	{"a long call", []string{"task", "task"}, 1},
	{"a long call and a stop", []string{"task", "stop"}, 1},
	{"a long call at most once", []string{"task", "task"}, 1},
	{"a long call at most once and a stop", []string{"task", "stop"}, 1},
	{"a slow submission", []string{"task", "task"}, 1},
	{"a slow submission", []string{"answer", "token"}, 1},
	{"a slow submission", []string{"answer", "hand"}, 1},
	{"a slow submission", []string{"answer", "stop"}, 1},
	{"a slow submission and a deadline", []string{"answer", "timer"}, 1},
	{"a slow submission at most once", []string{"task", "task"}, 1},
	{"a retry of a call", []string{"timer", "timer"}, 1},
	{"a retry of a callback", []string{"timer", "hand"}, 1},
	{"polls", []string{"timer", "timer"}, 1},
	{"polls", []string{"timer", "stop"}, 1},
	{"long polls", []string{"task", "task"}, 1},
	{"a time limit", []string{"timer", "hand"}, 1},
	{"a time limit", []string{"timer", "token"}, 1},
	{"a time limit", []string{"timer", "stop"}, 1},
	{"a submit failure", []string{"start", "start"}, 1},
	{"a submit failure", []string{"start", "stop"}, 0},
	{"a callback", []string{"timer", "stop", "hand"}, 0},
	{"a fork", []string{"start", "start"}, 1},
	{"a fork", []string{"lane 0", "lane 0"}, 1},
	{"a fork", []string{"lane 0", "lane 1"}, 1},
	{"a fork and a stop", []string{"start", "stop"}, 1},
	{"a fork and a stop", []string{"lane 0", "stop"}, 1},
	{"a fork and a stop", []string{"lane 0", "lane 0", "stop"}, 1},
	{"a fork and a stop", []string{"lane 0", "lane 1", "stop"}, 1},
	{"a fork with a wait and a stop", []string{"lane 0", "stop"}, 1},
	{"a lane that fails", []string{"lane 0", "lane 1"}, 1},
	{"a lane that fails", []string{"lane 0", "lane 1", "lane 2"}, 1},
	{"a lane that fails and a stop", []string{"lane 0", "lane 1", "stop"}, 1},
	{"a fork in a fork and a stop", []string{"lane 0", "stop", "lane 1"}, 1},
	{"a sub-flow and a stop", []string{"start", "stop"}, 1},
	{"a sub-flow and a stop", []string{"start", "start"}, 1},
}

// interleaveStories has two workers, or a worker and a client, race in
// the middle of a story: their effects come in every order.
func interleaveStories(t *testing.T, open func(t *testing.T) Store) {
	t.Helper()
	for i, m := range meetings {
		for deaths := range m.deaths + 1 {
			name := fmt.Sprintf("%s: %s, %d die", m.story, strings.Join(m.racers, " and "), deaths)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				m.meet(t, open(t), fmt.Sprintf("meeting-%d-%d", i, deaths), deaths)
			})
		}
	}
}

func (m meeting) meet(t *testing.T, store Store, name string, deaths int) {
	t.Helper()
	s := stories[slices.IndexFunc(stories, func(s story) bool { return s.name == m.story })]
	flow := s.put(t, store)
	plan := &plan{}
	if len(m.racers) > 2 || s.child != "" {
		plan.sample = 1000
	}
	plan.limit(store, s.forks)
	for run := 0; ; run++ {
		w := s.world(t, store, flow, fmt.Sprintf("%s-%d", name, run))
		w.actors = []*actor{w.hand()} // who repeats his closing when nothing else goes on
		w.start(living)
		if !slices.Contains(m.racers, "start") {
			w.turn(living)
		}
		var racers []*racer
		for i, role := range m.racers {
			racers = append(racers, w.join(fmt.Sprintf("%s-%d", role, i+1), role))
		}
		w.trace = w.race(plan, deaths, racers...)
		for turns := 0; w.turn(living) || w.repeat(); turns++ {
			if turns == 1000 {
				t.Fatalf("the messages do not end: %s", w.story())
			}
		}
		if err := w.check(len(m.racers) + deaths); err != nil {
			t.Fatalf("%s: %v", w.story(), err)
		}
		if !plan.next() {
			t.Logf("%d runs", run+1)
			return
		}
	}
}

// join advances an actor with a role to its first effect.
func (w *storyWorld) join(name, role string) *racer {
	w.t.Helper()
	if role == "hand" {
		steps := w.hand().steps
		return newRacer(name, func(r *racer) {
			for _, step := range steps {
				if !r.alive() {
					return
				}
				step()
			}
		})
	}
	return w.racer(name, w.messageFor(role))
}

// messageFor gives the message of a role. Two of one role share theirs.
func (w *storyWorld) messageFor(role string) message {
	w.t.Helper()
	switch role {
	case "stop":
		if stop := w.stop(); !w.stopped {
			stop.steps[0]()
			stop.steps[1]()
		}
		return w.find(func(m message) bool { return m.wake.Cause == machine.CauseStop && m.wake.Lane == nil })
	case "token":
		if hand := w.hand(); w.told == nil {
			hand.steps[0]()
			hand.steps[1]()
		}
		return w.find(func(m message) bool { return m.task == nil && m.wake.Cause == w.handle() })
	case "task":
		return w.find(func(m message) bool { return m.task != nil })
	case "answer":
		if !w.asked() {
			w.deliver(w.messageFor("task"), living)
		}
		return w.find(func(m message) bool { return m.wake.Cause == machine.CauseReply(w.handle()) })
	case "lane 0", "lane 1", "lane 2":
		return w.find(func(m message) bool {
			return m.wake.Lane != nil && fmt.Sprintf("lane %d", m.wake.Lane.Index) == role && m.wake.Cause == machine.CauseStart
		})
	case "start":
		return w.find(func(m message) bool { return m.wake.Cause == machine.CauseStart })
	}
	timer := w.state().Timer
	m := w.find(func(m message) bool { return m.task == nil && m.wake.Cause == timer.Tag })
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = timer.Due
	return m
}

// find receives a message, or returns the one that was received before.
func (w *storyWorld) find(is func(message) bool) message {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := slices.IndexFunc(w.messages, is); i >= 0 {
		m := w.messages[i]
		w.messages = slices.Delete(w.messages, i, i+1)
		w.taken = append(w.taken, m)
		return m
	}
	if i := slices.IndexFunc(w.taken, is); i >= 0 {
		return w.taken[i]
	}
	w.t.Fatalf("there is no such message among %+v", w.messages)
	return message{}
}
