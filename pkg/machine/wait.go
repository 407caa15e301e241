package machine

import (
	"fmt"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// wait begins a wait, or skips one that is over already.
func (r *run) wait(step *flow.Step, wait *flow.Wait, input value.Value) *flow.Step {
	until, err := wait.Until(input, &r.lookup, r.at)
	if err != nil {
		r.fail(step, token.Failure(ErrorInvalidArgument, fmt.Sprintf("step %s: %s", step.Name, err)))
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

func (r *run) waited() {
	step, waiting := r.leaveWaiting()
	r.emit(Event{Type: StepSucceeded, Step: step.Index})
	r.advance(r.exit(step, waiting.Input, value.Object(), 0))
}
