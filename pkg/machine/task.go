package machine

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// claimLife is longer than any worker lives: then a claimed call that has not
// returned never will.
const claimLife = 45 * time.Second

// schedule begins an attempt of a task, which was retried so often before.
func (r *run) schedule(step *fdl.Step, task *fdl.Task, input value.Value, retried []int) {
	asked := r.asked(task, input)
	if err := cmp.Or(r.checkData(step, asked), r.checkpoint(step)); err != nil {
		r.failFor(step, err)
		return
	}
	number := r.emit(Event{Type: TaskScheduled, Step: step.Index, Input: asked})
	r.emit(Event{Type: TaskStarted, Step: step.Index})
	waiting := &Waiting{Attempt: Attempt{Step: step.Index, Number: number}, Input: input, Entry: r.entry(), Retried: retried}
	if task.Poll != nil && task.Timeout > 0 {
		waiting.Deadline = r.at.Add(task.Timeout)
	}
	r.call(step, waiting)
}

// call makes the call of an attempt, or its next poll, in the way that fits it: a
// direct or a claimed call, or a token when its outcome may take longer or comes
// from somebody else.
func (r *run) call(step *fdl.Step, waiting *Waiting) {
	task, s := taskOf(step), r.state()
	s.Waiting = waiting
	waiting.For = WaitingForCall
	if task.Poll != nil {
		s.Polls++
		waiting.Polls++
		waiting.Attempt.Poll = s.Polls
	}
	switch {
	case !answers(task), r.timeLimit(task) > r.env.Limits.direct(), r.queuedOnce(task):
		r.openToken(task, waiting)
	case task.AtMostOnce:
		waiting.For, waiting.Due = WaitingForClaim, r.at.Add(claimLife)
	}
	r.next.Commands = append(r.next.Commands, r.carryOut(step, task, waiting))
}

// answers: the function's answer is the outcome, or that of a poll.
func answers(task *fdl.Task) bool {
	return task.Pattern == fdl.PatternRequestResponse || task.Pattern == fdl.PatternWaitForCondition
}

// queuedOnce reports whether a call with atMostOnce is queued whatever its time limit.
func (r *run) queuedOnce(task *fdl.Task) bool {
	return task.AtMostOnce && r.env.Limits.QueueTimesCalls && r.env.TimeLimits[task.Resource.Text] > 0
}

// timeLimit is how long a call of the task's function may take, 0 when nobody
// knows a limit. The time limit of a task that polls says nothing of one call.
func (r *run) timeLimit(task *fdl.Task) time.Duration {
	limit := r.env.TimeLimits[task.Resource.Text]
	if task.Timeout > 0 && (limit == 0 && task.Poll == nil || task.Timeout < limit) {
		return task.Timeout
	}
	return limit
}

func (r *run) openToken(task *fdl.Task, waiting *Waiting) {
	if err := r.env.Keys.Check(); err != nil {
		r.err = &KeysError{err}
		return
	}
	waiting.For = WaitingForToken
	waiting.Token = &TokenWait{Handle: r.env.Keys.Handle(r.state().tokenID(task, waiting.Attempt)), Beat: r.at}
	// The time limit of a task that is only told of its token is the token's, not that of the call.
	if answers(task) || r.env.TimeLimits[task.Resource.Text] > r.env.Limits.direct() {
		waiting.Token.Phase = TokenToQueue
	}
	if task.Timeout > 0 && task.Poll == nil && (!answers(task) || !r.env.Limits.QueueTimesCalls) {
		waiting.Deadline = r.at.Add(task.Timeout)
	}
	waiting.Due = waiting.overdueAt(task)
}

// pollNumbers is where the numbers of polls' tokens begin. Those of attempts are
// ids of events and stay far below.
const pollNumbers = 1 << 31

func (s State) tokenID(task *fdl.Task, attempt Attempt) token.ID {
	id := token.ID{Execution: s.ID(), Number: uint32(attempt.Number), Expires: s.Expires} //nolint:gosec // an event id, from 1 to 5,000 or so
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
	return id
}

// overdueAt is when the token is to be closed if nothing happens before: the
// deadline or the missed heartbeat, zero when it has neither.
func (w *Waiting) overdueAt(task *fdl.Task) time.Time {
	if task.Heartbeat == 0 {
		return w.Deadline
	}
	missed := w.Token.Beat.Add(task.Heartbeat)
	if w.Deadline.IsZero() || missed.Before(w.Deadline) {
		return missed
	}
	return w.Deadline
}

// asked is what a task asks for: with a function the step's input, of a service
// what a job is started with.
func (r *run) asked(task *fdl.Task, input value.Value) value.Value {
	if task.Resource.Kind == "" {
		return input
	}
	return task.Params.Eval(&expr.Scope{Self: input, Lookup: &r.lookup})
}

// callInput is what the function is called with. The token of a job is put in
// here and nowhere else: the flow did not map it, so the log does not hold it. A
// job that nobody waits for has the key of its attempt instead.
func (r *run) callInput(task *fdl.Task, waiting *Waiting, key string) value.Value {
	asked := r.lookup.Complete(r.asked(task, waiting.Input))
	if task.Resource.Kind == "" {
		return asked
	}
	once := value.Member{Key: "idempotencyKey", Value: value.String(key)}
	if task.Pattern == fdl.PatternSync {
		once = value.Member{Key: "token", Value: r.ownToken(waiting.Token.Handle)}
	}
	return value.Object(
		value.Member{Key: "kind", Value: value.String(task.Resource.Kind)}, value.Member{Key: "params", Value: asked}, once,
	)
}

// ownToken is the text of the token that is waited for. Without it a job would
// end with nobody to know of it.
func (r *run) ownToken(handle string) value.Value {
	text, ok := r.env.Keys.SignAgain(handle)
	if !ok && r.err == nil {
		r.err = &KeysError{errors.New("the key that it was signed with is none of these")}
	}
	return value.String(text)
}

// carryOut is the command that the attempt needs.
func (r *run) carryOut(step *fdl.Step, task *fdl.Task, waiting *Waiting) Command {
	s := r.state()
	call := Call{
		Attempt: waiting.Attempt, Flow: s.Flow, Execution: s.Execution, Step: step.Name,
		Resource: task.Resource, StepInput: waiting.Input, Limit: task.Timeout,
	}
	if task.Poll != nil && task.Timeout > 0 {
		call.Limit = waiting.Deadline.Sub(waiting.Since)
	}
	call.Input = r.callInput(task, waiting, call.Key())
	switch token := waiting.Token; {
	case token != nil && token.Phase != TokenToSubmit:
		return QueueTask{Call: call, Handle: token.Handle, Await: answers(task), AtMostOnce: task.AtMostOnce}
	case token != nil:
		return SubmitTask{Call: call, Handle: token.Handle}
	}
	return CallTask{Call: call, Claimed: waiting.For == WaitingForClaim}
}

// claimLapsed: whoever claimed the call is dead, and nobody knows how far it
// got. It is made again under a new claim, unless the flow forbids that.
func (r *run) claimLapsed() {
	w := r.state().Waiting
	step := r.env.Flow.All[w.Attempt.Step]
	if task := taskOf(step); !task.AtMostOnce {
		renewed := r.change()
		renewed.Due, renewed.Entry = r.at.Add(claimLife), r.entry()
		r.next.Commands = append(r.next.Commands, r.carryOut(step, task, renewed))
		return
	}
	r.resolve(Interrupted(step.Name), token.ClosedByTask)
}

// Interrupted is the outcome of an attempt that is given up: nobody knows how
// far its call got, and it must not be made twice.
func Interrupted(step string) token.Outcome {
	return token.Failure(ErrorTaskInterrupted, fmt.Sprintf(
		"step %s: the call was interrupted and must not be repeated; find out whether it was made, then start another execution", step))
}

// overdue closes the token that ran out of time. Who closes it first decides,
// so nothing changes before the token's outcome is known.
func (r *run) overdue() {
	w := r.state().Waiting
	step := r.env.Flow.All[w.Attempt.Step]
	task := taskOf(step)
	closing := token.CloseOp{At: r.at, By: token.ClosedByDeadline}
	if !w.Deadline.IsZero() && !r.at.Before(w.Deadline) {
		closing.Outcome = notInTime(step)
	} else {
		closing.By, closing.UnlessBeatAfter = token.ClosedByHeartbeat, w.Token.Beat
		closing.Outcome = token.Failure(ErrorTaskTimeout, fmt.Sprintf("step %s: no heartbeat within %s", step.Name, task.Heartbeat))
	}
	r.next.Commands = append(r.next.Commands, CloseToken{Attempt: w.Attempt, Handle: w.Token.Handle, Closing: closing})
}

func (r *run) beatSeen(beat time.Time) {
	w := r.change()
	w.Token.Beat = beat
	w.Due = w.overdueAt(taskOf(r.env.Flow.All[w.Attempt.Step]))
}

// submitted notes once that the task was submitted.
func (r *run) submitted(output value.Value) {
	if r.state().Waiting.Token.Phase == TokenSubmitted || r.state().Ending != nil {
		return
	}
	w := r.change()
	w.Token.Phase = TokenSubmitted
	if r.checkData(r.env.Flow.All[w.Attempt.Step], w.Input, output) != nil || output.Size() > MaxAnswer || r.plan.dropReply {
		output = value.Missing() // only the history has it
	}
	r.emit(Event{Type: TaskSubmitted, Step: w.Attempt.Step, Output: output})
}

// MaxAnswer is how large an answer to a submission is kept at most: it may
// come into one item with the outcome.
const MaxAnswer = 64 << 10

// queued records once that the task queue has the call. The history has no event for it.
func (r *run) queued() {
	if r.state().Waiting.Token.Phase == TokenToQueue && r.state().Ending == nil {
		r.change().Token.Phase = TokenQueued
	}
}

// resolve ends the attempt with its outcome.
func (r *run) resolve(outcome token.Outcome, by token.Closer) {
	step, waiting := r.leaveWaiting()
	if !outcome.Failed() {
		outcome = objectOutcome(step, outcome)
	}
	outcome = outcome.Cut()
	if err := r.checkData(step, waiting.Input, outcome.Output); err != nil && waiting.Token == nil {
		// The closer of a token was told that it succeeded, so it did, and the step fails when it is left.
		outcome = token.Failure(err.name(), err.Error())
	}
	if waiting.Polls > 0 {
		var ended bool
		if outcome, by, ended = r.polled(step, waiting, outcome, by); !ended {
			return
		}
	}
	r.conclude(step, waiting, outcome, by)
}

// conclude records how the attempt ended and goes on.
func (r *run) conclude(step *fdl.Step, waiting Waiting, outcome token.Outcome, by token.Closer) {
	outcome = r.record(step, &waiting, outcome, by)
	switch {
	case r.state().Ending != nil:
		r.endAsDecided()
	case outcome.Failed():
		r.attemptFailed(step, waiting, outcome)
	default:
		r.advance(r.exit(step, waiting.Input, outcome.Output, waiting.Attempt.Number))
	}
}

// record records how the attempt ended. A success that is too large for the item becomes a failure, unless a closer was told of
// the success: then the step fails when it is left.
func (r *run) record(step *fdl.Step, w *Waiting, outcome token.Outcome, by token.Closer) token.Outcome {
	if w.Token == nil && !outcome.Failed() {
		if err := r.checkpoint(step); err != nil {
			outcome = token.Failure(err.name(), err.Error())
		}
	}
	r.emit(outcomeEvent(w, outcome, by))
	return outcome
}

// outcomeEvent is how the attempt that waited ended, of a token with who closed
// it.
func outcomeEvent(w *Waiting, outcome token.Outcome, by token.Closer) Event {
	e := Event{Type: TaskSucceeded, Step: w.Attempt.Step, Output: outcome.Output}
	if outcome.Failed() {
		e = Event{Type: failureType(by), Step: w.Attempt.Step, Error: outcome.Error, Cause: outcome.Cause}
	}
	if w.Token != nil {
		e.ClosedBy = by
	}
	e.Polls = w.Polls
	return e
}

func failureType(by token.Closer) EventType {
	switch by {
	case token.ClosedBySubmit:
		return TaskSubmitFailed
	case token.ClosedByDeadline, token.ClosedByHeartbeat:
		return TaskTimedOut
	case token.ClosedByHand, token.ClosedByCallback, token.ClosedByEvent, token.ClosedByReconcile, token.ClosedByTask, token.ClosedByStop:
	}
	return TaskFailed
}

func taskOf(step *fdl.Step) *fdl.Task {
	task, _ := step.Kind.(*fdl.Task)
	return task
}

// objectOutcome makes sure that the output is an object. A text that holds one
// counts: functions written for Function Compute answer with rendered JSON,
// which Lambda wraps into a JSON string.
func objectOutcome(step *fdl.Step, outcome token.Outcome) token.Outcome {
	output := outcome.Output
	if output.Kind() == value.KindString {
		if inner, err := value.ParseJSON([]byte(output.Text())); err == nil && inner.Kind() == value.KindObject {
			output = inner
		}
	}
	switch {
	case output.Kind() != value.KindObject:
		return token.Failure(ErrorInvalidLocal,
			fmt.Sprintf("step %s: the function returned %s; it must return a JSON object", step.Name, shown(output)))
	case output.TooDeep():
		return token.Failure(ErrorDataLimit,
			fmt.Sprintf("step %s: the result has %d levels of arrays and objects and the limit is %d; return inner values as a text",
				step.Name, output.Levels(), value.MaxLevels))
	}
	return token.Success(output)
}
