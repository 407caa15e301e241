package machine

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// failed continues after a failed attempt: with a retry, with a catch, or with the failure of the
// step. The first policy that names the failure decides alone: after its last retry no later policy
// counts.
func (r taskRun) failed(w Waiting, failure token.Outcome) *flow.Step {
	task, matches := r.task, func(errors []string) bool {
		return slices.ContainsFunc(errors, func(name string) bool { return r.env.Flow.Matches(name, failure) })
	}
	if i := slices.IndexFunc(task.Retry, func(p flow.Retry) bool { return matches(p.Errors) }); i >= 0 && w.retried(i) < task.Retry[i].MaxAttempts {
		return r.pauseForRetry(w, i)
	}
	if i := slices.IndexFunc(task.Catch, func(c flow.Catch) bool { return matches(c.Errors) }); i >= 0 {
		return r.caught(w, i, failure)
	}
	return r.fail(r.step, failure)
}

func (w *Waiting) retried(policy int) int {
	if w.Retried == nil {
		return 0
	}
	return w.Retried[policy]
}

// pauseForRetry counts the retry and waits for it. A retry without a pause is made at once.
func (r taskRun) pauseForRetry(w Waiting, policy int) *flow.Step {
	policies := r.task.Retry
	retried := make([]int, len(policies))
	copy(retried, w.Retried)
	retried[policy]++
	pause := policies[policy].After(retried[policy])
	if policies[policy].Jitter {
		pause = jittered(pause, r.state().callOf(r.step, w.Attempt).Key())
	}
	pausing := Waiting{
		Attempt: w.Attempt, For: WaitingForRetry, Input: w.Input, Due: r.at.Add(pause),
		Entry: r.entry(), Retried: retried, Polls: w.Polls,
	}
	if pausing.Due.After(r.at) {
		r.wait(&pausing)
		return nil
	}
	return r.tryAgain(pausing)
}

// jittered returns a part of a pause that looks random and depends on the key of the attempt alone.
func jittered(pause time.Duration, key string) time.Duration {
	sum := sha256.Sum256([]byte("jitter\x00" + key))
	return time.Duration(float64(pause) * (float64(binary.BigEndian.Uint32(sum[:])) / (math.MaxUint32 + 1.0)))
}

// tryAgain begins a new attempt.
func (r taskRun) tryAgain(w Waiting) *flow.Step {
	if err := r.checkEvents(); err != nil {
		return r.fail(r.step, *err)
	}
	input := w.Input
	if r.step.Data.ReadsAttempt() { // the new attempt has another token
		last := r.state().Events
		r.retried = w.Retried
		begun := r.beginningOf(r.step, last, last+1)
		if begun.Failure.Failed() {
			return r.failed(w, r.named(begun.Failure))
		}
		input = begun.Value()
	}
	if err := r.checkData(r.step, input); err != nil {
		return r.fail(r.step, *err)
	}
	return r.beginAttempt(input, w.Retried)
}

// caught continues with an entry of the catch. The step has failed, and may have an output.
func (r taskRun) caught(w Waiting, index int, failure token.Outcome) *flow.Step {
	step := r.step
	exit := step.Data.Caught(r.frame(step, w.Input, value.Missing(), r.state().Events+1, w.Attempt.Number), index, failure)
	if exit.Failure.Failed() {
		return r.fail(step, exit.Failure)
	}
	if err := r.limitsReached(step, w.Input, exit.Output); err != nil {
		return r.fail(step, *err)
	}
	r.emit(Event{Type: StepFailed, Step: step.Index, Error: failure.Error, Cause: failure.Cause, Local: exit.Local, Output: exit.Output})
	entry := &r.task.Catch[index]
	if len(entry.Steps) == 0 {
		r.join(exit)
		return afterCatch(step, entry)
	}
	r.open(Series{Owner: Owner{OwnerCatch, step.Index, index}, Input: w.Input, Local: exit.Output})
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
func (r taskRun) endCatch(ended Series) *flow.Step {
	if err := r.limitsReached(r.step, ended.Input, ended.Local); err != nil {
		return r.failExecution(r.step, *err)
	}
	r.join(flow.Exit{Output: ended.Local})
	return afterCatch(r.step, &r.task.Catch[ended.Owner.Branch])
}
