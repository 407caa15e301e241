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

// claimLife is longer than the life of any worker: a claimed call that has not returned by then never
// will. On AWS that holds because the interpreter's time limit is at most 30 seconds
// (InterpreterTimeLimit in template.yaml).
const claimLife = 45 * time.Second

// beginAttempt begins an attempt of a task. Retried are the retries before it.
func (r *run) beginAttempt(step *flow.Step, task *flow.Task, input value.Value, retried []int) {
	params := r.params(task, input)
	if err := r.limitsReached(step, params); err != nil {
		r.fail(step, *err)
		return
	}
	r.noteUnnamed(step, task, params)
	number := r.emit(Event{Type: TaskScheduled, Step: step.Index, Input: params})
	r.emit(Event{Type: TaskStarted, Step: step.Index})
	waiting := &Waiting{Attempt: Attempt{Step: step.Index, Number: number}, Input: input, Entry: r.entry(), Retried: retried}
	if task.Poll != nil && task.Timeout > 0 {
		waiting.Deadline = r.at.Add(task.Timeout)
	}
	r.requestCall(step, waiting)
}

// requestCall makes the call of an attempt, or its next poll: directly, under a claim, or with a token if
// its outcome may take longer or comes from outside.
func (r *run) requestCall(step *flow.Step, waiting *Waiting) {
	task, s := taskOf(step), r.state()
	s.Waiting = waiting
	waiting.For = WaitingForCall
	if task.Poll != nil {
		s.Polls++
		waiting.Polls++
		waiting.Attempt.Poll = s.Polls
	}
	switch {
	case !isAwaited(task), task.Pattern == flow.PatternSync, r.timeLimit(task) > r.env.Limits.direct(), r.isQueuedOnce(task):
		r.openToken(task, waiting)
		r.awaitChild(step, task, waiting)
	case task.AtMostOnce:
		waiting.For, waiting.Due = WaitingForClaim, r.at.Add(claimLife)
	}
	r.next.Commands = append(r.next.Commands, r.commandFor(step, task, waiting))
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

// isQueuedOnce reports whether a call that must not be repeated is queued whatever its time limit.
func (r *run) isQueuedOnce(task *flow.Task) bool {
	return task.AtMostOnce && r.env.Limits.QueueTimesCalls && r.env.TimeLimits[task.Resource.Text] > 0
}

// timeLimit is how long a call of the task's function may take, 0 if there is no known limit. The
// time limit of a task that polls does not limit one call. The start of a sub-flow is short.
func (r *run) timeLimit(task *flow.Task) time.Duration {
	if task.Resource.Subflow {
		return 0
	}
	limit := r.env.TimeLimits[task.Resource.Text]
	if task.Timeout > 0 && (limit == 0 && task.Poll == nil || task.Timeout < limit) {
		return task.Timeout
	}
	return limit
}

// params are the input of a function, or the parameters of a job or of a sub-flow's start.
func (r *run) params(task *flow.Task, input value.Value) value.Value {
	if task.Resource.IsFunction() {
		return input
	}
	return task.Params.Eval(&expr.Scope{Self: input, Lookup: &r.lookup})
}

// callInput is what the function is called with. The call that starts a job gets the token of the
// attempt, which is in neither the flow nor the log, or the key of the attempt if the step does not
// wait for the job. The call of an operation gets the key.
func (r *run) callInput(task *flow.Task, waiting *Waiting, call Call) value.Value {
	params := r.lookup.Complete(r.params(task, waiting.Input))
	switch {
	case task.Resource.Operation != "":
		return value.Object(
			value.Member{Key: "operation", Value: value.String(task.Resource.Operation)}, value.Member{Key: "params", Value: params},
			value.Member{Key: "idempotencyKey", Value: value.String(call.Key())},
		)
	case task.Resource.Kind == "":
		return params
	}
	var once value.Member
	if task.Pattern == flow.PatternSync {
		once = value.Member{Key: "token", Value: r.jobToken(waiting.Token.Handle)}
	} else {
		once = value.Member{Key: "idempotencyKey", Value: value.String(call.Key())}
	}
	request := []value.Member{{Key: "kind", Value: value.String(task.Resource.Kind)}, {Key: "params", Value: params}, once}
	if !task.Account.IsMissing() {
		request = append(request, value.Member{Key: "account", Value: r.account(task, waiting.Input)})
	}
	if task.StopJob {
		request = append(request, value.Member{Key: "stopJob", Value: value.Bool(true)})
	}
	return value.Object(request...)
}

// account is where a job runs. A path without a value is an empty text, which StartJob rejects: without it, the job would run in
// the account of the stack.
func (r *run) account(task *flow.Task, input value.Value) value.Value {
	account := r.lookup.Complete(task.Account.Eval(&expr.Scope{Self: input, Lookup: &r.lookup}))
	if account.IsMissing() || account.Kind() == value.KindNull {
		return value.String("")
	}
	return account
}

// jobToken is the text of a job's token. Without it, the end of the job could not be reported, so
// its lack is an error.
func (r *run) jobToken(handle string) value.Value {
	text, ok := r.env.Keys.SignAgain(handle)
	if !ok && r.err == nil {
		r.err = &KeysError{errors.New("no key signs with the id of the handle")}
	}
	return value.String(text)
}

// callOf returns the call of an attempt as far as its key depends on it.
func (r *run) callOf(step *flow.Step, attempt Attempt) Call {
	s := r.state()
	return Call{Attempt: attempt, Log: s.ID(), Place: PlaceIn(s.Series, attempt.Number), Flow: s.Flow, Execution: s.Execution, Step: step.Name}
}

// commandFor returns the command that an attempt needs.
func (r *run) commandFor(step *flow.Step, task *flow.Task, waiting *Waiting) Command {
	call := r.callOf(step, waiting.Attempt)
	r.state().Trace.describe(&call)
	call.Place, call.Iteration = r.state().WaitingPlace(), IterationPath(Iterations(step, r.state().Items()))
	call.Resource, call.StepInput, call.Limit = task.Resource, waiting.Input, task.Timeout
	if task.Poll != nil && task.Timeout > 0 {
		call.Limit = waiting.Deadline.Sub(waiting.Since)
	}
	if task.Resource.Subflow {
		call.Input, call.Start = r.childStart(task, waiting, call)
	} else {
		call.Input = r.callInput(task, waiting, call)
	}
	switch token := waiting.Token; {
	case token != nil && token.Phase != TokenToSubmit && call.Start == nil:
		return QueueTask{Call: call, Handle: token.Handle, Await: isAwaited(task), AtMostOnce: task.AtMostOnce}
	case token != nil:
		return SubmitTask{Call: call, Handle: token.Handle}
	}
	return CallTask{Call: call, Claimed: waiting.For == WaitingForClaim, Independent: r.independent}
}

// claimLapsed makes a claimed call again, whose worker is dead, under a new claim. The call may
// have been made, so a call that must not be repeated fails instead.
func (r *run) claimLapsed() {
	s := r.state()
	step := r.env.Flow.All[s.Waiting.Attempt.Step]
	if task := taskOf(step); !task.AtMostOnce {
		renewed := r.ownWaiting()
		renewed.Began = s.Trace.since(renewed.Start())
		renewed.Due, renewed.Entry = r.at.Add(claimLife), r.entry()
		r.next.Commands = append(r.next.Commands, r.commandFor(step, task, renewed))
		return
	}
	r.resolve(Interrupted(step.Name), token.ClosedByTask)
}

// Interrupted is the outcome of an attempt whose call may have been made and must not be repeated.
func Interrupted(step string) token.Outcome {
	return token.Failure(ErrorTaskInterrupted, fmt.Sprintf(
		"step %s: the call was interrupted and must not be repeated; find out whether it was made, then start another execution", step))
}

func taskOf(step *flow.Step) *flow.Task {
	task, _ := step.Kind.(*flow.Task)
	return task
}
