package machine

import (
	"time"

	"github.com/waitless/waitless/pkg/token"
)

// Unresolved reports whether something that the wake with this cause entered
// has not ended yet, and when it was entered. Such a wake may be the only one
// left that makes the execution go on.
func Unresolved(s State, cause string) (since time.Time, ok bool) {
	if s.Ending != nil && s.Ending.By == cause {
		return s.Ending.Since, true
	}
	if w := s.Waiting; w != nil && w.For != WaitingForInstant && w.By == cause {
		return w.Since, true
	}
	return time.Time{}, false
}

// Entered are the commands without which the state does not go on, for the
// very worker that entered it and has the result of each call that it made:
// claimed calls and those of atMostOnce included.
func Entered(env Env, s State, at time.Time) ([]Command, error) {
	w := s.Waiting
	if s.Ending != nil || w == nil || w.For == WaitingForInstant || w.Submitted {
		return Pending(env, s, at)
	}
	if err := check(env, s); err != nil {
		return nil, err
	}
	step := env.Flow.All[w.Attempt.Step]
	r := &run{env: env, next: Next{State: s}, at: at}
	return []Command{r.carryOut(step, taskOf(step), w)}, nil
}

// Pending are the commands without which the state does not go on, as far as
// somebody may carry them out again: the same as the first time, keys
// included. A claimed call is left to its timer.
func Pending(env Env, s State, at time.Time) ([]Command, error) {
	if err := check(env, s); err != nil || s.Waiting == nil {
		return nil, err
	}
	r := &run{env: env, next: Next{State: s}, at: at}
	w := s.Waiting
	step := env.Flow.All[w.Attempt.Step]
	switch {
	case s.Ending != nil:
		return []Command{r.closeForEnd(w)}, nil
	case w.For == WaitingForToken && !w.Submitted && taskOf(step).AtMostOnce:
		closing := token.Closing{Outcome: interrupted(step), By: token.ClosedByTask, At: at}
		return []Command{CloseToken{Attempt: w.Attempt, Handle: w.Handle, Closing: closing}}, nil
	case w.For == WaitingForToken && !w.Submitted, w.For == WaitingForCall:
		return []Command{r.carryOut(step, taskOf(step), w)}, nil
	}
	return nil, nil
}
