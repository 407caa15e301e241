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

// handled continues after a failed attempt of a step with a retry or with a catch. It returns false
// if the step fails. The first policy that names the failure decides alone: after its last retry no
// later policy counts.
func (r *run) handled(step *flow.Step, w Waiting, failure token.Outcome) (next *flow.Step, ok bool) {
	handlers, matches := step.Handlers(), func(errors []string) bool {
		return slices.ContainsFunc(errors, func(name string) bool { return r.env.Flow.Matches(name, failure) })
	}
	if handlers == nil {
		return nil, false
	}
	if i := slices.IndexFunc(handlers.Retry, func(p flow.Retry) bool { return matches(p.Errors) }); i >= 0 && w.retried(i) < handlers.Retry[i].MaxAttempts {
		return r.pauseForRetry(step, w, i), true
	}
	if i := slices.IndexFunc(handlers.Catch, func(c flow.Catch) bool { return matches(c.Errors) }); i >= 0 {
		return r.caught(step, w, i, failure), true
	}
	return nil, false
}

// attemptFailed continues after a failed attempt: with a retry, with a catch, or with the failure
// of the step.
func (r *run) attemptFailed(step *flow.Step, w Waiting, failure token.Outcome) *flow.Step {
	failure = r.named(failure)
	if next, ok := r.handled(step, w, failure); ok {
		return next
	}
	return r.fail(step, failure)
}

func (w *Waiting) retried(policy int) int {
	if w.Retried == nil {
		return 0
	}
	return w.Retried[policy]
}

// pauseForRetry counts the retry and waits for it. A retry without a pause is made at once.
func (r *run) pauseForRetry(step *flow.Step, w Waiting, policy int) *flow.Step {
	policies := step.Handlers().Retry
	retried := make([]int, len(policies))
	copy(retried, w.Retried)
	retried[policy]++
	pause := policies[policy].After(retried[policy])
	if policies[policy].Jitter {
		pause = jittered(pause, r.state().callOf(step, w.Attempt).Key())
	}
	pausing := Waiting{
		Attempt: w.Attempt, For: WaitingForRetry, Input: w.Input, Due: r.at.Add(pause),
		Entry: r.entry(), Retried: retried, Polls: w.Polls,
	}
	if pausing.Due.After(r.at) {
		r.wait(&pausing)
		return nil
	}
	return r.tryAgain(step, pausing)
}

// jittered returns a part of a pause that looks random and depends on the key of the attempt alone.
func jittered(pause time.Duration, key string) time.Duration {
	sum := sha256.Sum256([]byte("jitter\x00" + key))
	return time.Duration(float64(pause) * (float64(binary.BigEndian.Uint32(sum[:])) / (math.MaxUint32 + 1.0)))
}

// tryAgain begins a new attempt.
func (r *run) tryAgain(step *flow.Step, w Waiting) *flow.Step {
	if err := r.checkEvents(); err != nil {
		return r.fail(step, *err)
	}
	input := w.Input
	r.retried = w.Retried
	if step.Data.ReadsAttempt() || input.IsMissing() { // the new attempt has another token; the data of the last one failed
		last := r.state().Events
		begun := r.beginningOf(step, last, last+1)
		if begun.Failure.Failed() {
			return r.attemptFailed(step, w, begun.Failure)
		}
		input = begun.Value()
	}
	if err := r.checkData(step, input); err != nil {
		return r.fail(step, *err)
	}
	return kindOf(step).begin(r, step, input, w.Retried)
}

// caught continues with an entry of the catch. The step has failed, and may have an output.
func (r *run) caught(step *flow.Step, w Waiting, index int, failure token.Outcome) *flow.Step {
	exit := step.Data.Caught(r.frame(step, w.Input, value.Missing(), r.state().Events+1, w.Attempt.Number), index, failure)
	if exit.Failure.Failed() {
		return r.fail(step, exit.Failure)
	}
	if err := r.limitsReached(step, w.Input, exit.Output); err != nil {
		return r.fail(step, *err)
	}
	r.emit(Event{Type: StepFailed, Step: step.Index, Error: failure.Error, Cause: failure.Cause, Local: exit.Local, Output: exit.Output})
	entry := &step.Handlers().Catch[index]
	if len(entry.Steps) == 0 {
		r.join(exit)
		return afterCatch(step, entry)
	}
	r.open(Series{Owner: Owner{OwnerCatch, step.Index, index}, Input: w.Input, Local: exit.Output})
	return entry.Steps[0]
}

// afterCatch follows the goto of the entry, which has precedence over the end of the step.
func afterCatch(step *flow.Step, entry *flow.Catch) *flow.Step {
	if entry.Goto != nil {
		return entry.Goto
	}
	return after(step)
}

// endCatch continues after the steps of an entry. The step is over, so their output is its output,
// without another event.
func (r *run) endCatch(step *flow.Step, ended Series) *flow.Step {
	if err := r.limitsReached(step, ended.Input, ended.Local); err != nil {
		return r.failExecution(step, *err)
	}
	r.join(flow.Exit{Output: ended.Local})
	return afterCatch(step, &step.Handlers().Catch[ended.Owner.Branch])
}

// ownsCatch reports whether the handlers have the entry of a catch that owns a series.
func ownsCatch(h *flow.Handlers, o Owner) bool {
	return o.Kind == OwnerCatch && o.Branch >= 0 && o.Branch < len(h.Catch) && len(h.Catch[o.Branch].Steps) > 0
}

// catchOf returns the owner of the steps of an entry of a catch, but for the index of the step.
func catchOf(h *flow.Handlers, series *flow.Series) Owner {
	in := func(c flow.Catch) bool { return len(c.Steps) > 0 && c.Steps[0].Series == series }
	return Owner{Kind: OwnerCatch, Branch: slices.IndexFunc(h.Catch, in)}
}

// mayRetry reports whether a wait of a step with the handlers can have so many retries.
func mayRetry(h *flow.Handlers, w *Waiting) bool {
	return (len(w.Retried) == 0 || len(w.Retried) == len(h.Retry)) && (w.For != WaitingForRetry || len(w.Retried) > 0)
}
