package machine

import (
	"cmp"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/value"
)

// advance runs steps from step on, until one waits or the execution ends. A nil step is the end of
// the innermost series.
func (r *run) advance(step *flow.Step) {
	for !r.state().Status.Final() && r.state().Waiting == nil && r.err == nil && !r.needsLoad() {
		if step == nil {
			step = r.endSeries()
			continue
		}
		if err := r.checkEvents(); err != nil {
			r.failExecution(step, *err)
			return
		}
		if r.beginsLogItem(step) {
			r.waitForNextLogItem(step)
			return
		}
		step = r.enter(step)
	}
}

// enter runs step and returns the step after it. It returns nil at the end of the series, and if
// the state waits or is final.
func (r *run) enter(step *flow.Step) *flow.Step {
	s := r.state()
	events := s.Events
	if r.retried = nil; events > 1 && !s.isLane() {
		s.Results = nil // they are those of the first step
	}
	begun := r.beginningOf(step, events+1, events+2)
	if err := r.limitsReached(step, begun.Input, begun.Work); err != nil {
		r.emit(Event{Type: StepEntered, Step: step.Index}) // the input is not kept
		return r.fail(step, *err)
	}
	number := r.emit(Event{Type: StepEntered, Step: step.Index, Input: begun.Input})
	if begun.Failure.Failed() {
		return r.attemptFailed(step, Waiting{Attempt: Attempt{Step: step.Index, Number: number}}, begun.Failure)
	}
	return kindOf(step).enter(r, step, begun.Value())
}

// beginningOf returns the beginning of a step. The event enters the step, and the attempt is set
// for a task.
func (r *run) beginningOf(step *flow.Step, event, attempt int) flow.Entry {
	series := r.innermost()
	return step.Data.Enter(r.frame(step, series.Input, series.Local, event, attempt))
}

// exit ends a step, gives its output to the series, and returns the step after it, nil at the end
// of the series. The attempt is set for a task, 0 for other steps.
func (r *run) exit(step *flow.Step, input, local value.Value, attempt int) *flow.Step {
	return r.exitTo(after(step), step, input, local, attempt)
}

// exitTo is exit with another step to go to.
func (r *run) exitTo(next, step *flow.Step, input, local value.Value, attempt int) *flow.Step {
	exit := step.Data.Leave(r.frame(step, input, local, r.state().Events+1, attempt))
	if exit.Failure.Failed() {
		w := Waiting{Attempt: Attempt{Step: step.Index, Number: cmp.Or(attempt, r.state().Events)}, Input: input, Retried: r.retried}
		return r.attemptFailed(step, w, exit.Failure)
	}
	if err := r.limitsReached(step, input, exit.Local, exit.Output); err != nil {
		return r.fail(step, *err)
	}
	r.emit(Event{Type: StepExited, Step: step.Index, Input: input, Local: exit.Local, Output: exit.Output})
	r.join(exit)
	return next
}

// after is the step after this one, nil at the end of the series.
func after(step *flow.Step) *flow.Step {
	if step.End {
		return nil
	}
	return step.Next
}

// endSeries leaves the innermost series. The step that owns it chooses the next step. After the
// flow's own the execution has succeeded.
func (r *run) endSeries() *flow.Step {
	ended := *r.innermost()
	if ended.Owner.Kind == OwnerFlow {
		r.succeed(ended)
		return nil
	}
	r.leaveSeries()
	step := r.env.Flow.All[ended.Owner.Step]
	return kindOf(step).resume(r, step, ended)
}
