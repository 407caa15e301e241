package engine

import (
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// lane returns the lane that the wake names, nil if it names none or a lane of another log: then it
// is forged.
func (w Wake) lane() *machine.Lane {
	if lane := w.Lane; lane != nil && lane.ID() == w.Execution {
		return lane
	}
	return nil
}

// young reports whether the update that the wake announces may still be under way: the wake was
// sent less than patience ago. A wake that was sent in the future is judged by the same distance:
// clocks differ a little, and a forged wake must not be sent again forever.
func (w Wake) young(now time.Time, patience time.Duration) bool {
	return now.Sub(w.Sent).Abs() < patience
}

// isOfJoin reports whether the wake reports that lanes ended that the state waits for.
func (w Wake) isOfJoin(waiting *machine.Waiting) bool {
	if waiting.Fork() == nil {
		return false
	}
	return machine.IsJoinOf(w.Cause, waiting.Attempt.Number)
}

// isRearm reports whether the wake is sent by [Client.Rearm].
func (w Wake) isRearm() bool {
	return slices.Contains([]string{machine.CauseRearm, machine.CauseRearmCalls, machine.CauseRearmNotices}, w.Cause)
}

// repeatsEnding reports whether a lane has decided to end but the wake for that may be lost: it
// died with its process, or with a queue. The stop of the lane then finishes the end.
func (w Wake) repeatsEnding(state machine.State) bool {
	return w.Cause == machine.CauseStop && state.Lane != nil && state.Ending != nil
}

// bringsResult reports whether the wake announces a closed token, and the result can have ended the
// execution, or is sent by [Client.Rearm], which stands for every wake that was lost.
// Another wake that was delivered twice may have found the result first. If its other delivery
// deleted the message meanwhile, and the worker died, the wake of the result is all that is left.
func (w Wake) bringsResult(state machine.State) bool {
	_, isToken := token.HandleID(w.Cause)
	return (isToken || w.isRearm()) && (state.Status == machine.StatusSucceeded || state.Status == machine.StatusFailed)
}

// executedBefore says whether the commands of a state may have been executed, for a wake that is
// not their own worker's. Of messages that are lost only the start of a sub-flow is repeated for
// certain, because that changes nothing; a call that is queued a second time is made a second time.
func (w Wake) executedBefore(state machine.State) machine.Executed {
	if w.isRearm() && state.Waiting != nil && (state.Waiting.Child() != nil || w.Cause == machine.CauseRearmCalls) {
		return machine.ExecutedQueueLost
	}
	return machine.ExecutedMaybe
}

// onlyNotifies reports whether the wake sends the notice of a wait again and repeats nothing else:
// the call was made.
func (w Wake) onlyNotifies(state machine.State) bool {
	return w.Cause == machine.CauseRearmNotices && state.Ending == nil && state.Waiting.Submitted()
}
