package machine

import (
	"fmt"

	"github.com/waitless/waitless/pkg/fdl"
)

// check finds a state that the definition cannot have led to, so that the rest
// may use indexes without looking.
func check(env Env, s State) error {
	running := s.Status == StatusRunning
	if running != (len(s.Scopes) > 0) || running != (s.Waiting != nil) {
		return fmt.Errorf("machine: execution %q is %s, in %d series of steps, waiting=%t, which no signal leads to",
			s.Execution, s.Status, len(s.Scopes), s.Waiting != nil)
	}
	for i, scope := range s.Scopes {
		if i == 0 && scope.Choice != NoStep || i > 0 && !hasBranch(env.Flow, scope) {
			return fmt.Errorf("machine: execution %q is in branch %d of step %d, which flow %q does not have",
				s.Execution, scope.Branch, scope.Choice, s.Flow.Name)
		}
	}
	if s.Waiting != nil && !canWait(env.Flow, s.Waiting) {
		return fmt.Errorf("machine: execution %q waits in step %d, which flow %q does not have or which does not wait so",
			s.Execution, s.Waiting.Attempt.Step, s.Flow.Name)
	}
	return nil
}

// canWait reports whether the step that waits is one that waits for this.
func canWait(flow *fdl.Flow, waiting *Waiting) bool {
	i := waiting.Attempt.Step
	if i < 0 || i >= len(flow.All) {
		return false
	}
	if waiting.For == WaitingForRoom {
		return true
	}
	switch kind := flow.All[i].Kind.(type) {
	case *fdl.Task:
		return canTaskWait(kind, waiting)
	case *fdl.Wait:
		return waiting.For == WaitingForInstant
	case *fdl.Pass, *fdl.Choice, *fdl.Succeed, *fdl.Fail:
	}
	return false
}

func canTaskWait(task *fdl.Task, waiting *Waiting) bool {
	if len(waiting.Retried) != 0 && len(waiting.Retried) != len(task.Retry) || (waiting.Polls > 0) != (task.Poll != nil) {
		return false
	}
	switch waiting.For {
	case WaitingForRetry:
		return len(waiting.Retried) > 0
	case WaitingForPoll:
		return task.Poll != nil
	case WaitingForClaim:
		return task.Poll == nil
	case WaitingForInstant, WaitingForRoom:
		return false
	case WaitingForCall, WaitingForToken:
	}
	return true
}

func hasBranch(flow *fdl.Flow, scope Scope) bool {
	if scope.Choice < 0 || scope.Choice >= len(flow.All) {
		return false
	}
	switch kind := flow.All[scope.Choice].Kind.(type) {
	case *fdl.Choice:
		if scope.Branch == defaultBranch {
			return kind.Default != nil
		}
		return scope.Branch >= 0 && scope.Branch < len(kind.Branches)
	case *fdl.Task:
		return scope.Branch >= 0 && scope.Branch < len(kind.Catch) && len(kind.Catch[scope.Branch].Steps) > 0
	case *fdl.Pass, *fdl.Wait, *fdl.Succeed, *fdl.Fail:
	}
	return false
}
