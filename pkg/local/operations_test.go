package local_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// puts calls an operation, and continues after one of its errors.
const puts = "version: v1\ntype: flow\nsteps:\n  - type: task\n    name: Put\n    action: dynamodb:PutItem\n" +
	"    serviceParams: {TableName: orders, Item: $.item}\n    outputMappings: [{target: got, source: $local}]\n" +
	"    catch: [{errors: [dynamodb.ConditionalCheckFailedException], goto: Done}]\n" +
	"    errorMappings: [{target: caught, source: $local.error}]\n  - {type: succeed, name: Done}\n"

// runPut runs the flow with a runner of the operation.
func runPut(t *testing.T, tasks *local.Functions, clock *local.Clock, call func(context.Context, []byte) ([]byte, error)) machine.State {
	t.Helper()
	s := local.New(local.Config{Store: &store.Memory{}, Clock: clock, Functions: tasks, Operations: call})
	flow, err := s.Client.PutFlow(t.Context(), "flow", []byte(puts))
	if err != nil {
		t.Fatal(err)
	}
	input := value.Object(value.Member{Key: "item", Value: value.Object(value.Member{Key: "id", Value: value.String("a")})})
	if _, err := s.Start(t.Context(), engine.StartRequest{Flow: flow, Execution: "run", Input: input}); err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	state, err := s.Client.Describe(t.Context(), engine.NewID("flow", "run"))
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// The runner aws gets the input of CallService, whose key is of the attempt. An error of the
// service has its name.
func TestOperationOnAWS(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		err  error
		want string
	}{
		{nil, `{"got":{"a":1}}`},
		{&resume.ServiceError{Name: "dynamodb.ConditionalCheckFailedException", Message: "it exists"}, `{"caught":"dynamodb.ConditionalCheckFailedException"}`},
		{&resume.ServiceError{Name: "dynamodb.AccessDeniedException", Message: "no"}, "dynamodb.AccessDeniedException: no"},
	} {
		clock := local.NewVirtualClock(time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC))
		tasks, err := local.NewFunctions(clock, map[string]string{"dynamodb:PutItem": "aws"})
		if err != nil || !tasks.NeedAWS() || tasks.NeedJobs() {
			t.Fatal(err)
		}
		var got string
		state := runPut(t, tasks, clock, func(_ context.Context, input []byte) ([]byte, error) {
			got = string(input)
			return []byte(`{"a":1}`), row.err
		})
		params := `","operation":"dynamodb:PutItem","params":{"Item":{"id":"a"},"TableName":"orders"}}`
		if key, ok := strings.CutPrefix(strings.TrimSuffix(got, params), `{"idempotencyKey":"`); !ok || key == "" || strings.Contains(key, `"`) {
			t.Errorf("called with %s", got)
		}
		ended := state.Output.JSON()
		if state.Error != "" {
			ended = state.Error + ": " + state.Cause
		}
		if ended != row.want {
			t.Errorf("after %v: %s, want %s", row.err, ended, row.want)
		}
	}
}

// Another runner gets the params, as a stand-in for the service.
func TestOperationOfAnotherRunner(t *testing.T) {
	t.Parallel()
	clock := local.NewVirtualClock(time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC))
	tasks, err := local.NewFunctions(clock, nil)
	if err != nil {
		t.Fatal(err)
	}
	tasks.AddFunction("dynamodb:PutItem", func(call machine.Call) token.Outcome { return token.Success(call.Input) })
	state := runPut(t, tasks, clock, nil)
	if got, want := state.Output.JSON(), `{"got":{"Item":{"id":"a"},"TableName":"orders"}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Nothing stands in for an operation that has no runner.
func TestOperationWithoutARunner(t *testing.T) {
	t.Parallel()
	tasks, err := local.NewFunctions(local.NewVirtualClock(time.Time{}), nil)
	if err != nil {
		t.Fatal(err)
	}
	flow, _ := fdl.Parse([]byte(puts))
	want := `step Put: no runner for operation "dynamodb:PutItem" (aws, exec:COMMAND, http(s)://... or lambda:...)`
	if got := errors.Join(tasks.Resolve(flow)...); got == nil || got.Error() != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if _, err := local.NewFunctions(local.NewVirtualClock(time.Time{}), map[string]string{"dynamodb:PutItem": "simulated"}); err == nil ||
		!strings.Contains(err.Error(), `operation "dynamodb:PutItem" is not simulated; allowed: aws, exec:COMMAND`) {
		t.Errorf("an operation is simulated: %v", err)
	}
}
