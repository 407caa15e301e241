package machine

import (
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// enter runs step and returns the step after it. It returns nil at the end of the series, and if
// the state waits or is final.
func (r *run) enter(step *flow.Step) *flow.Step {
	events := r.state().Events
	input := r.inputOf(step, events+1, events+2)
	if err := r.limitsReached(step, input); err != nil {
		r.emit(Event{Type: StepEntered, Step: step.Index}) // the input is not kept
		r.fail(step, *err)
		return nil
	}
	r.emit(Event{Type: StepEntered, Step: step.Index, Input: input})
	switch kind := step.Kind.(type) {
	case *flow.Task:
		r.beginAttempt(step, kind, input, nil)
	case *flow.Pass:
		return r.exit(step, input, value.Object(), 0)
	case *flow.Wait:
		return r.wait(step, kind, input)
	case *flow.Choice:
		return r.choose(step, kind, input)
	case *flow.Parallel, *flow.Foreach:
		return r.fork(step, input)
	case *flow.Succeed:
		r.exit(step, input, value.Object(), 0)
	case *flow.Fail:
		r.fail(step, token.Failure(kind.Error, kind.Cause))
	}
	return nil
}

// inputOf returns the input of a step. The event enters the step, and the attempt is that of a task.
func (r *run) inputOf(step *flow.Step, event, attempt int) value.Value {
	series := r.innermost()
	return step.Data.Enter(r.frame(step, series.Input, series.Local, event, attempt))
}

// exit ends a step, gives its output to the series, and returns the step after it, nil at the end
// of the series. The attempt is that of a task, 0 for other steps.
func (r *run) exit(step *flow.Step, input, local value.Value, attempt int) *flow.Step {
	return r.exitTo(after(step), step, input, local, attempt)
}

// exitTo is exit with another step to go to.
func (r *run) exitTo(next, step *flow.Step, input, local value.Value, attempt int) *flow.Step {
	output := step.Data.Leave(r.frame(step, input, local, r.state().Events+1, attempt))
	if err := r.limitsReached(step, input, local, output); err != nil {
		r.fail(step, *err)
		return nil
	}
	r.emit(Event{Type: StepExited, Step: step.Index, Input: input, Local: local, Output: output})
	r.addOutput(output)
	return next
}

// addOutput merges the output of a step into its series.
func (r *run) addOutput(output value.Value) {
	series := r.innermost()
	series.Local = r.merge(series.Local, output)
}

// after is the step after this one, nil at the end of the series.
func after(step *flow.Step) *flow.Step {
	if step.End {
		return nil
	}
	return step.Next
}

// merge loads no more of both objects than their keys.
func (r *run) merge(under, over value.Value) value.Value {
	return value.Merge(r.lookup.Open(under), r.lookup.Open(over))
}

// endSeries leaves the innermost series. After that of a choice or of a catch its step is over, after
// that of a fork's item the next item follows, after the flow's own the execution has succeeded.
func (r *run) endSeries() *flow.Step {
	ended := *r.innermost()
	owner := ended.Owner
	if owner.Kind == OwnerFlow {
		r.succeed(ended)
		return nil
	}
	r.leaveSeries()
	step := r.env.Flow.All[owner.Step]
	switch owner.Kind {
	case OwnerCatch:
		return r.endCatch(step, ended)
	case OwnerItem:
		return r.endItem(step, ended)
	case OwnerFlow, OwnerChoice, OwnerFork:
	}
	return r.exitChoice(step, branchOf(step, owner.Branch), ended.Input, ended.Local)
}
