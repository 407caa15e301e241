package flowtest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// Coverage says which parts of a flow executions went through: its steps, the branches of its
// choices, its tolerated failures, its retries and the entries of its catches. The zero value
// covers nothing of no flow.
type Coverage struct {
	parts []string // all, in the order of the flow
	met   map[string]bool
}

// partsOf lists the parts of a flow.
func partsOf(def *flow.Flow) (parts []string) {
	for _, step := range def.All {
		parts = append(parts, "step "+step.Name)
		if choice, ok := step.Kind.(*flow.Choice); ok {
			for i := range choice.Branches {
				parts = append(parts, branchOf(step, choice, i))
			}
			if choice.Default != nil || !def.IsMachine { // without Default a machine fails
				parts = append(parts, branchOf(step, choice, len(choice.Branches)))
			}
		}
		if foreach, ok := step.Kind.(*flow.Foreach); ok && foreach.Tolerance.IsSet() {
			parts = append(parts, toleranceOf(step))
		}
		handlers := step.Handlers()
		if handlers == nil {
			continue
		}
		for _, policy := range handlers.Retry {
			if policy.MaxAttempts > 0 {
				parts = append(parts, handlerOf("retry", step, policy.Errors))
			}
			parts = append(parts, lastRetryOf(step, policy))
		}
		for _, entry := range handlers.Catch {
			parts = append(parts, handlerOf("catch", step, entry.Errors))
		}
	}
	return parts
}

// branchOf names a branch of a choice. The one behind the last is for inputs that meet no
// condition.
func branchOf(step *flow.Step, choice *flow.Choice, i int) string {
	if i == len(choice.Branches) {
		return fmt.Sprintf("choice %s: otherwise", step.Name)
	}
	return fmt.Sprintf("choice %s: %s", step.Name, choice.Branches[i].Text)
}

// toleranceOf names the failed iterations that a foreach tolerates.
func toleranceOf(step *flow.Step) string { return "tolerance " + step.Name + ": a failed iteration" }

// handlerOf names a policy of retry or an entry of catch.
func handlerOf(what string, step *flow.Step, errors []string) string {
	return what + " " + step.Name + ": " + strings.Join(errors, ", ")
}

// lastRetryOf names the failure of a step after the last retry of a policy.
func lastRetryOf(step *flow.Step, policy flow.Retry) string {
	return handlerOf("retry", step, policy.Errors) + fmt.Sprintf(" (a failure after maxAttempts: %d)", policy.MaxAttempts)
}

// tries counts the retries and failures of one step.
type tries struct {
	retried []int // by policy
	failed  int   // the policy of the last failure, -1 for none
	missed  bool  // whether the last attempt missed a heartbeat
}

// triedStep is a step of an execution or a lane.
type triedStep struct {
	log  machine.ID
	step int
}

// retries follows the attempts of tasks and forks in a history.
type retries struct {
	steps map[triedStep]*tries
	// inside has the error of the last step that failed inside of a fork, or the error of too many
	// failed iterations, by the fork's index: a failed attempt of a fork has no event.
	inside map[int]string
}

// add adds an event of a step, and returns the part of the flow that it covers, "" for none.
func (r retries) add(e machine.Event, step *flow.Step, mayMatch matcher) string {
	if e.Type == machine.StepFailed {
		for _, fork := range machine.ForksAround(step) {
			r.inside[fork.Index] = e.Error
		}
	}
	handlers := step.Handlers()
	if handlers == nil {
		return ""
	}
	policies, key := handlers.Retry, triedStep{e.Log, e.Step}
	t := r.steps[key]
	if e.Type == machine.StepEntered || t == nil {
		t = &tries{retried: make([]int, len(policies)), failed: -1}
		r.steps[key] = t
	}
	if e.Type != machine.StepFailed {
		t.missed = e.ClosedBy == token.ClosedByHeartbeat
	}
	policyOf := func(failure string) int {
		return slices.IndexFunc(policies, func(policy flow.Retry) bool {
			return mayMatch(policy.Errors, token.Outcome{Error: failure, Missed: t.missed})
		})
	}
	again := e.Type == machine.TaskScheduled || e.Type == machine.StepStarted
	if step.IsFork() && (again || e.Type == machine.StepFailed) {
		t.failed = policyOf(r.inside[step.Index])
	}
	switch {
	case e.Type == machine.TaskFailed, e.Type == machine.TaskSubmitFailed, e.Type == machine.TaskTimedOut:
		t.failed = policyOf(e.Error)
	case t.failed < 0:
	case again:
		policy := policies[t.failed]
		t.retried[t.failed]++
		t.failed = -1
		return handlerOf("retry", step, policy.Errors)
	case e.Type == machine.StepFailed && t.retried[t.failed] == policies[t.failed].MaxAttempts:
		return lastRetryOf(step, policies[t.failed])
	}
	return ""
}

// covered reads the path of an execution from its history.
func covered(def *flow.Flow, events []machine.Event) Coverage {
	c, tried := Coverage{partsOf(def), map[string]bool{}}, retries{map[triedStep]*tries{}, map[int]string{}}
	mayMatch, tooMany := matcherOf(def), token.Failure(machine.ErrorTolerance, "")
	if def.Named != nil {
		tooMany = def.Named(tooMany)
	}
	choices := map[machine.ID]*flow.Step{} // the choice that a log has left last
	for _, e := range events {
		if e.Step == machine.NoStep {
			continue
		}
		step := def.All[e.Step]
		if choice, ok := step.Kind.(*flow.Choice); ok && def.IsMachine && e.Type == machine.StepExited {
			choices[e.Log] = step
		} else if ok && !def.IsMachine && e.Type == machine.StepEntered {
			scope := expr.Scope{Self: e.Input}
			i := slices.IndexFunc(choice.Branches, func(b flow.Branch) bool { return b.Condition.Holds(&scope) })
			c.met[branchOf(step, choice, (i+len(choice.Branches)+1)%(len(choice.Branches)+1))] = true
		}
		if e.Type == machine.IterationExited && e.Error != "" {
			c.met[toleranceOf(step)] = true
			tried.inside[e.Step] = tooMany.Error
		}
		c.met[tried.add(e, step, mayMatch)] = true
		if handlers := step.Handlers(); handlers != nil && e.Type == machine.StepFailed {
			failure := token.Outcome{Error: e.Error, Missed: tried.steps[triedStep{e.Log, e.Step}].missed}
			if i := slices.IndexFunc(handlers.Catch, func(entry flow.Catch) bool { return mayMatch(entry.Errors, failure) }); i >= 0 {
				c.met[handlerOf("catch", step, handlers.Catch[i].Errors)] = true
			}
		}
		if e.Type == machine.StepEntered {
			c.met["step "+step.Name] = true
			c.meetBranches(choices[e.Log], step)
			delete(choices, e.Log)
		}
	}
	return c
}

// meetBranches covers the rules of a choice of a machine, nil for none, that lead to a state. The
// history does not tell rules with the same Next.
func (c Coverage) meetBranches(step, next *flow.Step) {
	if step == nil {
		return
	}
	choice, _ := step.Kind.(*flow.Choice)
	for i, branch := range choice.Branches {
		if branch.Goto == next {
			c.met[branchOf(step, choice, i)] = true
		}
	}
	if choice.Default != nil && choice.Default.Goto == next {
		c.met[branchOf(step, choice, len(choice.Branches))] = true
	}
}

// matcher reports whether the errors of a policy or an entry name a failure.
type matcher func(errors []string, failure token.Outcome) bool

// matcherOf returns the matcher of a flow. In FDL the history does not tell exceptions of
// functions, which have more than one name, from other errors.
func matcherOf(def *flow.Flow) matcher {
	return func(errors []string, failure token.Outcome) bool {
		return slices.ContainsFunc(errors, func(e string) bool {
			if def.IsMachine {
				return def.Matches(e, failure)
			}
			return e == fdl.ErrorAll || e == failure.Error || e == "FC."+failure.Error || e == token.ErrorFunction
		})
	}
}

// And returns the coverage of both, which are of the same flow.
func (c Coverage) And(other Coverage) Coverage {
	all := Coverage{other.parts, map[string]bool{}}
	for _, part := range all.parts {
		all.met[part] = c.met[part] || other.met[part]
	}
	return all
}

// Count returns how many parts there are, and how many of them were met.
func (c Coverage) Count() (met, all int) { return len(c.parts) - len(c.Missing()), len(c.parts) }

// Missing returns the parts that were not met: "step Retry", "choice Done: $.ok == true", "retry
// Call: FnF.ALL", "catch Call: FnF.ALL".
func (c Coverage) Missing() []string {
	return slices.DeleteFunc(slices.Clone(c.parts), func(part string) bool { return c.met[part] })
}
