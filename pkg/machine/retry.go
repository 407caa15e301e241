package machine

import (
	"cmp"
	"slices"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// matches reports whether the errors of a policy or an entry name the failure.
func matches(errors []string, failure token.Outcome) bool {
	return slices.ContainsFunc(errors, func(name string) bool { return name == fdl.ErrorAll || failure.Matches(name) })
}

// attemptFailed goes on after an attempt that failed: with another one, in the
// catch, or not at all.
func (r *run) attemptFailed(step *fdl.Step, w Waiting, failure token.Outcome) {
	task := taskOf(step)
	if i := policyFor(task, failure); i >= 0 && w.retried(i) < task.Retry[i].MaxAttempts {
		r.pauseForRetry(step, w, i)
		return
	}
	if i := slices.IndexFunc(task.Catch, func(c fdl.Catch) bool { return matches(c.Errors, failure) }); i >= 0 {
		r.advance(r.caught(step, w, i, failure))
		return
	}
	r.fail(step, failure.Error, failure.Cause)
}

// policyFor is the first policy that means the failure, which decides alone: when
// its retries are used up no later one counts. -1: none does.
func policyFor(task *fdl.Task, failure token.Outcome) int {
	return slices.IndexFunc(task.Retry, func(p fdl.Retry) bool { return matches(p.Errors, failure) })
}

func (w *Waiting) retried(policy int) int {
	if w.Retried == nil {
		return 0
	}
	return w.Retried[policy]
}

// pauseForRetry counts the retry and waits for it. Without a pause it comes at
// once.
func (r *run) pauseForRetry(step *fdl.Step, w Waiting, policy int) {
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

func (r *run) retryDue() { r.tryAgain(r.leaveWaiting()) }

// tryAgain begins a new attempt.
func (r *run) tryAgain(step *fdl.Step, w Waiting) {
	if err := r.checkEvents(); err != nil {
		r.failFor(step, err)
		return
	}
	input := r.inputAgain(step, w)
	if err := r.checkData(step, input); err != nil {
		r.failFor(step, err)
		return
	}
	r.schedule(step, taskOf(step), input, w.Retried)
}

// inputAgain is the step's input for a new attempt: what it maps of $context, as
// the token, is that of the attempt.
func (r *run) inputAgain(step *fdl.Step, w Waiting) value.Value {
	if !step.Input.Uses(expr.RootContext) {
		return w.Input
	}
	last := r.state().Events
	return r.mappedInput(step, last, last+1)
}

// caught goes on in an entry of the catch. The step has failed and puts out what
// errorMappings give.
func (r *run) caught(step *fdl.Step, w Waiting, index int, failure token.Outcome) *fdl.Step {
	output := r.errorOutput(step, w, failure)
	if err := cmp.Or(r.checkData(step, w.Input, output), r.checkpoint(step)); err != nil {
		r.failFor(step, err)
		return nil
	}
	r.emit(Event{Type: StepFailed, Step: step.Index, Error: failure.Error, Cause: failure.Cause, Output: output})
	entry := &taskOf(step).Catch[index]
	if len(entry.Steps) == 0 {
		r.addOutput(output)
		return afterCatch(step, entry)
	}
	s := r.state()
	s.Scopes = append(s.Scopes, Scope{Owner: Owner{OwnerCatch, step.Index, index}, Input: w.Input, Local: output})
	return entry.Steps[0]
}

// errorOutput is what errorMappings make of the failure.
func (r *run) errorOutput(step *fdl.Step, w Waiting, failure token.Outcome) value.Value {
	mappings := taskOf(step).ErrorMappings
	if mappings == nil {
		return value.Object()
	}
	local := value.Object(
		value.Member{Key: "error", Value: value.String(failure.Error)}, value.Member{Key: "cause", Value: value.String(failure.Cause)},
	)
	return r.mapped(step, errorMappings, mappings, &expr.Scope{
		Input: w.Input, Local: local, Context: r.context(mappings, step, r.state().Events+1, w.Attempt.Number),
	})
}

// afterCatch follows the entry's goto, which goes before the task's end.
func afterCatch(step *fdl.Step, entry *fdl.Catch) *fdl.Step {
	if entry.Goto != nil {
		return entry.Goto
	}
	return after(step)
}

// endCatch goes on after the steps of an entry. The task is over, so what they put
// out is its output without another event.
func (r *run) endCatch(step *fdl.Step, ended Scope) *fdl.Step {
	if err := cmp.Or(r.checkData(step, ended.Input, ended.Local), r.checkpoint(step)); err != nil {
		r.failExecution(err.name(), err.Error())
		return nil
	}
	r.addOutput(ended.Local)
	return afterCatch(step, &taskOf(step).Catch[ended.Owner.Branch])
}
