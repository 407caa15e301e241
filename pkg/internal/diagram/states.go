package diagram

import (
	"fmt"
	"strings"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
)

// States returns the states of an execution's steps, by the index of the step, from its events.
func States(flow *flow.Flow, events []machine.Event) map[int]State {
	tallies, hasEnded := map[int]*tally{}, false
	for _, e := range events {
		if e.Step == machine.NoStep {
			hasEnded = hasEnded || e.Type != machine.ExecutionStarted
			continue
		}
		t := tallies[e.Step]
		if t == nil {
			t = &tally{}
			tallies[e.Step] = t
		}
		t.count(e)
	}
	states := map[int]State{}
	for i, step := range flow.All {
		states[i] = tallies[i].state(step, hasEnded)
	}
	return states
}

// AddBefore marks steps of a redriven execution. It marks the steps with results from the earlier
// execution, which has the name and the events. The redrive began with the step called first, at
// its last entry in the earlier execution; "" stands for the end of the earlier execution.
func AddBefore(states map[int]State, def *flow.Flow, name string, earlier []machine.Event, first string) {
	mark := func(step *flow.Step) {
		if states[step.Index].Status == Pending {
			states[step.Index] = State{Before, "before, in " + name}
		}
	}
	end := len(earlier)
	for i, e := range earlier {
		if e.Type != machine.StepEntered || def.All[e.Step].Name != first {
			continue
		}
		end = i
		for around := def.All[e.Step].Series.Owner; around != nil; around = around.Series.Owner {
			mark(around)
		}
	}
	for _, e := range earlier[:end] {
		if e.Type == machine.StepExited || e.Type == machine.StepFailed && !e.Output.IsMissing() { // a catch handled it
			mark(def.All[e.Step])
		}
	}
}

// tally counts the events of a step, which a loop or a foreach enters often.
type tally struct {
	entered, exited, failed, iterations int
	tolerated                           int // iterations that failed
	isWaiting                           bool
	last                                string // the error of the last failure
}

func (t *tally) count(e machine.Event) {
	switch e.Type { //nolint:exhaustive // the others change nothing
	case machine.StepEntered:
		t.entered++
	case machine.TaskScheduled:
		t.isWaiting = false
	case machine.StepStarted, machine.TaskSubmitted: // a fork that starts is tried again
		t.isWaiting, t.iterations, t.tolerated = true, 0, 0
	case machine.StepExited:
		t.exited++
	case machine.StepFailed:
		t.failed++
		t.last = e.Error
	case machine.IterationExited, machine.BranchExited:
		if t.iterations++; e.Error != "" {
			t.tolerated++
		}
	}
}

// state is Pending for a step without events.
func (t *tally) state(step *flow.Step, hasEnded bool) State {
	if t == nil || t.entered == 0 {
		return State{Status: Pending}
	}
	open := t.entered - t.exited - t.failed
	s := State{Status: Succeeded, Note: t.note(step, open)}
	switch {
	case open > 0 && hasEnded:
		s = State{Failed, "ended with the execution"}
	case open > 0 && (t.isWaiting || step.IsFork()):
		s.Status = Waiting
	case open > 0:
		s.Status = Running
	case t.failed > 0:
		s.Status = Failed
	}
	return s
}

// note returns details that the status does not have, "" for none.
func (t *tally) note(step *flow.Step, open int) string {
	var parts []string
	switch {
	case step.IsFork() && open == 1 && t.iterations > 0:
		parts = append(parts, fmt.Sprint(t.iterations, " ended"))
	case t.entered == 1 && t.last != "":
		return t.last
	}
	if t.tolerated > 0 && (t.entered == 1 || open == 1) {
		parts = append(parts, flow.Count(t.tolerated, "iteration")+" failed")
	}
	if t.entered == 1 || parts != nil {
		return strings.Join(parts, ", ")
	}
	for _, of := range []struct {
		n    int
		what string
	}{{open, "open"}, {t.exited, "done"}, {t.failed, "failed"}} {
		if of.n > 0 {
			parts = append(parts, fmt.Sprint(of.n, " ", of.what))
		}
	}
	return strings.Join(parts, ", ")
}
