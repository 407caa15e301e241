package machine

import (
	"cmp"
	"fmt"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/value"
)

// enter runs step as far as it goes and answers the step after it. It answers
// nil with the state waiting or final, or at the end of the series.
func (r *run) enter(step *fdl.Step) *fdl.Step {
	input := r.inputOf(step)
	if err := cmp.Or(r.checkData(step, input), r.checkpoint(step)); err != nil {
		r.emit(Event{Type: StepEntered, Step: step.Index}) // without the input, which is not kept
		r.failFor(step, err)
		return nil
	}
	r.emit(Event{Type: StepEntered, Step: step.Index, Input: input})
	switch kind := step.Kind.(type) {
	case *fdl.Task:
		r.schedule(step, kind, input, nil)
	case *fdl.Pass:
		return r.exit(step, input, value.Object(), 0)
	case *fdl.Wait:
		return r.wait(step, kind, input)
	case *fdl.Choice:
		return r.choose(step, kind, input)
	case *fdl.Succeed:
		r.exit(step, input, value.Object(), 0)
	case *fdl.Fail:
		r.failStep(step, kind)
	}
	return nil
}

func (r *run) inputOf(step *fdl.Step) value.Value {
	scope := r.scope()
	if step.Input == nil {
		return r.merge(scope.Input, scope.Local)
	}
	return r.mappedInput(step, r.state().Events+1, r.state().Events+2)
}

// mappedInput is what inputMappings make. The attempt is that of a task.
func (r *run) mappedInput(step *fdl.Step, event, attempt int) value.Value {
	scope := r.scope()
	return r.mapped(step, inputMappings, step.Input, &expr.Scope{
		Input: scope.Input, Local: scope.Local, Context: r.context(step.Input, step, event, attempt),
	})
}

// exit gives the step's output to its series and answers the step after it,
// nil when the series is over. The attempt is that of a task, 0 for others.
func (r *run) exit(step *fdl.Step, input, local value.Value, attempt int) *fdl.Step {
	return r.exitTo(after(step), step, input, local, attempt)
}

// exitTo is exit where next comes after the step.
func (r *run) exitTo(next, step *fdl.Step, input, local value.Value, attempt int) *fdl.Step {
	output := local
	if step.Output != nil {
		output = r.mapped(step, outputMappings, step.Output, &expr.Scope{
			Input: input, Local: local, Context: r.context(step.Output, step, r.state().Events+1, attempt),
		})
	}
	if err := cmp.Or(r.checkData(step, input, local, output), r.checkpoint(step)); err != nil {
		r.failFor(step, err)
		return nil
	}
	r.emit(Event{Type: StepExited, Step: step.Index, Input: input, Local: local, Output: output})
	r.addOutput(output)
	return next
}

// addOutput gives the series the output of a step.
func (r *run) addOutput(output value.Value) {
	scope := r.scope()
	scope.Local = r.merge(scope.Local, output)
}

// after is the step after this one, nil at the end of the series.
func after(step *fdl.Step) *fdl.Step {
	if step.End {
		return nil
	}
	return step.Next
}

// merge needs the keys of both, and no more of them.
func (r *run) merge(under, over value.Value) value.Value {
	return value.Merge(r.lookup.Open(under), r.lookup.Open(over))
}

func (r *run) wait(step *fdl.Step, wait *fdl.Wait, input value.Value) *fdl.Step {
	until, err := waitUntil(wait, &expr.Scope{Self: input, Lookup: &r.lookup}, r.at)
	if err != nil {
		r.fail(step, ErrorInvalidArgument, fmt.Sprintf("step %s: %s", step.Name, err))
		return nil
	}
	number := r.emit(Event{Type: StepStarted, Step: step.Index, Until: until})
	if until.After(r.at) {
		r.state().Waiting = &Waiting{
			Attempt: Attempt{Step: step.Index, Number: number}, For: WaitingForInstant, Input: input, Due: until, Entry: r.entry(),
		}
		return nil
	}
	r.emit(Event{Type: StepSucceeded, Step: step.Index})
	return r.exit(step, input, value.Object(), 0)
}

// choose picks the branch whose condition holds first. Its steps run in a
// series of their own before its goto is followed.
func (r *run) choose(step *fdl.Step, choice *fdl.Choice, input value.Value) *fdl.Step {
	index, branch := pick(choice, &expr.Scope{Self: input, Lookup: &r.lookup})
	if branch == nil || len(branch.Steps) == 0 {
		return r.exitChoice(step, branch, input, value.Object())
	}
	r.state().Scopes = append(r.state().Scopes, Scope{Owner: Owner{OwnerChoice, step.Index, index}, Input: input, Local: value.Object()})
	return branch.Steps[0]
}

func pick(choice *fdl.Choice, scope *expr.Scope) (int, *fdl.Branch) {
	for i := range choice.Branches {
		if choice.Branches[i].Condition.Holds(scope) {
			return i, &choice.Branches[i]
		}
	}
	return defaultBranch, choice.Default
}

// exitChoice follows the branch's goto, which goes before the step's end.
func (r *run) exitChoice(step *fdl.Step, branch *fdl.Branch, input, local value.Value) *fdl.Step {
	next := after(step)
	if branch != nil && branch.Goto != nil {
		next = branch.Goto
	}
	return r.exitTo(next, step, input, local, 0)
}

// endSeries leaves the innermost series: a choice's branch and a task's catch go on
// after the step, the flow's own ends the execution.
func (r *run) endSeries() *fdl.Step {
	s := r.state()
	ended := *r.scope()
	owner := ended.Owner
	if owner.Kind == OwnerFlow {
		r.succeed(ended)
		return nil
	}
	s.Scopes = s.Scopes[:len(s.Scopes)-1]
	step := r.env.Flow.All[owner.Step]
	if owner.Kind == OwnerCatch {
		return r.endCatch(step, ended)
	}
	return r.exitChoice(step, branchOf(step, owner.Branch), ended.Input, ended.Local)
}

func branchOf(step *fdl.Step, index int) *fdl.Branch {
	choice, _ := step.Kind.(*fdl.Choice)
	if index == defaultBranch {
		return choice.Default
	}
	return &choice.Branches[index]
}
