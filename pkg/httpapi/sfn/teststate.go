package sfn

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/asl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// stateRequest has the parameters of TestState.
type stateRequest struct {
	StateName, Variables, Context, InspectionLevel string
	RevealSecrets                                  bool
	Mock                                           *mockOfState
	StateConfiguration                             struct {
		RetrierRetryCount, MapIterationFailureCount int
		ErrorCausedByState, MapItemReaderData       string
	}
}

// mockOfState stands for the call of a task, or for the branches or iterations of a state.
type mockOfState struct {
	Result              *string
	ErrorOutput         *struct{ Error, Cause string }
	FieldValidationMode string
}

// stateTest is a state that runs alone.
type stateTest struct {
	handler
	request

	single   *asl.SingleState
	step     *flow.Step
	stepType string // of FDL; a mock makes the step a task
	outcome  token.Outcome
	input    value.Value
	events   []machine.Event
	end      machine.State
}

// testState runs a state by the machine, with a mock or a real call, until it ends or is retried.
func (h handler) testState(ctx context.Context, r request) (object, error) {
	t := &stateTest{handler: h, request: r}
	for _, each := range []func() error{t.parse, t.checkMock, t.readValues, func() error { return t.run(ctx) }} {
		if err := each(); err != nil {
			return nil, err
		}
	}
	return t.response(), nil
}

func (t *stateTest) parse() error {
	if t.Definition == "" {
		return missing("definition")
	}
	single, problems := asl.ParseState([]byte(t.Definition), t.StateName)
	if single != nil && t.Check != nil {
		problems = t.Check(single.Flow)
	}
	if t.Mock == nil && single != nil {
		problems = append(single.Unserved, problems...)
	}
	if wrong := problems.Errors(); len(wrong) > 0 {
		var lines []string
		for _, p := range wrong {
			lines = append(lines, p.Format("definition"))
		}
		return invalid("InvalidDefinition", "Invalid State Machine Definition: "+strings.Join(lines, "\n"))
	}
	t.single, t.step = single, single.Flow.All[0]
	t.stepType = t.step.Kind.Type()
	return nil
}

// checkMock checks that the state has a mock if it needs one, and puts the mock in.
func (t *stateTest) checkMock() error {
	isFork, m, of := t.step.IsFork(), t.Mock, t.StateConfiguration
	refused := ""
	switch {
	case !slices.Contains([]string{"", "INFO", "DEBUG", "TRACE"}, t.InspectionLevel):
		refused = "this inspectionLevel is not one of INFO, DEBUG and TRACE"
	case of.RetrierRetryCount < 0 || of.MapIterationFailureCount < 0:
		refused = "a count in stateConfiguration is below 0"
	case of.ErrorCausedByState != "" && !slices.Contains(t.single.Inside, of.ErrorCausedByState):
		refused = "errorCausedByState is no state of a branch or an iteration of the state"
	case m == nil && isFork:
		return invalid("InvalidDefinition",
			"TestState API does not support Map or Parallel states. Supported state types include: [Task, Wait, Pass, Succeed, Fail, Choice]; specify a mock")
	case m == nil:
		if refused = t.needsMock(); refused == "" {
			return nil
		}
	case t.step.Handlers() == nil:
		refused = "a state of type " + t.stepType + " calls nothing, so it has no mock; leave it out"
	case t.RevealSecrets:
		refused = "TestState does not support RevealSecrets when a mock is specified."
	case (m.Result == nil) == (m.ErrorOutput == nil):
		refused = "A test mock should have only one of the following fields: [result, errorOutput]."
	case m.ErrorOutput != nil && m.ErrorOutput.Error == "":
		refused = "errorOutput has no error; name one"
	case !slices.Contains([]string{"", "STRICT", "PRESENT", "NONE"}, m.FieldValidationMode):
		refused = "this fieldValidationMode is not one of STRICT, PRESENT and NONE"
	}
	if refused != "" {
		return invalid(codeInvalid, refused)
	}
	t.single.Mock()
	return nil
}

// needsMock returns why a test that is no fork needs a mock, "" if it needs none.
func (t *stateTest) needsMock() string {
	switch task, isTask := t.step.Kind.(*flow.Task); {
	case t.Context != "":
		return "context is given without a mock; specify one"
	case isTask && (task.Pattern != flow.PatternRequestResponse || task.Resource.Subflow):
		return "TestState does not wait for tokens, workers, jobs and executions; specify a mock"
	case isTask && t.Call == nil:
		return "TestState makes no calls here; specify a mock"
	}
	return ""
}

// readValues reads the values of the request.
func (t *stateTest) readValues() (err error) {
	if t.input, err = value.ParseJSON([]byte(cmp.Or(t.Input, "{}"))); err != nil {
		return invalid("InvalidExecutionInput", "the input cannot be read: "+err.Error())
	}
	read := func(name, text string, kinds ...value.Kind) (v value.Value) {
		if text != "" && err == nil {
			if v, err = value.ParseJSON([]byte(text)); err != nil {
				err = invalid(codeInvalid, name+" cannot be read: "+err.Error())
			} else if len(kinds) > 0 && v.Kind() != kinds[0] {
				err = invalid(codeInvalid, name+" is "+value.Shown(v)+"; allowed: "+kinds[0].String())
			}
		}
		return v
	}
	t.single.Variables = read("variables", t.Variables, value.KindObject)
	t.single.Items = read("mapItemReaderData", t.StateConfiguration.MapItemReaderData, value.KindArray)
	t.single.Context = cmp.Or(read("context", t.Context, value.KindObject), t.context())
	if m := t.Mock; m != nil && m.Result != nil {
		var kinds []value.Kind
		if t.stepType == "foreach" || t.stepType == "parallel" {
			kinds = []value.Kind{value.KindArray}
		}
		t.outcome = token.Success(read("mock.result", cmp.Or(*m.Result, " "), kinds...))
	} else if m != nil {
		t.outcome = token.Failure(m.ErrorOutput.Error, m.ErrorOutput.Cause)
	}
	return err
}

// testName is the name of the machine of a state that runs alone.
const testName = "TestState"

// context returns the context object of an execution of Step Functions.
func (t *stateTest) context() value.Value {
	run, now := rand.Text(), value.String(t.Now().UTC().Format(machine.TimeFormat))
	state := []value.Member{{Key: "Name", Value: value.String(t.step.Name)}, {Key: "EnteredTime", Value: now}}
	if t.step.Handlers() != nil {
		state = append(state, value.Member{Key: "RetryCount", Value: value.Int(int64(t.StateConfiguration.RetrierRetryCount))})
	}
	role := cmp.Or(t.RoleArn, "arn:aws:iam::"+t.Account+":role/"+testName)
	return value.Object(
		value.Member{Key: "Execution", Value: value.Object(
			value.Member{Key: "Id", Value: value.String(t.arn("express", testName, run))}, value.Member{Key: "Input", Value: t.input},
			value.Member{Key: "Name", Value: value.String(run)}, value.Member{Key: "RoleArn", Value: value.String(role)},
			value.Member{Key: "StartTime", Value: now},
		)},
		value.Member{Key: "State", Value: value.Object(state...)},
		value.Member{Key: "StateMachine", Value: value.Object(
			value.Member{Key: "Id", Value: value.String(t.arn("stateMachine", testName))}, value.Member{Key: "Name", Value: value.String(testName)},
		)},
	)
}

// testLimit is how long a real call may take.
const testLimit = 5 * time.Minute

// run applies signals until the state ends or waits for its next attempt. Other waits end at once.
func (t *stateTest) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, testLimit)
	defer cancel()
	now := t.Now()
	env := machine.Env{Flow: t.single.Flow, Limits: machine.Limits{Direct: math.MaxInt64}, Cause: machine.CauseStart, Tag: testName}
	t.end, _ = machine.New(machine.FlowRef{Name: testName}, t.single.Flow, testName, t.input, now, env.Limits)
	for sig := machine.Signal(machine.Started{At: now}); ; {
		next, err := machine.Apply(env, t.end, sig)
		if err != nil {
			return err
		}
		t.end, t.events = next.State, append(t.events, next.Events...)
		w := t.end.Waiting
		switch {
		case w == nil || w.For == machine.WaitingForRetry:
			return nil
		case w.For != machine.WaitingForCall:
			sig = machine.TimerDue{At: w.Due}
			continue
		}
		if t.Mock == nil {
			if t.outcome, err = t.call(ctx, next.Commands); err != nil {
				return err
			}
		} else if most, ok := t.single.Seen[asl.SeenTolerated].Int64(); ok && int64(t.StateConfiguration.MapIterationFailureCount) > most {
			t.outcome = token.Failure("States.ExceedToleratedFailureThreshold", "The specified tolerated failure threshold was exceeded")
		}
		if i := t.retrier(t.outcome); i >= 0 && t.StateConfiguration.RetrierRetryCount > 0 {
			waiting := *w
			waiting.Retried = make([]int, len(t.step.Handlers().Retry))
			waiting.Retried[i] = t.StateConfiguration.RetrierRetryCount
			t.end.Waiting = &waiting
		}
		sig = machine.Returned{At: now, Attempt: w.Attempt, Outcome: t.outcome}
	}
}

// call makes the call of a task.
func (t *stateTest) call(ctx context.Context, commands []machine.Command) (token.Outcome, error) {
	if t.MayWait != nil && !t.MayWait(ctx) {
		return token.Outcome{}, invalid("ThrottlingException", "too many requests wait; try again later")
	}
	for _, c := range commands {
		if c, ok := c.(machine.CallTask); ok {
			outcome, err := t.Call(ctx, c.Call)
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				outcome, err = token.Failure("States.Timeout", "the call took longer than "+testLimit.String()), nil
			}
			if outcome.Error == token.ErrorFunctionNotFound && c.Resource.OfService() {
				err = invalid(codeInvalid, outcome.Cause+"; specify a mock, or add the runner")
			}
			return outcome, err
		}
	}
	return token.Outcome{}, errors.New("the state waits for a call and has none")
}

// retrier returns the index of the entry of Retry for a failure, -1 for none.
func (t *stateTest) retrier(failure token.Outcome) int {
	h := t.step.Handlers()
	if h == nil || !failure.Failed() {
		return -1
	}
	failure = t.single.Flow.Named(failure)
	return slices.IndexFunc(h.Retry, func(retry flow.Retry) bool {
		return slices.ContainsFunc(retry.Errors, func(name string) bool { return t.single.Flow.Matches(name, failure) })
	})
}

// response returns the end of the state.
func (t *stateTest) response() object {
	var last machine.Event // that ended the state
	var next *flow.Step
	for _, e := range t.events {
		switch {
		case e.Step == 0 && (e.Type == machine.StepExited || e.Type == machine.StepFailed):
			last = e
		case e.Step > 0 && e.Type == machine.StepEntered:
			next = t.single.Flow.All[e.Step]
		}
	}
	failure := t.single.Failure
	if t.outcome.Failed() && !failure.Failed() {
		failure = t.single.Flow.Named(t.outcome)
	}
	shown, details := object{"status": "SUCCEEDED"}, object{}
	switch {
	case t.end.Waiting != nil:
		shown["status"], details["retryBackoffIntervalSeconds"] = "RETRIABLE", int(t.end.Waiting.Due.Sub(t.end.At).Round(time.Second)/time.Second)
	case last.Type == machine.StepFailed && next != nil:
		shown["status"] = "CAUGHT_ERROR"
		details["catchIndex"] = slices.IndexFunc(t.step.Handlers().Catch, func(c flow.Catch) bool { return c.Goto == next })
	case t.end.Status == machine.StatusFailed:
		shown["status"], failure = "FAILED", token.Failure(t.end.Error, t.end.Cause)
	}
	if i := t.retrier(failure); i >= 0 {
		details["retryIndex"] = i
	}
	if shown["status"] != "SUCCEEDED" {
		if failure.Error != errorUnnamed {
			shown["error"] = failure.Error
		}
		shown["cause"] = token.MaskAll(failure.Cause)
	}
	if next != nil {
		shown["nextState"] = next.Name
	}
	addValue(shown, "output", last.Output)
	if t.InspectionLevel == "DEBUG" || t.InspectionLevel == "TRACE" {
		shown["inspectionData"] = t.inspection(last.Local, details)
	}
	return shown
}

// inspection returns the values of the data flow that Step Functions shows for the type of the
// state, the variables after it and the details of its error.
func (t *stateTest) inspection(assigned value.Value, details object) object {
	names := []string{"afterInputPath"}
	switch afterResult := []string{"afterResultSelector", "afterResultPath"}; t.stepType {
	case "pass":
		if names = append(names, "afterParameters"); t.single.Constant {
			names = []string{"result"}
		}
		names = append(names, afterResult...)
	case "task":
		names = append(append(names, "afterParameters", "afterArguments", "result"), afterResult...)
	case "parallel":
		names = afterResult
	case "foreach":
		names = append(append(names, "afterItemsPath", "afterItemSelector"), afterResult...)
	}
	shown, seen := object{}, t.single.Seen
	addValue(shown, "input", t.input)
	for _, name := range names {
		addValue(shown, name, seen[name])
	}
	for _, name := range []string{"maxConcurrency", "toleratedFailureCount", "toleratedFailurePercentage"} {
		if number, ok := seen[name]; ok {
			shown[name] = number
		}
	}
	if variables := value.Merge(cmp.Or(t.single.Variables, value.Object()), cmp.Or(assigned, value.Object())); variables.Len() > 0 {
		addValue(shown, "variables", variables)
	}
	if len(details) > 0 {
		shown["errorDetails"] = details
	}
	return shown
}
