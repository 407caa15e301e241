package machine

import (
	"errors"
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// claimLife is longer than the life of any worker: a claimed call that has not returned by then
// never will. On AWS that holds because the interpreter's time limit is at most 30 seconds
// (InterpreterTimeLimit in template.yaml).
const claimLife = 45 * time.Second

type taskKind struct {
	plain
	*flow.Task
}

func (k taskKind) enter(r *run, step *flow.Step, input value.Value) *flow.Step {
	return k.in(r, step).beginAttempt(input, nil)
}

func (k taskKind) begin(r *run, step *flow.Step, input value.Value, retried []int) *flow.Step {
	return k.in(r, step).beginAttempt(input, retried)
}

func (k taskKind) signal(r *run, step *flow.Step, sig Signal) *flow.Step {
	return k.in(r, step).onSignal(sig)
}

func (k taskKind) resume(r *run, step *flow.Step, ended Series) *flow.Step {
	return r.endCatch(step, ended)
}

func (k taskKind) pending(r *run, step *flow.Step, executed Executed) Command {
	return k.in(r, step).pendingCall(executed)
}

// in returns the task in an application. The attempt keeps its time limit, because the values of
// the series around it do not change.
func (k taskKind) in(r *run, step *flow.Step) taskRun {
	task := k.Task
	if task.Limit != nil || task.Beat != nil {
		limited := *task
		if frame := r.frame(step, value.Missing(), value.Missing(), 0, 0); task.Limit != nil {
			limited.Timeout = task.Limit(frame)
		}
		if task.Beat != nil {
			limited.Heartbeat = task.Beat(r.frame(step, value.Missing(), value.Missing(), 0, 0))
		}
		task = &limited
	}
	return taskRun{r, step, task}
}

func (k taskKind) owns(o Owner) bool { return ownsCatch(&k.Handlers, o) }

func (k taskKind) ownerOf(series *flow.Series) Owner { return catchOf(&k.Handlers, series) }

func (k taskKind) canWait(w *Waiting) bool {
	if !mayRetry(&k.Handlers, w) || (w.Polls > 0) != (k.Poll != nil) {
		return false
	}
	switch w.For {
	case WaitingForCall, WaitingForRetry:
		return true
	case WaitingForPoll:
		return k.Poll != nil
	case WaitingForClaim:
		return k.Poll == nil
	}
	return w.Token() != nil
}

// taskRun is a task in an application.
type taskRun struct {
	*run
	step *flow.Step
	task *flow.Task
}

func (r taskRun) onSignal(sig Signal) *flow.Step {
	switch sig := sig.(type) {
	case Returned:
		return r.resolve(sig.Outcome, token.ClosedByTask)
	case Submitted:
		r.submitted(sig.Output)
	case Queued: // the history has no event for it
		if r.state().Waiting.isIn(TokenToQueue) && r.state().Ending == nil {
			r.ownWaiting().Token().Phase = TokenQueued
		}
	case TokenClosed:
		if sig.Reply != nil {
			r.submitted(*sig.Reply)
		}
		return r.resolve(sig.Outcome, sig.By)
	case BeatSeen:
		w := r.ownWaiting()
		w.Token().Beat = sig.Beat
		w.Due = w.overdueAt(r.task)
	case TimerDue:
		return r.due()
	case Started, LanesJoined, LaneFailed, ItemsClaimed, FailuresReported, StopRequested:
	}
	return nil
}

// due applies the deadlines that have passed.
func (r taskRun) due() *flow.Step {
	switch r.state().Waiting.For {
	case WaitingForCall: // was postponed
		return r.callAgain(time.Time{})
	case WaitingForClaim:
		// The worker is dead and may have made the call, so a call that must not be repeated fails.
		if !r.task.AtMostOnce {
			return r.callAgain(r.at.Add(claimLife))
		}
		return r.resolve(Interrupted(r.step.Name), token.ClosedByTask)
	case WaitingForRetry:
		_, w := r.leaveWaiting()
		return r.tryAgain(r.step, w)
	case WaitingForPoll:
		return r.pollDue()
	}
	r.overdue()
	return nil
}

// callAgain makes the call for which the state waits, which is then due.
func (r taskRun) callAgain(due time.Time) *flow.Step {
	w := r.ownWaiting()
	w.Began = r.state().Trace.since(w.Start())
	w.Due, w.Entry = due, r.entry()
	r.do(r.command(w))
	return nil
}

// beginAttempt begins an attempt. Retried are the retries before it.
func (r taskRun) beginAttempt(input value.Value, retried []int) *flow.Step {
	params := r.params(input)
	if err := r.limitsReached(r.step, params); err != nil {
		return r.fail(r.step, *err)
	}
	const name = flow.ParamExecutionName
	if r.task.Resource.Subflow && r.task.Params.Has(name) && params.Get(name).IsMissing() {
		r.addUnmapped(UnmappedSource{Step: r.step.Name, Mappings: serviceParams, Target: name, Source: r.task.Params.Source().Get(name).Text()})
	}
	number := r.emit(Event{Type: TaskScheduled, Step: r.step.Index, Input: params})
	r.emit(Event{Type: TaskStarted, Step: r.step.Index})
	waiting := &Waiting{Attempt: Attempt{Step: r.step.Index, Number: number}, Input: input, Entry: r.entry(), Retried: retried}
	if r.task.Poll != nil && r.task.Timeout > 0 {
		waiting.Deadline = r.at.Add(r.task.Timeout)
	}
	r.request(waiting)
	return nil
}

// request makes the call of an attempt, or its next poll: directly, under a claim, or with a token
// if its outcome may take longer or comes from outside.
func (r taskRun) request(waiting *Waiting) {
	task := r.task
	r.wait(waiting)
	waiting.For = WaitingForCall
	if task.Poll != nil {
		waiting.Polls++
		waiting.Attempt.Poll = r.nextPoll()
	}
	// A call that must not be repeated is queued whatever its time limit, if the queue times it.
	queuedOnce := task.AtMostOnce && r.env.Limits.QueueTimesCalls && r.env.TimeLimits[task.Resource.Text] > 0
	switch {
	case !isAwaited(task), task.Pattern == flow.PatternSync, r.timeLimit() > r.env.Limits.direct(), queuedOnce:
		r.openToken(waiting)
		if task.Resource.Subflow && task.Pattern == flow.PatternSync && waiting.Token() != nil {
			child, _, _ := r.childOf(waiting, r.state().callOf(r.step, waiting.Attempt)) // its end closes the token
			waiting.Token().Child = &child
		}
	case task.AtMostOnce:
		waiting.For, waiting.Due = WaitingForClaim, r.at.Add(claimLife)
	}
	r.do(r.command(waiting))
}

// isAwaited reports whether the result of the call is the outcome of the attempt or of a poll. With
// "pattern: sync" the task queue calls a function, however short the call is.
func isAwaited(task *flow.Task) bool {
	switch task.Pattern {
	case flow.PatternRequestResponse, flow.PatternWaitForCondition:
		return true
	case flow.PatternSync:
		return task.Resource.IsFunction()
	case flow.PatternWaitForCallback:
	}
	return false
}

// timeLimit is how long a call of the task's function may take, 0 if there is no known limit. The
// time limit of a task that polls does not limit one call. The start of a sub-flow is short.
func (r taskRun) timeLimit() time.Duration {
	if r.task.Resource.Subflow {
		return 0
	}
	limit, timeout := r.env.TimeLimits[r.task.Resource.Text], r.task.Timeout
	if timeout > 0 && (limit == 0 && r.task.Poll == nil || timeout < limit) {
		return timeout
	}
	return limit
}

// params are the input of a function, or the parameters of a job or of a sub-flow's start.
func (r taskRun) params(input value.Value) value.Value {
	if r.task.Resource.IsFunction() || r.task.Params.IsMissing() {
		return input
	}
	return r.task.Params.Eval(&expr.Scope{Self: input, Lookup: &r.lookup})
}

// callInput returns the input for the function. The call that starts a job gets the token of the
// attempt, which is in neither the flow nor the log, or the key of the attempt if the step does not
// wait for the job. The call of an operation gets the key.
func (r taskRun) callInput(waiting *Waiting, call Call) value.Value {
	task, params := r.task, r.lookup.Complete(r.params(waiting.Input))
	if task.Resource.Operation == "" && task.Resource.Kind == "" {
		return params
	}
	once := value.Member{Key: "idempotencyKey", Value: value.String(call.Key())}
	switch {
	case task.Resource.Operation != "":
		return value.Object(
			value.Member{Key: "operation", Value: value.String(task.Resource.Operation)}, value.Member{Key: "params", Value: params}, once,
		)
	case task.Pattern == flow.PatternSync:
		text, ok := r.env.Keys.SignAgain(waiting.Handle())
		if !ok && r.err == nil { // the end of the job could not be reported
			r.err = &KeysError{errors.New("no key signs with the id of the handle")}
		}
		once = value.Member{Key: "token", Value: value.String(text)}
	}
	request := []value.Member{{Key: "kind", Value: value.String(task.Resource.Kind)}, {Key: "params", Value: params}, once}
	if !task.Account.IsMissing() {
		account := r.lookup.Complete(task.Account.Eval(&expr.Scope{Self: waiting.Input, Lookup: &r.lookup}))
		if account.IsMissing() || account.Kind() == value.KindNull {
			account = value.String("") // StartJob rejects it: without an account, the job would run in that of the stack
		}
		request = append(request, value.Member{Key: "account", Value: account})
	}
	if task.StopJob {
		request = append(request, value.Member{Key: "stopJob", Value: value.Bool(true)})
	}
	return value.Object(request...)
}

// command returns the command that an attempt needs.
func (r taskRun) command(waiting *Waiting) Command {
	task, s := r.task, r.state()
	call := s.callOf(r.step, waiting.Attempt)
	s.Trace.describe(&call)
	call.Place, call.Iteration = s.WaitingPlace(), IterationPath(Iterations(r.step, s.ForkIndexes()))
	call.Resource, call.Values, call.StepInput, call.Limit = task.Resource, r.env.Flow.Values, waiting.Input, task.Timeout
	if task.Poll != nil && task.Timeout > 0 {
		call.Limit = waiting.Deadline.Sub(waiting.Since)
	}
	if task.Resource.Subflow {
		call.Input, call.Start = r.childStart(waiting, call)
	} else {
		call.Input = r.callInput(waiting, call)
	}
	if task.Called != nil {
		call.Resource, call.Input = task.Called(call.Input)
	}
	switch token := waiting.Token(); {
	case token != nil && token.Phase != TokenToSubmit && call.Start == nil:
		return QueueTask{Call: call, Handle: token.Handle, Await: isAwaited(task), AtMostOnce: task.AtMostOnce}
	case token != nil:
		return SubmitTask{Call: call, Handle: token.Handle, AtMostOnce: task.AtMostOnce}
	}
	return CallTask{Call: call, Claimed: waiting.For == WaitingForClaim, Independent: r.independent}
}

// Interrupted returns the outcome of an attempt if its call may have been made and must not be
// repeated.
func Interrupted(step string) token.Outcome {
	return token.Failure(ErrorTaskInterrupted, fmt.Sprintf(
		"step %s: the call was interrupted and must not be repeated; find out whether it was made, then start another execution", step))
}

func taskOf(step *flow.Step) *flow.Task {
	task, _ := step.Kind.(*flow.Task)
	return task
}
