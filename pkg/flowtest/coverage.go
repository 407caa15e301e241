package flowtest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// Coverage says which parts of a flow executions went through: its steps, the branches of its choices and
// the entries of its catches. The zero value covers nothing of no flow.
type Coverage struct {
	parts []string // all, in the order of the flow
	met   map[string]bool
}

// partsOf lists the parts of a flow.
func partsOf(flow *fdl.Flow) (parts []string) {
	for _, step := range flow.All {
		parts = append(parts, "step "+step.Name)
		switch kind := step.Kind.(type) {
		case *fdl.Choice:
			for i := range kind.Branches {
				parts = append(parts, branchOf(step, kind, i))
			}
			parts = append(parts, branchOf(step, kind, len(kind.Branches)))
		case *fdl.Task:
			for _, entry := range kind.Catch {
				parts = append(parts, catchOf(step, entry))
			}
		case *fdl.Pass, *fdl.Wait, *fdl.Parallel, *fdl.Foreach, *fdl.Succeed, *fdl.Fail:
		}
	}
	return parts
}

// branchOf names a branch of a choice. The one behind the last is for inputs that meet no condition.
func branchOf(step *fdl.Step, choice *fdl.Choice, i int) string {
	if i == len(choice.Branches) {
		return fmt.Sprintf("choice %s: otherwise", step.Name)
	}
	return fmt.Sprintf("choice %s: %s", step.Name, choice.Branches[i].Condition)
}

func catchOf(step *fdl.Step, entry fdl.Catch) string {
	return fmt.Sprintf("catch %s: %s", step.Name, strings.Join(entry.Errors, ", "))
}

// covered reads what an execution went through from its history.
func covered(flow *fdl.Flow, events []machine.Event) Coverage {
	c := Coverage{partsOf(flow), map[string]bool{}}
	for _, e := range events {
		if e.Step == machine.NoStep {
			continue
		}
		step := flow.All[e.Step]
		switch kind := step.Kind.(type) {
		case *fdl.Choice:
			if e.Type == machine.StepEntered {
				scope := expr.Scope{Self: e.Input}
				i := slices.IndexFunc(kind.Branches, func(b fdl.Branch) bool { return b.Condition.Holds(&scope) })
				c.met[branchOf(step, kind, (i+len(kind.Branches)+1)%(len(kind.Branches)+1))] = true
			}
		case *fdl.Task:
			i := slices.IndexFunc(kind.Catch, func(entry fdl.Catch) bool { return mayCatch(entry, e.Error) })
			if e.Type == machine.StepFailed && i >= 0 {
				c.met[catchOf(step, kind.Catch[i])] = true
			}
		case *fdl.Pass, *fdl.Wait, *fdl.Parallel, *fdl.Foreach, *fdl.Succeed, *fdl.Fail:
		}
		if e.Type == machine.StepEntered {
			c.met["step "+step.Name] = true
		}
	}
	return c
}

// mayCatch reports whether an entry names an error. The history does not tell exceptions of functions, which have
// more than one name, from other errors.
func mayCatch(entry fdl.Catch, name string) bool {
	return slices.ContainsFunc(entry.Errors, func(e string) bool {
		return e == fdl.ErrorAll || e == name || e == "FC."+name || e == token.ErrorFunction
	})
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

// Missing returns the parts that were not met: "step Retry", "choice Done: $.ok == true", "catch Call: FnF.ALL".
func (c Coverage) Missing() (missing []string) {
	for _, part := range c.parts {
		if !c.met[part] {
			missing = append(missing, part)
		}
	}
	return missing
}
