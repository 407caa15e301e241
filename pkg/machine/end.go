package machine

import (
	"slices"
	"strings"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// succeed ends the execution after the series of the flow.
func (r *run) succeed(flow Series) {
	output := r.env.Flow.Data.Leave(r.frame(nil, flow.Input, flow.Local, 0, 0)).Output
	if err := r.limitsReached(nil, output); err != nil {
		r.failExecution(nil, *err)
		return
	}
	r.emit(Event{Type: ExecutionSucceeded, Step: NoStep, Output: output})
	r.close(StatusSucceeded, token.Success(output))
}

// endOrClose ends the execution as decided, or closes the token or stops the lanes that it waits
// for.
func (r *run) endOrClose() {
	command := r.pending(ExecutedNever)
	if closing, ok := command.(CloseToken); ok {
		closing.AfterCommit = true
		command = closing
	}
	if command == nil {
		r.endAsDecided()
		return
	}
	r.do(command)
}

// endedBefore is the outcome of an attempt that ends with the execution. Its cause has the reason
// of a stop.
func (r *run) endedBefore() token.Outcome {
	ending, cause := r.state().Ending, "the execution was stopped before the task ended"
	switch {
	case ending.Status == StatusTimedOut:
		return token.Failure(ErrorStopped, "the execution reached its time limit before the task ended")
	case r.state().isLane():
		cause = "the parallel or foreach around the task ended before the task"
	}
	for _, why := range []string{ending.Error, ending.Cause} {
		if why != "" && why != ErrorStopped {
			cause += ": " + why
		}
	}
	return token.Failure(ErrorStopped, cause).Cut()
}

// endAsDecided makes the end that was decided final. Only a lane's failure decides a failure.
func (r *run) endAsDecided() {
	ending := r.takeEnding()
	if ending.Status == StatusFailed {
		r.forkFailed(r.env.Flow.All[r.endedWaiting.Attempt.Step], token.Outcome{Error: ending.Error, Cause: ending.Cause})
		return
	}
	r.endAs(*ending)
}

// endAs makes a decided end final. A stop by the machine itself has the name that the language of
// the flow has for it; a user's stop keeps its own.
func (r *run) endAs(ending Ending) {
	outcome := token.Outcome{Error: ending.Error, Cause: ending.Cause}
	if ending.Error == ErrorStopped {
		outcome = r.named(outcome)
	}
	r.end(ending.Status, outcome.Error, outcome.Cause)
}

// end ends the execution or the lane without an output. A lane has no event for it.
func (r *run) end(status Status, name, cause string) {
	if !r.state().isLane() {
		event := ExecutionStopped
		switch status {
		case StatusFailed:
			event = ExecutionFailed
		case StatusTimedOut:
			event = ExecutionTimedOut
		case StatusStarting, StatusRunning, StatusSucceeded, StatusStopped:
		}
		r.emit(Event{Type: event, Step: NoStep, Error: name, Cause: cause})
	}
	r.close(status, token.Outcome{Error: name, Cause: cause})
}

// fail fails step, and the execution with it. No step is next.
func (r *run) fail(step *flow.Step, failure token.Outcome) *flow.Step {
	failure = r.named(failure)
	r.emit(Event{Type: StepFailed, Step: step.Index, Error: failure.Error, Cause: failure.Cause})
	return r.failExecution(step, failure)
}

// named returns the failure as the language of the flow names it.
func (x *tx) named(failure token.Outcome) token.Outcome {
	if x.env.Flow == nil || x.env.Flow.Named == nil || !failure.Failed() {
		return failure
	}
	return x.env.Flow.Named(failure)
}

// forkFailed fails a fork because of a lane. The state has the step that failed in the lane, unless
// the lane ended with a defect.
func (r *run) forkFailed(step *flow.Step, failure token.Outcome) *flow.Step {
	r.emit(Event{Type: StepFailed, Step: step.Index, Error: failure.Error, Cause: failure.Cause})
	if s := r.state(); s.FailedStep == "" {
		r.failedAt(step)
	}
	return r.failExecution(nil, failure)
}

// failExecution fails the open choices and forks, inner ones first, and the execution or the lane.
// The task of an open catch has failed before, and the fork of a lane fails in the lane's parent.
// Outside of the item of the step in which the failure began, the cause names that step, once. A
// lane goes on with the first step of its next item after an item that may fail (rule 32).
func (r *run) failExecution(began *flow.Step, failure token.Outcome) *flow.Step {
	s := r.state()
	failure = r.named(failure)
	if began != nil {
		r.failedAt(began)
	}
	if r.env.Flow.PlainCauses {
		began = nil
	}
	for i, series := range slices.Backward(s.Series) {
		if series.Owner.Kind == OwnerItem && began != nil {
			failure, began = located(began, s.ForkIndexes(), failure), nil
		}
		if i == 1 && s.Tolerance != nil && r.checkEvents() == nil { // without room for events no other item can run
			r.failedIn("")
			for len(s.Series) > 1 {
				r.leaveSeries()
			}
			tolerance := *s.Tolerance
			tolerance.Failed++
			tolerance.Last = series.Owner.Branch
			s.Tolerance = &tolerance
			step := r.env.Flow.All[series.Owner.Step]
			foreach, _ := step.Kind.(*flow.Foreach) // no other kind tolerates failures
			return forkRun{r, step, iterations{foreach}}.leaveItem(tolerance.Last, failure.Cut())
		}
		if series.Owner.Kind == OwnerChoice || series.Owner.Kind == OwnerFork && (i > 0 || !s.isLane()) {
			r.emit(Event{Type: StepFailed, Step: series.Owner.Step, Error: failure.Error, Cause: failure.Cause})
		}
	}
	if s.isLane() && began != nil { // the fork of the lane itself
		failure = located(began, s.ForkIndexes(), failure)
	}
	r.end(StatusFailed, failure.Error, failure.Cause)
	return nil
}

// report returns the command that reports the failed items of the lane.
func (s *State) report() ReportFailures {
	return ReportFailures{Attempt: s.Waiting.Attempt, Failed: s.Tolerance.Failed}
}

// located returns the failure with a cause that names the step in the items around it: "step
// Bad[17]: why".
func located(step *flow.Step, items []int, failure token.Outcome) token.Outcome {
	cause, place := strings.TrimPrefix(failure.Cause, "step "+step.Name+": "), "step "+StepIn(step.Name, Iterations(step, items))
	failure.Cause = strings.TrimSuffix(place+": "+cause, ": ")
	return failure.Cut()
}

// Abandon ends an execution or a lane that cannot continue because of a defect. The definition
// names errors, and is nil if it cannot be read. The result is small, so that it fits into an item
// where the state did not. The outcome of a waiting attempt's token is recorded. A state that waits
// for lanes which have not joined is ending, and does not end yet (rule 21).
func Abandon(def *flow.Flow, s State, record token.Record, joined bool, cause string, by Entry) (State, []Event) {
	r := newRun(Env{Flow: def, Cause: by.By, Generation: by.Generation}, s, by.Since, plan{})
	r.next.State = State{
		Lane: s.Lane, Parent: s.Parent, Notify: s.Notify, Redriven: s.Redriven, Trace: s.Trace, FirstID: s.FirstID, Reserved: s.Reserved,
		Flow: s.Flow, Execution: s.Execution, Started: s.Started, Expires: s.Expires, At: r.at, Events: s.Events, Polls: s.Polls,
	}
	ending := s.Ending
	if ending == nil {
		failure := r.named(token.Failure(ErrorInternal, cause))
		ending = &Ending{StatusFailed, failure.Error, failure.Cause, by}
	}
	if w := s.Waiting; w.Fork() != nil && !joined {
		small := *w
		small.Input = value.Missing()
		end := r.state()
		end.Status, end.Ending, end.Waiting = StatusRunning, ending, &small
		return r.next.State, nil
	}
	if s.Waiting != nil && s.Waiting.Polls == 0 && !record.Open() { // the outcome of one poll is not that of the attempt
		r.emit(outcomeEvent(s.Waiting, smallOutcome(r.named(*record.Outcome)), record.ClosedBy))
	}
	r.endAs(*ending)
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
