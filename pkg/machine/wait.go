package machine

import (
	"fmt"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

type waitKind struct {
	plain
	*flow.Wait
}

func (waitKind) canWait(w *Waiting) bool { return w.For == WaitingForInstant }

// enter begins the wait, or skips a wait that is over already.
func (k waitKind) enter(r *run, step *flow.Step, input value.Value) *flow.Step {
	until, err := k.Until(input, &r.lookup, r.at)
	if err != nil {
		return r.fail(step, token.Failure(ErrorInvalidArgument, fmt.Sprintf("step %s: %s", step.Name, err)))
	}
	number := r.emit(Event{Type: StepStarted, Step: step.Index, Until: until})
	if until.After(r.at) {
		r.wait(&Waiting{Attempt: Attempt{Step: step.Index, Number: number}, For: WaitingForInstant, Input: input, Due: until, Entry: r.entry()})
		return nil
	}
	return k.end(r, step, input, number)
}

// signal ends the wait: only its timer concerns it.
func (k waitKind) signal(r *run, step *flow.Step, _ Signal) *flow.Step {
	_, waiting := r.leaveWaiting()
	return k.end(r, step, waiting.Input, waiting.Attempt.Number)
}

func (waitKind) end(r *run, step *flow.Step, input value.Value, number int) *flow.Step {
	r.emit(Event{Type: StepSucceeded, Step: step.Index})
	return r.exit(step, input, value.Object(), number)
}
