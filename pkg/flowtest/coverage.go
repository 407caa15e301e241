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
// choices, its retries and the entries of its catches. The zero value covers nothing of no flow.
type Coverage struct {
	parts []string // all, in the order of the flow
	met   map[string]bool
}

// partsOf lists the parts of a flow.
func partsOf(def *flow.Flow) (parts []string) {
	for _, step := range def.All {
		parts = append(parts, "step "+step.Name)
		switch kind := step.Kind.(type) {
		case *flow.Choice:
			for i := range kind.Branches {
				parts = append(parts, branchOf(step, kind, i))
			}
			if kind.Default != nil || !def.IsMachine { // without Default a machine fails
				parts = append(parts, branchOf(step, kind, len(kind.Branches)))
			}
		case *flow.Task:
			for _, policy := range kind.Retry {
				if policy.MaxAttempts > 0 {
					parts = append(parts, handlerOf("retry", step, policy.Errors))
				}
				parts = append(parts, lastRetryOf(step, policy))
			}
			for _, entry := range kind.Catch {
				parts = append(parts, handlerOf("catch", step, entry.Errors))
			}
		case *flow.Pass, *flow.Wait, *flow.Parallel, *flow.Foreach, *flow.Succeed, *flow.Fail:
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
}

// triedStep is a step of an execution or a lane.
type triedStep struct {
	log  machine.ID
	step int
}

// retries follows the attempts of tasks in a history.
type retries map[triedStep]*tries

// add adds an event of a task, and returns the part of the flow that it covers, "" for none.
func (r retries) add(e machine.Event, step *flow.Step, task *flow.Task, mayMatch matcher) string {
	key := triedStep{e.Log, e.Step}
	t := r[key]
	if e.Type == machine.StepEntered || t == nil {
		t = &tries{make([]int, len(task.Retry)), -1}
		r[key] = t
	}
	switch {
	case e.Type == machine.TaskFailed, e.Type == machine.TaskSubmitFailed, e.Type == machine.TaskTimedOut:
		t.failed = slices.IndexFunc(task.Retry, func(policy flow.Retry) bool { return mayMatch(policy.Errors, e.Error) })
	case t.failed < 0:
	case e.Type == machine.TaskScheduled:
		policy := task.Retry[t.failed]
		t.retried[t.failed]++
		t.failed = -1
		return handlerOf("retry", step, policy.Errors)
	case e.Type == machine.StepFailed && t.retried[t.failed] == task.Retry[t.failed].MaxAttempts:
		return lastRetryOf(step, task.Retry[t.failed])
	}
	return ""
}

// covered reads the path of an execution from its history.
func covered(def *flow.Flow, events []machine.Event) Coverage {
	c, tried := Coverage{partsOf(def), map[string]bool{}}, retries{}
	mayMatch := matcherOf(def)
	choices := map[machine.ID]*flow.Step{} // the choice that a log has left last
	for _, e := range events {
		if e.Step == machine.NoStep {
			continue
		}
		step := def.All[e.Step]
		switch kind := step.Kind.(type) {
		case *flow.Choice:
			if def.IsMachine && e.Type == machine.StepExited {
				choices[e.Log] = step
			} else if !def.IsMachine && e.Type == machine.StepEntered {
				scope := expr.Scope{Self: e.Input}
				i := slices.IndexFunc(kind.Branches, func(b flow.Branch) bool { return b.Condition.Holds(&scope) })
				c.met[branchOf(step, kind, (i+len(kind.Branches)+1)%(len(kind.Branches)+1))] = true
			}
		case *flow.Task:
			c.met[tried.add(e, step, kind, mayMatch)] = true
			i := slices.IndexFunc(kind.Catch, func(entry flow.Catch) bool { return mayMatch(entry.Errors, e.Error) })
			if e.Type == machine.StepFailed && i >= 0 {
				c.met[handlerOf("catch", step, kind.Catch[i].Errors)] = true
			}
		case *flow.Pass, *flow.Wait, *flow.Parallel, *flow.Foreach, *flow.Succeed, *flow.Fail:
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

// matcher reports whether the errors of a policy or an entry name an error.
type matcher func(errors []string, name string) bool

// matcherOf returns the matcher of a flow. In FDL the history does not tell exceptions of
// functions, which have more than one name, from other errors.
func matcherOf(def *flow.Flow) matcher {
	return func(errors []string, name string) bool {
		return slices.ContainsFunc(errors, func(e string) bool {
			if def.IsMachine {
				return def.Matches(e, token.Failure(name, ""))
			}
			return e == fdl.ErrorAll || e == name || e == "FC."+name || e == token.ErrorFunction
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
