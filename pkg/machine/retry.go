package machine

import (
	"slices"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// matches reports whether the errors of a policy or of a catch name the failure.
func (r *run) matches(errors []string, failure token.Outcome) bool {
	return slices.ContainsFunc(errors, func(name string) bool { return r.env.Flow.Matches(name, failure) })
}

// attemptFailed continues after a failed attempt: with a retry, with a catch, or with the failure
// of the step.
func (r *run) attemptFailed(step *flow.Step, w Waiting, failure token.Outcome) {
	task := taskOf(step)
	if i := r.policyFor(task, failure); i >= 0 && w.retried(i) < task.Retry[i].MaxAttempts {
		r.pauseForRetry(step, w, i)
		return
	}
	if i := slices.IndexFunc(task.Catch, func(c flow.Catch) bool { return r.matches(c.Errors, failure) }); i >= 0 {
		r.advance(r.caught(step, w, i, failure))
		return
	}
	r.fail(step, failure)
}

// policyFor is the first policy that names the failure, -1 for none. It decides alone: after its
// last retry no later policy counts.
func (r *run) policyFor(task *flow.Task, failure token.Outcome) int {
	return slices.IndexFunc(task.Retry, func(p flow.Retry) bool { return r.matches(p.Errors, failure) })
}

func (w *Waiting) retried(policy int) int {
	if w.Retried == nil {
		return 0
	}
	return w.Retried[policy]
}

// pauseForRetry counts the retry and waits for it. A retry without a pause is made at once.
func (r *run) pauseForRetry(step *flow.Step, w Waiting, policy int) {
	policies := taskOf(step).Retry
	retried := make([]int, len(policies))
	copy(retried, w.Retried)
	retried[policy]++
	pausing := Waiting{
		Attempt: w.Attempt, For: WaitingForRetry, Input: w.Input, Due: r.at.Add(policies[policy].After(retried[policy])),
		Entry: r.entry(), Retried: retried, Polls: w.Polls,
	}
	if pausing.Due.After(r.at) {
		r.state().Waiting = &pausing
		return
	}
	r.tryAgain(step, pausing)
}

// tryAgain begins a new attempt.
func (r *run) tryAgain(step *flow.Step, w Waiting) {
	if err := r.checkEvents(); err != nil {
		r.fail(step, *err)
		return
	}
	input := w.Input
	if step.Data.ReadsAttempt() { // the new attempt has another token
		last := r.state().Events
		input = r.inputOf(step, last, last+1)
	}
	if err := r.checkData(step, input); err != nil {
		r.fail(step, *err)
		return
	}
	r.beginAttempt(step, taskOf(step), input, w.Retried)
}

// caught continues with an entry of the catch. The step has failed, and may have an output.
func (r *run) caught(step *flow.Step, w Waiting, index int, failure token.Outcome) *flow.Step {
	output := step.Data.Caught(r.frame(step, w.Input, value.Missing(), r.state().Events+1, w.Attempt.Number), failure)
	if err := r.limitsReached(step, w.Input, output); err != nil {
		r.fail(step, *err)
		return nil
	}
	r.emit(Event{Type: StepFailed, Step: step.Index, Error: failure.Error, Cause: failure.Cause, Output: output})
	entry := &taskOf(step).Catch[index]
	if len(entry.Steps) == 0 {
		r.addOutput(output)
		return afterCatch(step, entry)
	}
	s := r.state()
	s.Series = append(s.Series, Series{Owner: Owner{OwnerCatch, step.Index, index}, Input: w.Input, Local: output})
	return entry.Steps[0]
}

// afterCatch follows the goto of the entry, which has precedence over the end of the task.
func afterCatch(step *flow.Step, entry *flow.Catch) *flow.Step {
	if entry.Goto != nil {
		return entry.Goto
	}
	return after(step)
}

// endCatch continues after the steps of an entry. The task is over, so their output is its output,
// without another event.
func (r *run) endCatch(step *flow.Step, ended Series) *flow.Step {
	if err := r.limitsReached(step, ended.Input, ended.Local); err != nil {
		r.failExecution(step, *err)
		return nil
	}
	r.addOutput(ended.Local)
	return afterCatch(step, &taskOf(step).Catch[ended.Owner.Branch])
}
