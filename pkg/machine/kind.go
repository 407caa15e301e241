package machine

import (
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/value"
)

// kind implements one kind of step. A method that returns a step names the next one of the series;
// nil is the end of the series, unless the state then waits, or has ended.
type kind interface {
	// enter begins the step; the history has its entry already.
	enter(r *run, step *flow.Step, input value.Value) *flow.Step
	waits
	series
}

// waits are the methods for a step that waits.
type waits interface {
	// canWait reports whether a step can wait for this.
	canWait(w *Waiting) bool
	// signal applies a signal that concerns the step.
	signal(r *run, step *flow.Step, sig Signal) *flow.Step
	// begin begins another attempt of the step after these retries, by policy.
	begin(r *run, step *flow.Step, input value.Value, retried []int) *flow.Step
	// pending returns the command that the step depends on, nil for none. If the execution is
	// ending, that is the one which ends the waiting.
	pending(r *run, step *flow.Step, executed Executed) Command
}

// series are the methods for a step that owns series of steps.
type series interface {
	// owns reports whether the step has what owns a series.
	owns(o Owner) bool
	// resume continues after a series of the step, which was the innermost one.
	resume(r *run, step *flow.Step, ended Series) *flow.Step
	// ownerOf returns the owner of one of the step's series, but for the index of the step.
	ownerOf(series *flow.Series) Owner
	// enterItem enters an item of a fork, which has the innermost series.
	enterItem(r *run, step *flow.Step, index int) *flow.Step
}

// plain has the methods of a kind with steps that neither wait nor own series.
type plain struct{}

func (plain) canWait(*Waiting) bool                      { return false }
func (plain) signal(*run, *flow.Step, Signal) *flow.Step { return nil }
func (plain) begin(*run, *flow.Step, value.Value, []int) *flow.Step {
	return nil
}
func (plain) pending(*run, *flow.Step, Executed) Command { return nil }
func (plain) owns(Owner) bool                            { return false }
func (plain) resume(*run, *flow.Step, Series) *flow.Step { return nil }
func (plain) ownerOf(*flow.Series) Owner                 { return Owner{} }
func (plain) enterItem(*run, *flow.Step, int) *flow.Step { return nil }

// kindOf is where the machine chooses between the kinds of steps.
func kindOf(step *flow.Step) kind {
	switch kind := step.Kind.(type) {
	case *flow.Task:
		return taskKind{plain{}, kind}
	case *flow.Wait:
		return waitKind{plain{}, kind}
	case *flow.Choice:
		return choiceKind{plain{}, kind}
	case *flow.Parallel:
		return forkKind[branches]{branches{kind}}
	case *flow.Foreach:
		return forkKind[iterations]{iterations{kind}}
	case *flow.Succeed:
		return succeedKind{}
	case *flow.Fail:
		return failKind{plain{}, kind}
	case *flow.Pass:
	}
	return passKind{}
}
