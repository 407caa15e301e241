package machine

import (
	"math"
	"time"

	"github.com/waitless/waitless/pkg/token"
)

// Unresolved reports whether something has not ended that a wake with this cause entered, and
// returns its entry. The execution may depend on that wake alone.
func Unresolved(s State, cause string) (entered Entry, ok bool) {
	if s.Ending != nil && s.Ending.By == cause {
		return s.Ending.Entry, true
	}
	if w := s.Waiting; w != nil && !w.forTimer() && w.By == cause {
		return w.Entry, true
	}
	return Entry{}, false
}

// Rest is until when a state needs no worker, in nanoseconds since 1970. It is zero if a worker has
// something to do, or soon will. It is odd while a token may be closed before.
type Rest int64

// restForever is the rest of a state that waits for a token without a deadline.
const restForever Rest = math.MaxInt64

// shortRest is the shortest rest. A restart takes about as long, so shorter ones are over then.
const shortRest = 10 * time.Second

// AwaitsToken reports whether a token may be closed before the rest is over.
func (r Rest) AwaitsToken() bool { return r&1 != 0 }

// Rest returns until when the state needs no worker.
func (s State) Rest() Rest {
	w := s.Waiting
	if w == nil || s.Ending != nil || s.Status != StatusRunning || !w.Submitted() && !w.forTimer() {
		return 0
	}
	due := s.Timer.Due
	switch rest := Rest(due.UnixNano()) &^ 1; {
	case due.IsZero() && w.Submitted():
		return restForever
	case due.Sub(s.At) < shortRest:
		return 0
	case w.Submitted():
		return rest | 1
	default:
		return rest
	}
}

// forTimer reports whether only the pending timer can advance the state.
func (w *Waiting) forTimer() bool {
	return w.For == WaitingForInstant || w.For == WaitingForRetry || w.For == WaitingForPoll || w.For == WaitingForNextLogItem || w.postponed()
}

// isForCall reports whether the wait is for the result of a call of a worker.
func (w *Waiting) isForCall() bool {
	return w != nil && (w.For == WaitingForCall || w.For == WaitingForClaim)
}

// postponed reports whether a direct call waits for its timer.
func (w *Waiting) postponed() bool { return w.For == WaitingForCall && !w.Due.IsZero() }

// Postpone leaves the direct call of a state that is to be committed to the wake of a timer that is
// due at once: the time of this worker does not last for the call (rule 22).
func Postpone(env Env, s State) State {
	r := newRun(env, s, s.At, plan{})
	r.ownWaiting().Due = r.at
	r.armTimer()
	return r.next.State
}

// Executed says whether the commands of a state may have been executed before.
type Executed uint8

// The values of Executed.
const (
	ExecutedNever     Executed = iota // they were not executed: the state was just committed
	ExecutedMaybe                     // a dead worker may have executed them
	ExecutedQueueLost                 // a dead process may have executed them, and its task queue is lost
)

// Pending returns the commands that the state depends on, the same as the first time, with the same
// keys. If they may have been executed before, a claimed call is left to its timer, and a call that
// must not be repeated fails. Next has only the commands, or the references to load for them.
func Pending(env Env, s State, at time.Time, executed Executed) (Next, error) {
	if err := check(env, s); err != nil || s.Waiting == nil {
		return Next{State: s}, err
	}
	r := newRun(env, s, at, plan{})
	if c := r.pending(executed); c != nil {
		r.do(c)
	}
	if r.needsLoad() {
		return Next{State: s, Load: r.lookup.Load}, nil
	}
	return r.next, r.err
}

// pending returns the command that the state depends on, nil for none.
func (r *run) pending(executed Executed) Command {
	w := r.state().Waiting
	if w == nil || w.For == WaitingForNextLogItem {
		return nil
	}
	step := r.env.Flow.All[w.Attempt.Step]
	return kindOf(step).pending(r, step, executed)
}

func (r taskRun) pendingCall(executed Executed) Command {
	w, ending := r.state().Waiting, r.state().Ending != nil
	lost := executed == ExecutedQueueLost && (w.isIn(TokenQueued) || w.Child() != nil) // the start of a sub-flow again reports its end
	toSubmit := w.isIn(TokenToSubmit) || w.isIn(TokenToQueue) || lost
	switch {
	case ending && w.Token() == nil:
		return nil
	case ending:
		return r.closing(token.CloseOp{Outcome: r.endedBefore(), By: token.ClosedByStop, At: r.at})
	case w.postponed():
		return nil
	case w.isIn(TokenToSubmit) && r.task.AtMostOnce && executed != ExecutedNever:
		return r.closing(token.CloseOp{Outcome: Interrupted(r.step.Name), By: token.ClosedByTask, At: r.at})
	case toSubmit, w.For == WaitingForCall, w.For == WaitingForClaim && executed == ExecutedNever:
		return r.command(w)
	}
	return nil
}

// closing returns the command that closes the token for which the state waits.
func (r taskRun) closing(op token.CloseOp) CloseToken {
	w := r.state().Waiting
	return CloseToken{Attempt: w.Attempt, Handle: w.Handle(), Closing: op}
}
