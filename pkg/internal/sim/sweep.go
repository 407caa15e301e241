package sim

import (
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// sweptSeeds are the last of the fixed seeds in whose runs all wakes are lost and only the sweeps
// of the janitor find that at first.
const sweptSeeds = 20_450

// mostSweeps is how many sweeps come before clients rearm all executions.
const mostSweeps = 12

// drawsSweeps reports whether sweeps have to find what a loss left in a seed's run.
func drawsSweeps(seed uint64) bool {
	return seed > outageSeeds && (seed <= sweptSeeds || seed%32 == 17)
}

// beginSweeps has the queue of wakes lose all messages, and those that are sent within a minute,
// and the janitor sweep.
func (w *world) beginSweeps() {
	if w.alone {
		w.swept = false
		return
	}
	first := w.between(0, 2*time.Minute)
	if w.chance(2) {
		first /= 8
	}
	w.after(first, func() {
		w.lose()
		w.losesUntil = w.now + w.between(0, time.Minute)
		w.after(w.between(0, janitorPause), func() { w.sweepAll(1) })
	})
}

// sweepAll has the janitor look at all executions, and at the end clients rearm them: no sweep
// finds a token that was closed without a wake and has no deadline.
func (w *world) sweepAll(number int) {
	w.lastSweep = w.now
	for _, each := range w.worlds {
		each.checkSwept()
		each.sweep()
	}
	if number < mostSweeps {
		w.after(janitorPause, func() { w.sweepAll(number + 1) })
		return
	}
	for _, each := range w.worlds {
		each.failed++
		w.after(rearmPatience, each.rearm)
	}
}

// sweep has the janitor rearm the execution if it is overdue, and try again after an error.
func (w *world) sweep() {
	w.act(0, kindJanitor, time.Hour, func(a *actor) {
		ids := []engine.ID{w.id}
		found, err := a.client().Rearm(a.ctx, ids, engine.RearmRequest{DryRun: true})
		if err == nil && found[0].Overdue > engine.Lateness {
			a.note("finds it overdue by %s", found[0].Overdue)
			w.failed++ // what the wake sends may be sent before
			_, err = a.client().Rearm(a.ctx, ids, engine.RearmRequest{})
		}
		if err != nil || a.dead {
			w.after(time.Second, w.sweep)
		}
	})
}

// checkSwept: a log that was overdue at the sweep before has continued. A sweep sends a wake to
// what is overdue by [engine.Lateness].
func (w *world) checkSwept() {
	for _, l := range w.store.order {
		if late := w.now - l.due(); late > engine.Lateness+janitorPause+w.slack()-w.sweptPace() {
			l.violate(Overdue, "item %d of %q waits although it was to continue %s ago", len(l.items)-1, l.name, late)
		}
	}
}

// endOutage looks at what the sweeps left when nothing happens any more. Then the outage is over,
// and clients rearm all executions again: the janitor drops their dead wakes, unless the execution
// is overdue.
func (w *world) endOutage() {
	for _, each := range w.worlds {
		for _, l := range each.store.order {
			if late := w.lastSweep - l.due(); late > engine.Lateness {
				l.violate(Overdue, "nothing continues item %d of %q, which the last sweep found overdue by %s", len(l.items)-1, l.name, late)
			}
		}
	}
	if w.outage.to > w.now {
		w.outage.to = w.now
		for _, each := range w.worlds {
			each.failed++
			each.rearm()
		}
	}
}

// sweptPace is how much longer everything may take in a run in which sweeps come before clients
// rearm.
func (w *world) sweptPace() time.Duration {
	if w.swept {
		return (mostSweeps + 1) * janitorPause
	}
	return 0
}

// due is when the log is to continue without an outcome from outside, [never] for a log that has
// ended or does not exist.
func (l *log) due() time.Duration {
	state := l.last()
	if len(l.items) == 0 || state.Status.Final() {
		return never
	}
	at := l.continues(state)
	if state.Timer.Tag != "" {
		at = min(at, state.Timer.Due.Sub(epoch))
	}
	if l.lane == nil && state.Ending == nil {
		at = min(at, l.deadline(state.Started))
	} else if l.lane != nil {
		at = min(at, l.toStop())
	}
	return max(at, l.items[len(l.items)-1].put)
}

// continues is when something has happened that the state waits for and that is not a timer,
// [never] if it has not. What a worker does at once happens as soon as the state is entered.
func (l *log) continues(state machine.State) time.Duration {
	entered, waiting := l.items[len(l.items)-1].put, state.Waiting
	switch {
	case forLanes(state):
		at := l.lanesEnd(state)
		for _, lane := range l.lanes(state) {
			if len(lane.items) == 0 {
				at = min(at, entered)
			}
		}
		return at
	case waiting == nil, state.Ending != nil:
		return entered
	case waiting.Child() != nil:
		at := never
		if child := l.worldOf(waiting.Child().ID()); child != nil {
			at, _ = child.own().since(isFinal)
		}
		return at
	case waiting.Token() != nil && !waiting.Submitted() && waiting.Token().Phase != machine.TokenQueued,
		waiting.For == machine.WaitingForCall && waiting.Due.IsZero():
		return entered
	}
	return never
}

// dueInside is when the log or one of its lanes is to continue.
func (l *log) dueInside() time.Duration {
	at := l.due()
	if state := l.last(); forLanes(state) {
		for _, lane := range l.lanes(state) {
			at = min(at, lane.dueInside())
		}
	}
	return at
}
