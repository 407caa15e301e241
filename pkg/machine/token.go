package machine

import (
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// openToken makes the attempt wait for a token.
func (r taskRun) openToken(waiting *Waiting) {
	if err := r.env.Keys.Check(); err != nil {
		r.err = &KeysError{err}
		return
	}
	r.keepLog()
	task := r.task
	wait := &TokenWait{Handle: r.env.Keys.Handle(r.tokenID(waiting.Attempt)), Beat: r.at}
	waiting.For = wait
	// The time limit of a task that is only told of its token limits the token, not the call.
	if isAwaited(task) || task.Resource.Activity || r.env.TimeLimits[task.Resource.Text] > r.env.Limits.direct() {
		wait.Phase = TokenToQueue
	}
	if task.Timeout > 0 && task.Poll == nil && (!isAwaited(task) || !r.env.Limits.QueueTimesCalls) {
		waiting.Deadline = r.at.Add(task.Timeout)
	}
	waiting.Due = waiting.overdueAt(task)
}

// keepLog keeps the log for the time that an attempt which begins now may wait for its token. The
// token expires with the log, so this comes before the token.
func (r taskRun) keepLog() {
	until := r.limitAt()
	if r.task.Timeout > 0 {
		until = r.at.Add(r.task.Timeout)
	}
	r.keepUntil(until)
}

// pollNumbers is where the numbers of polls' tokens begin. Attempts use ids of events, which are
// far smaller.
const pollNumbers = 1 << 31

func (r taskRun) tokenID(attempt Attempt) token.ID {
	s, task := r.state(), r.task
	id := token.ID{Execution: s.ID(), Number: uint32(attempt.Number), Expires: s.Expires} //nolint:gosec // an event id, which fits by the limits
	if attempt.Poll > 0 {
		id.Number = pollNumbers | uint32(attempt.Poll) //nolint:gosec // a second apart they last for 68 years
	}
	if task.Signed {
		id.Flags = token.FlagSigned
	}
	if task.Sender != "" {
		id.Flags |= token.FlagSender
		id.Sender = token.SenderOf(task.Sender)
	}
	if r.env.Flow.Values.Any {
		id.Flags |= token.FlagAnyValue
	}
	return id
}

// overdueAt is when the token is to be closed: at the deadline or a missed heartbeat, zero if it
// has neither. The heartbeats of an activity begin when a worker has the task.
func (w *Waiting) overdueAt(task *flow.Task) time.Time {
	if task.Heartbeat == 0 || task.Resource.Activity && !w.Submitted() {
		return w.Deadline
	}
	missed := w.Token().Beat.Add(task.Heartbeat)
	if w.Deadline.IsZero() || missed.Before(w.Deadline) {
		return missed
	}
	return w.Deadline
}

// overdue closes the token that ran out of time. The first close wins, so the state does not change
// until the token's outcome is known.
func (r taskRun) overdue() {
	w := r.state().Waiting
	op := token.CloseOp{At: r.at, By: token.ClosedByDeadline}
	if !w.Deadline.IsZero() && !r.at.Before(w.Deadline) {
		op.Outcome = r.notInTime()
	} else {
		op.By, op.UnlessBeatAfter = token.ClosedByHeartbeat, w.Token().Beat
		op.Outcome = token.Failure(ErrorTaskTimeout, fmt.Sprintf("step %s: no heartbeat within %s", r.step.Name, r.task.Heartbeat))
	}
	r.do(r.closing(op))
}

func (r taskRun) notInTime() token.Outcome {
	return token.Failure(ErrorTaskTimeout, fmt.Sprintf("step %s: not finished within %s", r.step.Name, r.task.Timeout))
}

// MaxReply is the largest reply to a submission that is kept. It may come into one item with the
// outcome.
const MaxReply = 64 << 10

// submitted records once that the function was told of the token, with its reply.
func (r taskRun) submitted(output value.Value) {
	if r.state().Waiting.Submitted() || r.state().Ending != nil {
		return
	}
	w := r.ownWaiting()
	w.Token().Phase = TokenSubmitted
	if r.task.Resource.Activity {
		w.Token().Beat = r.at
		w.Due = w.overdueAt(r.task)
	}
	if r.checkData(r.step, w.Input, output) != nil || output.Size() > MaxReply || r.plan.dropReply {
		output = value.Missing() // only the history has it
	}
	r.emit(Event{Type: TaskSubmitted, Step: r.step.Index, Output: output})
}

// Token returns the text of the callback token that the state waits for. It returns false if the
// state waits for none, or for a token that no caller outside has.
func Token(keys token.Keys, def *flow.Flow, s State) (text string, ok bool) {
	w := s.Waiting
	if w.Token() == nil || !canWait(def, w) || taskOf(def.All[w.Attempt.Step]).Pattern != flow.PatternWaitForCallback {
		return "", false
	}
	return keys.SignAgain(w.Handle())
}
