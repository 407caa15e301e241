package machine

import (
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// polled decides the effect of a poll's outcome on its attempt, which ends with the returned
// outcome or waits for the next poll. A failed poll fails the attempt.
func (r taskRun) polled(w Waiting, outcome token.Outcome, by token.Closer) (_ token.Outcome, _ token.Closer, ended bool) {
	poll := r.task.Poll
	switch {
	case outcome.Failed(), poll.Condition.Holds(&expr.Scope{Self: outcome.Output, Lookup: &r.lookup}):
		return outcome, by, true
	case r.state().Ending != nil:
		return r.endedBefore(), token.ClosedByStop, true
	case !w.Deadline.IsZero() && !r.at.Before(w.Deadline):
		return r.notInTime(), token.ClosedByDeadline, true
	case w.Polls == poll.MaxAttempts:
		return token.Failure(ErrorConditionNotMet, fmt.Sprintf(
			"step %s: the condition %s did not hold after %s, the most that are allowed; the last one returned %s",
			r.step.Name, poll.Text, flow.Count(w.Polls, "poll"), value.Shown(outcome.Output))), by, true
	}
	due := r.at.Add(poll.After(w.Polls))
	if !w.Deadline.IsZero() && w.Deadline.Before(due) {
		due = w.Deadline
	}
	r.wait(&Waiting{
		Attempt: w.Attempt, For: WaitingForPoll, Input: w.Input, Due: due, Entry: r.entry(), Began: r.state().Trace.since(w.Start()),
		Deadline: w.Deadline, Retried: w.Retried, Polls: w.Polls,
	})
	return outcome, by, false
}

// pollDue makes the next poll, or ends the attempt at its deadline.
func (r taskRun) pollDue() *flow.Step {
	_, w := r.leaveWaiting()
	if !w.Deadline.IsZero() && !r.at.Before(w.Deadline) {
		return r.conclude(w, r.notInTime(), token.ClosedByDeadline)
	}
	w.Began = r.state().Trace.since(w.Start())
	w.Due, w.Entry = time.Time{}, r.entry()
	r.request(&w)
	return nil
}
