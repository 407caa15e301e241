package machine

import (
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/token"
)

// Error names of this project, where the vendor's are not known.
const (
	// ErrorInvalidArgument: a value from the data has the wrong type or size.
	ErrorInvalidArgument = "FnF.InvalidArgument"
	// ErrorEventLimit: the history is full.
	ErrorEventLimit = "FnF.EventLimitExceeded"
	// ErrorDataLimit: a step's values are too large.
	ErrorDataLimit = "FnF.DataLimitExceeded"
	// ErrorInvalidLocal is the vendor's name for an answer that is no object.
	ErrorInvalidLocal = "FnF.InvalidLocal"
	// ErrorFailed is the error of a fail step that names none.
	ErrorFailed = "FnF.Failed"
)

// Apply tells the state s one signal. Steps that need nothing from outside run
// on until one does or the execution ends. The error means that s and the
// definition do not belong together, or a signal of an unknown kind: a bug or
// damage, never a failed task, which is data.
func Apply(env Env, s State, sig Signal) (Next, error) {
	if err := check(env, s); err != nil {
		return Next{}, err
	}
	r := &run{env: env, next: Next{State: s}}
	s = r.next.State
	at := sig.instant()
	if at.Before(s.At) {
		at = s.At
	}
	switch sig := sig.(type) {
	case Started:
		if s.Status == StatusStarting {
			r.begin(at)
		}
	case Returned:
		if s.Waiting != nil && s.Waiting.For == WaitingForCall && s.Waiting.Attempt == sig.Attempt {
			r.returned(at, sig.Outcome)
		}
	case TimerDue:
		if s.Waiting != nil && s.Waiting.For == WaitingForInstant && !at.Before(s.Waiting.Due) {
			r.waited(at)
		}
	}
	if r.next.Applied() {
		r.armTimer()
	}
	return r.next, nil
}

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
	switch flow.All[i].Kind.(type) {
	case *fdl.Task:
		return waiting.For == WaitingForCall
	case *fdl.Wait:
		return waiting.For == WaitingForInstant
	case *fdl.Pass, *fdl.Choice, *fdl.Succeed, *fdl.Fail:
	}
	return false
}

func hasBranch(flow *fdl.Flow, scope Scope) bool {
	if scope.Choice < 0 || scope.Choice >= len(flow.All) {
		return false
	}
	choice, ok := flow.All[scope.Choice].Kind.(*fdl.Choice)
	if !ok {
		return false
	}
	if scope.Branch == defaultBranch {
		return choice.Default != nil
	}
	return scope.Branch >= 0 && scope.Branch < len(choice.Branches)
}

// run is one application under way. It owns next.
type run struct {
	env  Env
	next Next
	at   time.Time
}

func (r *run) state() *State { return &r.next.State }

// touch takes the instant of a signal that applies and makes the state the
// run's own.
func (r *run) touch(at time.Time) {
	r.at = at
	s := r.state()
	s.At = at
	s.Scopes = append(make([]Scope, 0, len(s.Scopes)+1), s.Scopes...)
	// The sample's poll makes five events and then six.
	r.next.Events = make([]Event, 0, 6)
}

func (r *run) begin(at time.Time) {
	r.touch(at)
	s := r.state()
	s.Status = StatusRunning
	input := s.Input
	if r.env.Flow.Input != nil {
		input = r.env.Flow.Input.Eval(&expr.Scope{Input: s.Input, Context: r.context(r.env.Flow.Input, nil, 0)})
	}
	s.Scopes = append(s.Scopes, Scope{Choice: NoStep, Input: input, Local: expr.Object()})
	r.advance(r.env.Flow.Steps[0])
}

// leaveWaiting ends the waiting and gives the step with what it waited with.
func (r *run) leaveWaiting(at time.Time) (*fdl.Step, Waiting) {
	r.touch(at)
	waiting := *r.state().Waiting
	r.state().Waiting = nil
	return r.env.Flow.All[waiting.Attempt.Step], waiting
}

func (r *run) waited(at time.Time) {
	step, waiting := r.leaveWaiting(at)
	r.emit(Event{Type: StepSucceeded, Step: step.Index})
	r.advance(r.exit(step, waiting.Input, expr.Object()))
}

func (r *run) returned(at time.Time, outcome token.Outcome) {
	step, waiting := r.leaveWaiting(at)
	if !outcome.Failed() {
		outcome = objectOutcome(step, outcome)
	}
	if cause, tooLarge := r.tooLarge(step, waiting.Input, outcome.Output); tooLarge {
		outcome = token.Failure(ErrorDataLimit, cause)
	}
	if outcome.Failed() {
		r.emit(Event{Type: TaskFailed, Step: step.Index, Error: outcome.Error, Cause: outcome.Cause})
		r.fail(step, outcome.Error, outcome.Cause)
		return
	}
	r.emit(Event{Type: TaskSucceeded, Step: step.Index, Output: outcome.Output})
	r.advance(r.exit(step, waiting.Input, outcome.Output))
}

// objectOutcome makes sure that the output is an object. A text that holds one
// counts: functions written for Function Compute answer with rendered JSON,
// which Lambda wraps into a JSON string.
func objectOutcome(step *fdl.Step, outcome token.Outcome) token.Outcome {
	output := outcome.Output
	if output.Kind() == expr.KindString {
		if inner, err := expr.ParseJSON([]byte(output.Text())); err == nil && inner.Kind() == expr.KindObject {
			return token.Success(inner)
		}
	}
	if output.Kind() != expr.KindObject {
		return token.Failure(ErrorInvalidLocal,
			fmt.Sprintf("step %s: the answer is %s; a function answers with a JSON object", step.Name, shown(output)))
	}
	return outcome
}

// advance runs steps from step on, until one waits or the execution ends. A
// nil step means that the innermost series is over.
func (r *run) advance(step *fdl.Step) {
	for !r.state().Status.Final() && r.state().Waiting == nil {
		switch {
		case step == nil:
			step = r.endSeries()
		case r.historyFull():
			r.failExecution(ErrorEventLimit, fmt.Sprintf(
				"the execution has %d history events and another step may exceed the limit, %d: a loop that polls belongs into one step with "+
					"\"pattern: waitForCondition\", other long work into several executions", r.state().Events, r.env.Limits.events()))
		default:
			step = r.enter(step)
		}
	}
}

// eventsReserve is what one step may add at once (task: entered, scheduled,
// started, failed twice) before the limit is looked at again.
const eventsReserve = 5

// historyFull keeps room for the events of the end: one for each open series.
func (r *run) historyFull() bool {
	s := r.state()
	return s.Events+eventsReserve+len(s.Scopes) > r.env.Limits.events()
}

func (r *run) emit(e Event) int {
	s := r.state()
	e.By = s.Events
	s.Events++
	e.ID, e.At = s.Events, r.at
	r.next.Events = append(r.next.Events, e)
	return e.ID
}

func (r *run) scope() *Scope {
	scopes := r.state().Scopes
	return &scopes[len(scopes)-1]
}

// enter runs step as far as it goes and answers the step after it. It answers
// nil with the state waiting or final, or at the end of the series.
func (r *run) enter(step *fdl.Step) *fdl.Step {
	input := r.inputOf(step)
	if cause, tooLarge := r.tooLarge(step, input); tooLarge {
		r.emit(Event{Type: StepEntered, Step: step.Index})
		r.fail(step, ErrorDataLimit, cause)
		return nil
	}
	r.emit(Event{Type: StepEntered, Step: step.Index, Input: input})
	switch kind := step.Kind.(type) {
	case *fdl.Task:
		r.schedule(step, kind, input)
	case *fdl.Pass:
		return r.exit(step, input, expr.Object())
	case *fdl.Wait:
		return r.wait(step, kind, input)
	case *fdl.Choice:
		return r.choose(step, kind, input)
	case *fdl.Succeed:
		r.exit(step, input, expr.Object())
	case *fdl.Fail:
		r.failStep(step, kind)
	}
	return nil
}

// tooLarge reports whether values of a step, or of the flow when it is nil,
// exceed the limit together, and what to do about it. Nothing larger goes into the next step or outside, so
// that a loop whose mappings double a value ends early.
func (r *run) tooLarge(step *fdl.Step, values ...expr.Value) (cause string, tooLarge bool) {
	size, limit := 0, r.env.Limits.data()
	for _, v := range values {
		size += v.Size()
	}
	if size <= limit {
		return "", false
	}
	what := "the flow's output"
	if step != nil {
		what = "step " + step.Name
	}
	return fmt.Sprintf("%s: the data has %d bytes and the limit is %d for input, local and output together; "+
		"map only what later steps need, and keep large data elsewhere under a key that the flow passes on", what, size, limit), true
}

func (r *run) inputOf(step *fdl.Step) expr.Value {
	scope := r.scope()
	if step.Input == nil {
		return expr.Merge(scope.Input, scope.Local)
	}
	return step.Input.Eval(&expr.Scope{
		Input: scope.Input, Local: scope.Local, Context: r.context(step.Input, step, r.state().Events+1),
	})
}

// exit gives the step's output to its series and answers the step after it,
// nil when the series is over.
func (r *run) exit(step *fdl.Step, input, local expr.Value) *fdl.Step {
	output := local
	if step.Output != nil {
		output = step.Output.Eval(&expr.Scope{Input: input, Local: local, Context: r.context(step.Output, step, r.state().Events+1)})
	}
	if cause, tooLarge := r.tooLarge(step, input, local, output); tooLarge {
		r.fail(step, ErrorDataLimit, cause)
		return nil
	}
	r.emit(Event{Type: StepExited, Step: step.Index, Input: input, Local: local, Output: output})
	scope := r.scope()
	scope.Local = expr.Merge(scope.Local, output)
	if step.End {
		return nil
	}
	return step.Next
}

func (r *run) schedule(step *fdl.Step, task *fdl.Task, input expr.Value) {
	number := r.emit(Event{Type: TaskScheduled, Step: step.Index, Input: input})
	r.emit(Event{Type: TaskStarted, Step: step.Index})
	waiting := &Waiting{Attempt: Attempt{step.Index, number}, For: WaitingForCall, Input: input, By: r.env.Cause, Since: r.at}
	r.state().Waiting = waiting
	r.next.Commands = append(r.next.Commands, r.call(step, task, waiting))
}

func (r *run) call(step *fdl.Step, task *fdl.Task, waiting *Waiting) CallTask {
	s := r.state()
	return CallTask{
		Attempt: waiting.Attempt, Flow: s.Flow, Execution: s.Execution, Step: step.Name, Resource: task.Resource, Input: waiting.Input,
	}
}

func (r *run) wait(step *fdl.Step, wait *fdl.Wait, input expr.Value) *fdl.Step {
	until, err := waitUntil(wait, input, r.at)
	if err != nil {
		r.fail(step, ErrorInvalidArgument, fmt.Sprintf("step %s: %s", step.Name, err))
		return nil
	}
	number := r.emit(Event{Type: StepStarted, Step: step.Index, Until: until})
	if until.After(r.at) {
		r.state().Waiting = &Waiting{
			Attempt: Attempt{step.Index, number}, For: WaitingForInstant, Input: input, Due: until, By: r.env.Cause, Since: r.at,
		}
		return nil
	}
	r.emit(Event{Type: StepSucceeded, Step: step.Index})
	return r.exit(step, input, expr.Object())
}

// Unresolved reports whether something that the wake with this cause entered
// has not ended yet, and when it was entered. Such a wake may be the only one
// left that makes the execution go on.
func Unresolved(s State, cause string) (since time.Time, ok bool) {
	if s.Waiting == nil || s.Waiting.For != WaitingForCall || s.Waiting.By != cause {
		return time.Time{}, false
	}
	return s.Waiting.Since, true
}

// Pending are the calls that the state waits for, as the commands that asked
// for them, keys included.
func Pending(env Env, s State) ([]Command, error) {
	if err := check(env, s); err != nil || s.Waiting == nil || s.Waiting.For != WaitingForCall {
		return nil, err
	}
	step := env.Flow.All[s.Waiting.Attempt.Step]
	task, _ := step.Kind.(*fdl.Task)
	r := &run{env: env, next: Next{State: s}}
	return []Command{r.call(step, task, s.Waiting)}, nil
}

// choose picks the branch whose condition holds first. Its steps run in a
// series of their own before its goto is followed.
func (r *run) choose(step *fdl.Step, choice *fdl.Choice, input expr.Value) *fdl.Step {
	index, branch := pick(choice, input)
	if branch == nil || len(branch.Steps) == 0 {
		return r.exitChoice(step, branch, input, expr.Object())
	}
	r.state().Scopes = append(r.state().Scopes, Scope{Choice: step.Index, Branch: index, Input: input, Local: expr.Object()})
	return branch.Steps[0]
}

func pick(choice *fdl.Choice, input expr.Value) (int, *fdl.Branch) {
	for i := range choice.Branches {
		if choice.Branches[i].Condition.Holds(input) {
			return i, &choice.Branches[i]
		}
	}
	return defaultBranch, choice.Default
}

// exitChoice follows the branch's goto, which goes before the step's end.
func (r *run) exitChoice(step *fdl.Step, branch *fdl.Branch, input, local expr.Value) *fdl.Step {
	next := r.exit(step, input, local)
	if branch != nil && branch.Goto != nil {
		return branch.Goto
	}
	return next
}

// endSeries leaves the innermost series: a choice's branch goes on after the
// choice, the flow's own ends the execution.
func (r *run) endSeries() *fdl.Step {
	s := r.state()
	ended := *r.scope()
	if ended.Choice == NoStep {
		r.succeed(ended)
		return nil
	}
	s.Scopes = s.Scopes[:len(s.Scopes)-1]
	step := r.env.Flow.All[ended.Choice]
	return r.exitChoice(step, branchOf(step, ended.Branch), ended.Input, ended.Local)
}

func branchOf(step *fdl.Step, index int) *fdl.Branch {
	choice, _ := step.Kind.(*fdl.Choice)
	if index == defaultBranch {
		return choice.Default
	}
	return &choice.Branches[index]
}

func (r *run) succeed(flow Scope) {
	output := flow.Local
	if mappings := r.env.Flow.Output; mappings != nil {
		output = mappings.Eval(&expr.Scope{Input: flow.Input, Local: flow.Local, Context: r.context(mappings, nil, 0)})
	}
	if cause, tooLarge := r.tooLarge(nil, output); tooLarge {
		r.failExecution(ErrorDataLimit, cause)
		return
	}
	s := r.state()
	r.emit(Event{Type: ExecutionSucceeded, Step: NoStep, Output: output})
	s.Status, s.Output = StatusSucceeded, output
	r.ended()
}

func (r *run) failStep(step *fdl.Step, kind *fdl.Fail) {
	name := kind.Error
	if name == "" {
		name = ErrorFailed
	}
	r.fail(step, name, kind.Cause)
}

// fail fails step, then what is around it, and so the execution.
func (r *run) fail(step *fdl.Step, name, cause string) {
	r.emit(Event{Type: StepFailed, Step: step.Index, Error: name, Cause: cause})
	r.failExecution(name, cause)
}

func (r *run) failExecution(name, cause string) {
	s := r.state()
	for i := len(s.Scopes) - 1; i > 0; i-- {
		r.emit(Event{Type: StepFailed, Step: s.Scopes[i].Choice, Error: name, Cause: cause})
	}
	r.emit(Event{Type: ExecutionFailed, Step: NoStep, Error: name, Cause: cause})
	s.Status, s.Error, s.Cause = StatusFailed, name, cause
	r.ended()
}

func (r *run) ended() {
	s := r.state()
	s.Scopes, s.Waiting, s.By = nil, nil, r.env.Cause
}

// armTimer starts a timer for what the state waits for, unless the live one
// does: it does not when it is the very wake being applied.
func (r *run) armTimer() {
	s := r.state()
	var due time.Time
	if s.Waiting != nil {
		due = s.Waiting.Due
	}
	switch {
	case due.IsZero():
		s.Timer = Timer{}
	case due.Equal(s.Timer.Due) && s.Timer.Tag != r.env.Cause:
	default:
		s.Timer = Timer{r.env.Tag, due}
		r.next.Commands = append(r.next.Commands, StartTimer{s.Timer})
	}
}

// context is $context for mappings that use it, else missing. The event is the
// one that enters or leaves the step.
func (r *run) context(mappings expr.Mappings, step *fdl.Step, event int) expr.Value {
	if !mappings.Uses(expr.RootContext) {
		return expr.Missing()
	}
	s := r.state()
	members := []expr.Member{
		{Key: "flow", Value: expr.Object(expr.Member{Key: "name", Value: expr.String(s.Flow.Name)})},
		{Key: "execution", Value: expr.Object(
			expr.Member{Key: "name", Value: expr.String(s.Execution)},
			expr.Member{Key: "startedTime", Value: expr.String(s.Started.UTC().Format(TimeFormat))},
		)},
	}
	if step != nil {
		members = append(members, expr.Member{Key: "step", Value: expr.Object(
			expr.Member{Key: "name", Value: expr.String(step.Name)},
			expr.Member{Key: "eventId", Value: expr.Int(int64(event))},
		)})
	}
	return expr.Object(members...)
}
