package enginetest

import (
	"context"
	"fmt"
	"testing"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// Functions are an [engine.Caller] and the names of some functions that it can
// call.
type Functions struct {
	engine.Caller
	Echo  string // answers with its input
	Fail  string // fails
	Hang  string // does not answer before a test is over
	Wrong string // answers with something that is no JSON
}

// Tasks is the suite of [engine.Caller].
func Tasks(t *testing.T, open func(t *testing.T) Functions) {
	t.Helper()
	runCases(t, open, []testCase[Functions]{
		{"the input arrives and the answer is the outcome", tasksEcho},
		{"a function that fails is an outcome", tasksFail},
		{"an answer that is no JSON is an outcome", tasksWrong},
		{"a function that is not there is an outcome", tasksUnknown},
		{"a cancelled call is an error", tasksCancelled},
		{"calls run side by side", tasksSideBySide},
	})
}

func callOf(function string, input value.Value) machine.Call {
	return machine.Call{
		Attempt: machine.Attempt{Number: 3}, Flow: machine.FlowRef{Name: "flow", Hash: "hash"}, Execution: "run", Step: "Step",
		Resource: flow.Resource{Text: "acs:fc:::services/test/functions/" + function, Function: function}, Input: input,
	}
}

func wantFailure(t *testing.T, f Functions, function string) {
	t.Helper()
	outcome, err := f.Call(t.Context(), callOf(function, value.Object()))
	if err != nil || !outcome.Failed() || outcome.Cause == "" {
		t.Errorf("outcome %+v, error %v; want a failure with a cause", outcome, err)
	}
}

func tasksEcho(c on[Functions]) {
	t, f := c.t, c.it
	input := object(t, `{"text":"a \"b\" \u00e9 \n","number":12345678901234567890.5,"list":[1,{},null,true]}`)
	outcome, err := f.Call(t.Context(), callOf(f.Echo, input))
	if err != nil || outcome.Failed() || !value.Equal(outcome.Output, input) {
		t.Errorf("outcome %+v, error %v; want a success with %s", outcome, err, input)
	}
}

func tasksFail(c on[Functions])    { wantFailure(c.t, c.it, c.it.Fail) }
func tasksWrong(c on[Functions])   { wantFailure(c.t, c.it, c.it.Wrong) }
func tasksUnknown(c on[Functions]) { wantFailure(c.t, c.it, "thereIsNoSuchFunction") }

func tasksCancelled(c on[Functions]) {
	t, f := c.t, c.it
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := f.Call(ctx, callOf(f.Hang, value.Object()))
		ended <- err
	}()
	cancel() // before the call or during it, which makes no difference
	if <-ended == nil {
		t.Error("no error")
	}
}

func tasksSideBySide(c on[Functions]) {
	t, f := c.t, c.it
	const calls = 16
	var outcomes [calls]token.Outcome
	var errs [calls]error
	input := func(i int) value.Value { return value.Object(value.Member{Key: "i", Value: value.Int(int64(i))}) }
	together(calls, func(i int) { outcomes[i], errs[i] = f.Call(t.Context(), callOf(f.Echo, input(i))) })
	for i := range calls {
		if errs[i] != nil || !value.Equal(outcomes[i].Output, input(i)) {
			t.Errorf("call %d: %+v, error %v", i, outcomes[i], errs[i])
		}
	}
}

func object(t *testing.T, text string) value.Value {
	t.Helper()
	v, err := value.ParseJSON([]byte(text))
	if err != nil {
		t.Fatal(fmt.Errorf("%s: %w", text, err))
	}
	return v
}
