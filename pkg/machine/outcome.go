package machine

import (
	"fmt"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// resolve ends an attempt or a poll with its outcome.
func (r taskRun) resolve(outcome token.Outcome, by token.Closer) *flow.Step {
	_, waiting := r.leaveWaiting()
	if waiting.Child() != nil && by != token.ClosedByChild {
		r.do(WakeChild{*waiting.Child()})
	}
	if by == token.ClosedByChild && r.task.Ended != nil {
		outcome.Output = r.lookup.Complete(outcome.Output)
		outcome = r.task.Ended(flow.SubflowEnd{
			Work: r.lookup.Complete(waiting.Input), Execution: waiting.Child().Execution, Began: waiting.Start(), At: r.at, Outcome: outcome,
		})
	}
	if !outcome.Failed() {
		outcome = ResultOf(r.env.Flow.Values, r.step.Name, outcome)
	}
	outcome = r.named(outcome.Cut())
	if err := r.checkData(r.step, waiting.Input, outcome.Output); err != nil && waiting.Token() == nil {
		// Only an attempt without a token fails here. A token was closed with success, and its
		// closer was told so: the attempt succeeds, and the step fails when the execution leaves
		// it.
		outcome = r.named(*err)
	}
	if waiting.Polls > 0 {
		var ended bool
		if outcome, by, ended = r.polled(waiting, outcome, by); !ended {
			return nil
		}
	}
	return r.conclude(waiting, outcome, by)
}

// conclude records how the attempt ended and continues. A success that is too large for the item
// becomes a failure, unless a closer was told of the success: then the step fails when it is left.
func (r taskRun) conclude(w Waiting, outcome token.Outcome, by token.Closer) *flow.Step {
	if w.Token() == nil && !outcome.Failed() {
		if err := r.mayFailForSize(r.step); err != nil {
			outcome = r.named(*err)
		}
	}
	r.emit(outcomeEvent(&w, outcome, by))
	switch {
	case r.state().Ending != nil:
		r.endAsDecided()
		return nil
	case outcome.Failed():
		outcome.Missed = by == token.ClosedByHeartbeat
		return r.attemptFailed(r.step, w, outcome)
	}
	return r.exit(r.step, w.Input, outcome.Output, w.Attempt.Number)
}

// outcomeEvent is the event for the end of an attempt. Only the event of a token has its closer.
func outcomeEvent(w *Waiting, outcome token.Outcome, by token.Closer) Event {
	e := Event{Type: TaskSucceeded, Step: w.Attempt.Step, Output: outcome.Output, Polls: w.Polls}
	if outcome.Failed() {
		e.Type, e.Error, e.Cause, e.Output = failureType(by), outcome.Error, outcome.Cause, value.Missing()
	}
	if w.Token() != nil {
		e.ClosedBy = by
	}
	return e
}

func failureType(by token.Closer) EventType {
	switch by {
	case token.ClosedBySubmit:
		return TaskSubmitFailed
	case token.ClosedByDeadline, token.ClosedByHeartbeat:
		return TaskTimedOut
	case token.ClosedByHand, token.ClosedByCallback, token.ClosedByEvent, token.ClosedByReconcile, token.ClosedByTask, token.ClosedByChild, token.ClosedByStop:
	}
	return TaskFailed
}

// ResultOf makes sure that the output of a success of the step follows the rules: that it is an
// object, unless any value is allowed. A text that holds an object counts as the object: functions
// written for Function Compute return JSON text, which Lambda wraps into a JSON string.
func ResultOf(rules flow.Values, step string, outcome token.Outcome) token.Outcome {
	output := outcome.Output
	if rules.Any && output.IsMissing() {
		output = value.Null()
	}
	if !rules.Any && output.Kind() == value.KindString {
		if inner, err := value.ParseJSON([]byte(output.Text())); err == nil && inner.Kind() == value.KindObject {
			output = inner
		}
	}
	switch {
	case !rules.Any && output.Kind() != value.KindObject:
		return token.Failure(ErrorInvalidLocal, fmt.Sprintf("step %s: the function returned %s; it must return a JSON object", step, value.Shown(output)))
	case output.TooDeep():
		return token.Failure(ErrorDataLimit,
			fmt.Sprintf("step %s: the result has %d levels of arrays and objects and the limit is %d; return inner values as a text",
				step, output.Levels(), value.MaxLevels))
	}
	return token.Success(output)
}
