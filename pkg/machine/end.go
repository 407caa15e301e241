package machine

import (
	"slices"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// succeed ends the execution after the series of the flow.
func (r *run) succeed(flow Series) {
	output := flow.Local
	if mappings := r.env.Flow.Output; mappings != nil {
		output = r.mapped(nil, outputMappings, mappings, &expr.Scope{Input: flow.Input, Local: flow.Local, Context: r.context(mappings, nil, 0, 0)})
	}
	if err := r.limitsReached(nil, output); err != nil {
		r.failExecution(err.outcome())
		return
	}
	s := r.state()
	r.emit(Event{Type: ExecutionSucceeded, Step: NoStep, Output: output})
	s.Status, s.Output = StatusSucceeded, output
	r.closeExecution()
}

// stop ends the execution. The token of a waiting attempt is closed first and its outcome recorded:
// a closer may have been told of a success.
func (r *run) stop(name, cause string) {
	r.decide(StatusStopped, token.Outcome{Error: name, Cause: cause}.Cut())
	r.endOrClose()
}

// decide records how the execution is going to end.
func (r *run) decide(status Status, why token.Outcome) {
	r.ownState()
	r.state().Ending = &Ending{Status: status, Error: why.Error, Cause: why.Cause, Entry: r.entry()}
}

// endOrClose ends the execution as decided, or closes the token that it waits for.
func (r *run) endOrClose() {
	w := r.state().Waiting
	if w == nil || w.Token == nil {
		r.endAsDecided()
		return
	}
	closing := r.closeForEnd(w)
	closing.AfterCommit = true
	r.next.Commands = append(r.next.Commands, closing)
}

func (r *run) closeForEnd(w *Waiting) CloseToken {
	return CloseToken{
		Attempt: w.Attempt, Handle: w.Token.Handle, Closing: token.CloseOp{Outcome: r.endedBefore(), By: token.ClosedByStop, At: r.at},
	}
}

// endedBefore is the outcome of an attempt that ends with the execution.
func (r *run) endedBefore() token.Outcome {
	if r.state().Ending.Status == StatusTimedOut {
		return token.Failure(ErrorStopped, "the execution reached its time limit before the task ended")
	}
	return token.Failure(ErrorStopped, "the execution was stopped before the task ended")
}

// endAsDecided makes the end that was decided final.
func (r *run) endAsDecided() {
	s := r.state()
	ending := s.Ending
	r.emit(ending.event())
	s.Status, s.Error, s.Cause, s.Ending = ending.Status, ending.Error, ending.Cause, nil
	r.closeExecution()
}

// event is the event of the end.
func (e *Ending) event() Event {
	event := Event{Type: ExecutionStopped, Step: NoStep, Error: e.Error, Cause: e.Cause}
	if e.Status == StatusTimedOut {
		event.Type = ExecutionTimedOut
	}
	return event
}

// fail fails step, and the execution with it.
func (r *run) fail(step *fdl.Step, failure token.Outcome) {
	r.emit(Event{Type: StepFailed, Step: step.Index, Error: failure.Error, Cause: failure.Cause})
	r.failExecution(failure)
}

// failExecution fails the open choices, inner ones first, and the execution. The task of an open
// catch has failed before.
func (r *run) failExecution(failure token.Outcome) {
	s := r.state()
	for _, series := range slices.Backward(s.Series) {
		if series.Owner.Kind == OwnerChoice {
			r.emit(Event{Type: StepFailed, Step: series.Owner.Step, Error: failure.Error, Cause: failure.Cause})
		}
	}
	r.emit(Event{Type: ExecutionFailed, Step: NoStep, Error: failure.Error, Cause: failure.Cause})
	s.Status, s.Error, s.Cause = StatusFailed, failure.Error, failure.Cause
	r.closeExecution()
}

// Abandon ends an execution that cannot continue because of a defect. It needs no definition, and
// its result is small, so that it fits into an item where the state did not. The outcome of a
// waiting attempt's token is recorded.
func Abandon(s State, record token.Record, cause string, by Entry) (State, []Event) {
	r := newRun(Env{Cause: by.By, Generation: by.Generation}, s, by.Since, plan{})
	r.next.State = State{
		Flow: s.Flow, Execution: s.Execution, Started: s.Started, Expires: s.Expires, At: r.at, Events: s.Events, Polls: s.Polls,
	}
	if s.Waiting != nil && s.Waiting.Polls == 0 && !record.Open() { // the outcome of one poll is not that of the attempt
		r.emit(outcomeEvent(s.Waiting, smallOutcome(*record.Outcome), record.ClosedBy))
	}
	end := r.state()
	if ending := s.Ending; ending != nil {
		end.Status, end.Error, end.Cause = ending.Status, ending.Error, ending.Cause
		r.emit(ending.event())
	} else {
		end.Status, end.Error, end.Cause = StatusFailed, ErrorInternal, token.Failure(ErrorInternal, cause).Cause
		r.emit(Event{Type: ExecutionFailed, Step: NoStep, Error: end.Error, Cause: end.Cause})
	}
	r.closeExecution()
	return r.next.State, r.next.Events
}

// smallOutcome leaves out a large output.
func smallOutcome(outcome token.Outcome) token.Outcome {
	outcome = outcome.Cut()
	if outcome.Output.Size() > DefaultData {
		outcome.Output = value.Missing()
	}
	return outcome
}

func (r *run) closeExecution() {
	s := r.state()
	s.Series, s.Waiting, s.By, s.Generation = nil, nil, r.env.Cause, r.env.Generation
}
