package machine

import (
	"fmt"
	"math"
	"time"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// mostShared is more items than lanes may claim: join records have six digits for an item. The
// event limits of 100 lanes end such a fork long before.
const mostShared = 1_000_000

// MostClaimed is the most items of one claim: join records have four digits for it.
const MostClaimed = 9_999

// nextItems claims the next items for the lane. If its last claim took the last items, no lane ever
// gets more, and the lane ends (rule 27).
func (r forkRun) nextItems() *flow.Step {
	s := r.state()
	if max(s.Share.last().To, s.Share.Ranges[0].Len()*s.Lane.Count) >= s.Share.Items {
		return r.endFork(*r.innermost())
	}
	attempt := Attempt{Step: r.step.Index, Number: s.Events}
	r.wait(&Waiting{Attempt: attempt, For: WaitingForItems, Input: value.Object(), Entry: r.entry()})
	r.do(r.claim())
	return nil
}

// claim returns the command that claims the next items.
func (r forkRun) claim() ClaimItems {
	s := r.state()
	first := s.Share.Ranges[0].Len() * s.Lane.Count
	return ClaimItems{Attempt: s.Waiting.Attempt, Number: len(s.Share.Ranges), Size: r.claimSize(), First: first, Items: s.Share.Items}
}

// claimed enters the first item of a claim, or ends the lane if it has none.
func (r forkRun) claimed(sig ItemsClaimed) *flow.Step {
	r.leaveWaiting()
	share := *r.state().Share
	if share.Retired = sig.Retires; sig.Range.Len() > 0 {
		share.Ranges = append(share.Ranges[:len(share.Ranges):len(share.Ranges)], sig.Range)
		share.Since = r.at
	}
	r.state().Share = &share
	if sig.Range.Len() <= 0 {
		return r.endFork(*r.innermost())
	}
	r.independent = true
	return r.enterItem(r.results().at(sig.Range.From))
}

// claimSize returns how many items the lane claims. Any number is correct. If an item may wait, it
// is one. Otherwise the claim lasts for a moment at the lane's pace, and leaves enough to the other
// lanes. The size is 0 if the log is nearly full.
func (r forkRun) claimSize() int {
	s, limit := r.state(), r.laneEvents()
	if s.Events*5 > limit*4 { // over four fifths (rule 28)
		return 0
	}
	if r.mayWait() {
		return 1
	}
	last, took := s.Share.last(), max(r.at.Sub(s.Share.Since), 1)
	pace := float64(last.Len()) * float64(r.env.Limits.claimTime()) / float64(took)
	fair := min((s.Share.Items-last.To)/(2*s.Lane.Count), MostClaimed) //nolint:mnd // half of an equal part
	fits := (limit - s.Events) * s.Share.count() / s.Events            // at the average of the items so far
	return max(1, min(int(min(pace, math.MaxInt32)), fair, fits))      // a faster lane is limited by its part
}

// mayWait reports whether an item of the step may wait for something but a short call.
func (r forkRun) mayWait() bool {
	for _, step := range r.env.Flow.All[r.step.Index+1:] {
		if !isInside(step, r.step) {
			return false // the steps inside of a fork follow it, before those of its catch
		}
		switch kind := step.Kind.(type) {
		case *flow.Wait:
			return true
		case *flow.Task:
			if isLong(taskRun{r.run, step, kind}) {
				return true
			}
		case *flow.Pass, *flow.Choice, *flow.Parallel, *flow.Foreach, *flow.Succeed, *flow.Fail:
		}
	}
	return false
}

// isInside reports whether a step is in a branch or an iteration of a fork.
func isInside(step, fork *flow.Step) bool {
	for step != nil && step.Series.Fork() != fork {
		step = step.Series.Owner
	}
	return step != nil
}

// isLong reports whether an attempt of a task may take longer than a direct call, or may pause for
// as long before a retry.
func isLong(r taskRun) bool {
	direct := r.env.Limits.direct()
	for _, retry := range r.task.Retry {
		if retry.After(retry.MaxAttempts) > direct {
			return true
		}
	}
	return !isAwaited(r.task) || r.task.Pattern == flow.PatternSync || r.task.Resource.Subflow || r.task.Poll != nil || r.timeLimit() > direct
}

// noRoom is the failure of a fork after all lanes retired before its last item.
func noRoom(step *flow.Step, left, items int) token.Outcome {
	return token.Failure(ErrorEventLimit, fmt.Sprintf("step %s: %d of %d iterations did not begin, because its lanes have too many history "+
		"events; split the work into several executions, or run more iterations at once", step.Name, left, items))
}

// inOrder is the list of all items' outputs in their order, from the lists of lanes that claimed
// their items.
func (r forkRun) inOrder(sig LanesJoined, items int) value.Value {
	all, found := make([]value.Value, items), 0
	for i, ranges := range sig.Ranges {
		list, position := r.lookup.Open(sig.Outputs[i]), 0
		for _, of := range ranges {
			for item := of.From; item < of.To && item < items && position < list.Len(); item++ {
				all[item] = list.At(position)
				position++
				found++
			}
		}
	}
	if found != items && !r.needsLoad() {
		r.err = fmt.Errorf("machine: %d outputs of %d items", found, items)
	}
	return value.Array(all...)
}

func (l Limits) claimTime() time.Duration {
	if l.ClaimTime == 0 {
		return DefaultClaimTime
	}
	return l.ClaimTime
}
