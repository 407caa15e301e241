package sim

import (
	"maps"
	"slices"
	"testing"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// TestRunsMeetAllConstructs counts in how many of 600 runs each construct is met that the contract
// of lanes and sub-flows is about. What no run meets, no invariant looks at.
func TestRunsMeetAllConstructs(t *testing.T) {
	t.Parallel()
	const seeds = 200
	runs := map[string]int{}
	for _, first := range []uint64{awaitedSeeds, claimedSeeds, handledSeeds} {
		for seed := first + 1; seed <= first+seeds; seed++ {
			w := newWorld(seed)
			w.run(seed)
			for name := range w.constructs() {
				runs[name]++
			}
		}
	}
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(inItems)), slices.Sorted(maps.Keys(inLogs))) {
		if t.Logf("%3d of %d runs: %s", runs[name], 3*seeds, name); runs[name] == 0 {
			t.Errorf("none of %d runs meets %s", 3*seeds, name)
		}
	}
}

// constructs returns those that the run met.
func (w *world) constructs() map[string]bool {
	found := map[string]bool{}
	for _, each := range w.worlds {
		for _, l := range each.store.order {
			l.addMet(found)
		}
	}
	return found
}

func (l *log) addMet(found map[string]bool) {
	for name, is := range inLogs {
		if len(l.items) > 0 && is(l) {
			found[name] = true
		}
	}
	for _, item := range l.items {
		for name, is := range inItems {
			if waiting := item.state.Waiting; waiting != nil && is(met{l, item.state, waiting}) {
				found[name] = true
			}
		}
	}
}

// met is an item whose state waits for something.
type met struct {
	*log
	state   machine.State
	waiting *machine.Waiting
}

// inItems are what a state may wait for.
var inItems = map[string]func(m met) bool{
	"a claimed call in a lane":   func(m met) bool { return m.lane != nil && m.waiting.For == machine.WaitingForClaim },
	"a retry in a lane":          func(m met) bool { return m.lane != nil && m.waiting.For == machine.WaitingForRetry },
	"polls in a lane":            func(m met) bool { return m.lane != nil && m.waiting.For == machine.WaitingForPoll },
	"a wait in a lane":           func(m met) bool { return m.lane != nil && m.waiting.For == machine.WaitingForInstant },
	"a hand-over in a lane":      func(m met) bool { return m.lane != nil && m.waiting.For == machine.WaitingForNextLogItem },
	"a call left to a later one": func(m met) bool { return m.waiting.For == machine.WaitingForCall && !m.waiting.Due.IsZero() },
	"a callback in a lane":       func(m met) bool { return m.taskIn(functionSubmit) },
	"a long call in a lane":      func(m met) bool { return m.taskIn(functionLong) },
	"a job in a lane":            func(m met) bool { return m.taskIn(functionJob) },
	"a heartbeat in a lane": func(m met) bool {
		return m.lane != nil && m.waiting.Handle() != "" && !m.record(m.waiting.Handle()).LastBeat.IsZero()
	},
	"four lanes or more":           func(m met) bool { return m.waiting.Fork() != nil && m.waiting.Fork().Lanes >= 4 },
	"a fork in a fork":             func(m met) bool { return m.lane != nil && forLanes(m.state) },
	"three levels of forks":        func(m met) bool { return m.lane != nil && m.parent.lane != nil && forLanes(m.state) },
	"a stop of lanes":              func(m met) bool { return endsLanes(m.state, machine.StatusStopped) },
	"a failure that ends lanes":    func(m met) bool { return endsLanes(m.state, machine.StatusFailed) },
	"a time limit that ends lanes": func(m met) bool { return endsLanes(m.state, machine.StatusTimedOut) },
	"a lane that ends while its token is open": func(m met) bool {
		return m.lane != nil && m.state.Ending != nil && m.waiting.Token() != nil
	},
	"a fork that closes":           func(m met) bool { return m.state.Ending == nil && m.state.StopsLanes() },
	"a stop of a fork that closes": func(m met) bool { return m.state.Ending != nil && forLanes(m.state) && m.waiting.Fork().Closing != nil },
	"a fork in a lane that closes": func(m met) bool { return m.lane != nil && m.state.Ending == nil && m.state.StopsLanes() },
	"a pause before a retry of a fork": func(m met) bool {
		return m.waiting.For == machine.WaitingForRetry && m.flow.hasItems(m.waiting.Attempt.Step)
	},
	"a fork that is tried again": func(m met) bool { return forLanes(m.state) && len(m.waiting.Retried) > 0 },
	"a report of failed items":   func(m met) bool { return m.waiting.For == machine.WaitingForReport },
	"a stop of a lane that reports": func(m met) bool {
		return m.waiting.For == machine.WaitingForReport && m.lane != nil && m.parent.last().Status == machine.StatusStopped
	},
	"a sub-flow of a lane":              func(m met) bool { return m.lane != nil && m.waiting.Child() != nil },
	"a sub-flow of a sub-flow":          func(m met) bool { return m.starters != nil && m.waiting.Child() != nil },
	"a fork in a sub-flow":              func(m met) bool { return m.starters != nil && forLanes(m.state) },
	"a sub-flow and a callback":         func(m met) bool { return m.passesOn() },
	"a stop of a sub-flow":              func(m met) bool { return m.leaves(token.ClosedByStop) },
	"a time-out of a sub-flow":          func(m met) bool { return m.leaves(token.ClosedByDeadline) },
	"an outcome by hand for a sub-flow": func(m met) bool { return m.leaves(token.ClosedByHand) },
}

// inLogs are what a log may show as a whole.
var inLogs = map[string]func(l *log) bool{
	"a lane that is started twice": func(l *log) bool {
		return l.lane != nil && l.sends[l.causeOf(engine.Wake{Cause: machine.CauseStart})] > 1
	},
	"a lane that is stopped twice": func(l *log) bool {
		return l.lane != nil && l.sends[l.causeOf(engine.Wake{Cause: machine.CauseStop})] > 1
	},
	"a lane that is stopped before it begins": func(l *log) bool {
		return l.lane != nil && l.items[0].state.Status == machine.StatusStopped
	},
	"a lane that ends by a defect": func(l *log) bool { return l.lane != nil && l.last().Error == machine.ErrorInternal },
	"a fork that is caught": func(l *log) bool {
		return slices.ContainsFunc(l.history(), func(e machine.Event) bool {
			return e.Type == machine.StepFailed && l.flow.hasItems(e.Step) && !e.Output.IsMissing()
		})
	},
	"too many failed items": func(l *log) bool { return l.lane != nil && l.last().Error == machine.ErrorTolerance },
	"a fork that goes on after failed items": func(l *log) bool {
		return l.lane != nil && l.last().Status == machine.StatusSucceeded && l.last().Tolerance != nil && l.last().Tolerance.Failed > 0
	},
	"a lane and a restart": func(l *log) bool {
		return l.lane != nil && l.items[0].state.Generation != l.last().Generation && isFinal(l.last())
	},
	"an ending that a restart interrupts": func(l *log) bool {
		return isFinal(l.last()) && slices.ContainsFunc(l.items, func(i item) bool {
			return i.state.Ending != nil && i.state.Ending.Generation != l.last().Generation
		})
	},
	"a sub-flow that nothing awaits": func(l *log) bool { return l.lane == nil && l.starters != nil && l.awaiting == nil },
	"a sub-flow of two steps":        func(l *log) bool { return l.lane == nil && len(l.starters) > 1 && l.execution == "named" },
	"a sub-flow that fails": func(l *log) bool {
		return l.lane == nil && l.awaiting != nil && l.last().Status == machine.StatusFailed
	},
}

// taskIn reports whether a lane waits for the token of a task that calls the function.
func (m met) taskIn(function string) bool {
	task := m.flow.taskOf(m.waiting.Attempt.Step)
	return m.lane != nil && m.waiting.Token() != nil && task.Resource.Function == function
}

// passesOn reports whether a step passed its token to a sub-flow.
func (m met) passesOn() bool {
	task := m.flow.taskOf(m.waiting.Attempt.Step)
	return task != nil && task.Resource.Subflow && task.Pattern == flow.PatternWaitForCallback
}

// leaves reports whether a step stopped waiting for its sub-flow in this way.
func (m met) leaves(by token.Closer) bool {
	return m.waiting.Child() != nil && m.record(m.waiting.Handle()).ClosedBy == by
}

// endsLanes reports whether the end of the state was decided while it waits for lanes.
func endsLanes(s machine.State, as machine.Status) bool {
	return forLanes(s) && s.Ending != nil && s.Ending.Status == as
}
