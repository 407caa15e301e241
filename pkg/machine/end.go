package machine

import (
	"cmp"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

func (r *run) succeed(flow Scope) {
	output := flow.Local
	if mappings := r.env.Flow.Output; mappings != nil {
		output = r.mapped(nil, outputMappings, mappings, &expr.Scope{Input: flow.Input, Local: flow.Local, Context: r.context(mappings, nil, 0, 0)})
	}
	if err := cmp.Or(r.checkData(nil, output), r.checkpoint(nil)); err != nil {
		r.failExecution(err.name(), err.Error())
		return
	}
	s := r.state()
	r.emit(Event{Type: ExecutionSucceeded, Step: NoStep, Output: output})
	s.Status, s.Output = StatusSucceeded, output
	r.ended()
}

// stop ends the execution. An attempt whose token is out is closed first: what
// it then holds is recorded, so that nobody was told a success that has no
// trace.
func (r *run) stop(name, cause string) {
	r.decide(StatusStopped, token.Outcome{Error: name, Cause: cause}.Cut())
	r.endOrClose()
}

// decide notes the end that the execution will come to.
func (r *run) decide(status Status, why token.Outcome) {
	r.touch()
	r.state().Ending = &Ending{Status: status, Error: why.Error, Cause: why.Cause, Entry: r.entry()}
}

// endOrClose ends the execution whose end is decided, or has the token closed
// that it waits for.
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

// endedBefore is the outcome of an attempt that the end of the execution ends.
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
	r.ended()
}

// event is how the history tells of the end.
func (e *Ending) event() Event {
	event := Event{Type: ExecutionStopped, Step: NoStep, Error: e.Error, Cause: e.Cause}
	if e.Status == StatusTimedOut {
		event.Type = ExecutionTimedOut
	}
	return event
}

func (r *run) failStep(step *fdl.Step, kind *fdl.Fail) {
	failure := token.Failure(cmp.Or(kind.Error, ErrorFailed), kind.Cause)
	r.fail(step, failure.Error, failure.Cause)
}

// failFor fails step because of a limit.
func (r *run) failFor(step *fdl.Step, err *LimitError) { r.fail(step, err.name(), err.Error()) }

// fail fails step, then what is around it, and so the execution.
func (r *run) fail(step *fdl.Step, name, cause string) {
	r.emit(Event{Type: StepFailed, Step: step.Index, Error: name, Cause: cause})
	r.failExecution(name, cause)
}

func (r *run) failExecution(name, cause string) {
	s := r.state()
	for i := len(s.Scopes) - 1; i > 0; i-- {
		if owner := s.Scopes[i].Owner; owner.Kind == OwnerChoice { // the task of a catch has failed before
			r.emit(Event{Type: StepFailed, Step: owner.Step, Error: name, Cause: cause})
		}
	}
	r.emit(Event{Type: ExecutionFailed, Step: NoStep, Error: name, Cause: cause})
	s.Status, s.Error, s.Cause = StatusFailed, name, cause
	r.ended()
}

// Abandon ends an execution that cannot go on because of a defect. It needs no
// definition and keeps little, so that what it gives fits where the state did
// not. What the token of an attempt that waits holds is recorded.
func Abandon(s State, held token.Record, cause string, by Entry) (State, []Event) {
	at := by.Since
	r := newRun(Env{Cause: by.By, Generation: by.Generation}, State{}, at, plan{})
	if at.Before(s.At) {
		r.at = s.At
	}
	r.next.State = State{
		Flow: s.Flow, Execution: s.Execution, Started: s.Started, Expires: s.Expires, At: r.at, Events: s.Events, Polls: s.Polls,
	}
	if s.Waiting != nil && s.Waiting.Polls == 0 && !held.Open() { // what one poll answered is not the outcome of all
		r.emit(outcomeEvent(s.Waiting, smallOutcome(*held.Outcome), held.ClosedBy))
	}
	end := r.state()
	if ending := s.Ending; ending != nil {
		end.Status, end.Error, end.Cause = ending.Status, ending.Error, ending.Cause
		r.emit(ending.event())
	} else {
		end.Status, end.Error, end.Cause = StatusFailed, ErrorInternal, token.Failure(ErrorInternal, cause).Cause
		r.emit(Event{Type: ExecutionFailed, Step: NoStep, Error: end.Error, Cause: end.Cause})
	}
	r.ended()
	return r.next.State, r.next.Events
}

// smallOutcome leaves out what would not fit anywhere.
func smallOutcome(outcome token.Outcome) token.Outcome {
	outcome = outcome.Cut()
	if outcome.Output.Size() > DefaultData {
		outcome.Output = value.Missing()
	}
	return outcome
}

func (r *run) ended() {
	s := r.state()
	s.Scopes, s.Waiting, s.By, s.Generation = nil, nil, r.env.Cause, r.env.Generation
}
