package machine

import (
	"slices"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/value"
)

type choiceKind struct {
	plain
	*flow.Choice
}

// defaultBranch is the Branch of a choice's default.
const defaultBranch = -1

// enter begins the first branch with a true condition. Its steps run as a series before its goto is
// followed.
func (k choiceKind) enter(r *run, step *flow.Step, input value.Value) *flow.Step {
	index, branch := k.pick(&expr.Scope{Self: input, Lookup: &r.lookup})
	if branch == nil || len(branch.Steps) == 0 {
		return k.exit(r, step, branch, input, value.Object())
	}
	r.open(Series{Owner: Owner{OwnerChoice, step.Index, index}, Input: input, Local: value.Object()})
	return branch.Steps[0]
}

func (k choiceKind) pick(scope *expr.Scope) (int, *flow.Branch) {
	for i := range k.Branches {
		if k.Branches[i].Condition.Holds(scope) {
			return i, &k.Branches[i]
		}
	}
	return defaultBranch, k.Default
}

// exit follows the goto of the branch, which has precedence over the end of the step.
func (choiceKind) exit(r *run, step *flow.Step, branch *flow.Branch, input, local value.Value) *flow.Step {
	next := after(step)
	if branch != nil && branch.Goto != nil {
		next = branch.Goto
	}
	return r.exitTo(next, step, input, local, 0)
}

func (k choiceKind) resume(r *run, step *flow.Step, ended Series) *flow.Step {
	return k.exit(r, step, k.branch(ended.Owner.Branch), ended.Input, ended.Local)
}

func (k choiceKind) branch(index int) *flow.Branch {
	if index == defaultBranch {
		return k.Default
	}
	return &k.Branches[index]
}

func (k choiceKind) owns(o Owner) bool {
	return o.Kind == OwnerChoice && (o.Branch >= 0 && o.Branch < len(k.Branches) || o.Branch == defaultBranch && k.Default != nil)
}

func (k choiceKind) ownerOf(series *flow.Series) Owner {
	in := func(b flow.Branch) bool { return len(b.Steps) > 0 && b.Steps[0].Series == series }
	return Owner{Kind: OwnerChoice, Branch: slices.IndexFunc(k.Branches, in)} // or defaultBranch
}
