package machine

import (
	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/value"
)

// defaultBranch is the Branch of a choice's default.
const defaultBranch = -1

// choose enters the first branch whose condition holds. Its steps run as a series before its goto
// is followed.
func (r *run) choose(step *flow.Step, choice *flow.Choice, input value.Value) *flow.Step {
	index, branch := pick(choice, &expr.Scope{Self: input, Lookup: &r.lookup})
	if branch == nil || len(branch.Steps) == 0 {
		return r.exitChoice(step, branch, input, value.Object())
	}
	r.state().Series = append(r.state().Series, Series{Owner: Owner{OwnerChoice, step.Index, index}, Input: input, Local: value.Object()})
	return branch.Steps[0]
}

func pick(choice *flow.Choice, scope *expr.Scope) (int, *flow.Branch) {
	for i := range choice.Branches {
		if choice.Branches[i].Condition.Holds(scope) {
			return i, &choice.Branches[i]
		}
	}
	return defaultBranch, choice.Default
}

// exitChoice follows the goto of the branch, which has precedence over the end of the step.
func (r *run) exitChoice(step *flow.Step, branch *flow.Branch, input, local value.Value) *flow.Step {
	next := after(step)
	if branch != nil && branch.Goto != nil {
		next = branch.Goto
	}
	return r.exitTo(next, step, input, local, 0)
}

func branchOf(step *flow.Step, index int) *flow.Branch {
	choice, _ := step.Kind.(*flow.Choice)
	if index == defaultBranch {
		return choice.Default
	}
	return &choice.Branches[index]
}
