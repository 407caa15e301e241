package machine

import (
	"time"

	"github.com/waitless/waitless/pkg/token"
)

// Unresolved reports whether something that the wake with this cause entered
// has not ended yet, and who did. Such a wake may be the only one left that makes
// the execution go on.
func Unresolved(s State, cause string) (entered Entry, ok bool) {
	if s.Ending != nil && s.Ending.By == cause {
		return s.Ending.Entry, true
	}
	if w := s.Waiting; w != nil && !w.forTimer() && w.By == cause {
		return w.Entry, true
	}
	return Entry{}, false
}

// forTimer: the timer is all that makes the state go on, and it is out.
func (w *Waiting) forTimer() bool {
	return w.For == WaitingForInstant || w.For == WaitingForRetry || w.For == WaitingForPoll || w.For == WaitingForRoom
}

// Past is what may have happened to the commands of a state before.
type Past uint8

// The pasts.
const (
	// PastNone: nobody carried them out, for the state was just committed.
	PastNone Past = iota
	// PastUnknown: a worker that is dead may have.
	PastUnknown
	// PastLost: a process that is dead may have, and its task queue died with it.
	PastLost
)

// Pending are the commands without which the state does not go on, the same as
// the first time, keys included. Where they may have been carried out before, a
// claimed call is left to its timer, and what must not be made twice is given
// up. Next has nothing but the commands, or what is missing for them.
func Pending(env Env, s State, at time.Time, past Past) (Next, error) {
	if err := check(env, s); err != nil || s.Waiting == nil {
		return Next{State: s}, err
	}
	r := newRun(env, s, at, plan{})
	r.next.Commands = r.pending(past)
	if r.stuck() {
		return Next{State: s, Load: r.lookup.Missing}, nil
	}
	return r.next, r.err
}

func (r *run) pending(past Past) []Command {
	s := r.state()
	w := s.Waiting
	step := r.env.Flow.All[w.Attempt.Step]
	task := taskOf(step)
	toSubmit := w.isTo(TokenToSubmit) || w.isTo(TokenToQueue) || w.isTo(TokenQueued) && past == PastLost
	switch {
	case s.Ending != nil:
		return []Command{r.closeForEnd(w)}
	case w.isTo(TokenToSubmit) && task.AtMostOnce && past != PastNone:
		closing := token.CloseOp{Outcome: Interrupted(step.Name), By: token.ClosedByTask, At: r.at}
		return []Command{CloseToken{Attempt: w.Attempt, Handle: w.Token.Handle, Closing: closing}}
	case toSubmit, w.For == WaitingForCall, w.For == WaitingForClaim && past == PastNone:
		return []Command{r.commandFor(step, task, w)}
	}
	return nil
}

// isTo reports whether the state waits for a token in this phase.
func (w *Waiting) isTo(phase TokenPhase) bool { return w.Token != nil && w.Token.Phase == phase }
