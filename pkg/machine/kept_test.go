package machine_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

func TestKept(t *testing.T) {
	t.Parallel()
	call := machine.Call{Step: "Convert", Input: value.Object(text("a", strings.Repeat("x", 60)))}
	small, large := value.Object(whole("pages", 3)), value.Object(text("b", strings.Repeat("x", 60)))
	for name, tt := range map[string]struct {
		outcome token.Outcome
		failure string
	}{
		"a success":                              {token.Success(small), ""},
		"one that is too large beside the input": {token.Success(large), machine.ErrorDataLimit},
		"a failure":                              {token.Failure("Broken", "why"), "Broken"},
		"one with a long name and cause":         {token.Failure(strings.Repeat("e", 1000), strings.Repeat("c", 10000)), strings.Repeat("e", 128)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := machine.Kept(machine.Limits{Data: 100}, call, tt.outcome)
			if got.Error != tt.failure || len(got.Cause) > 4096 || !got.Failed() && !value.Equal(got.Output, tt.outcome.Output) {
				t.Errorf("it is %.200q, %d bytes of cause, %s", got.Error, len(got.Cause), got.Output)
			}
		})
	}
}

// TestApplyWithoutKeysReturnsKeysError: their lack is told from a damaged state.
func TestApplyWithoutKeysReturnsKeysError(t *testing.T) {
	t.Parallel()
	flow := parseFlow(t, `
version: v1
type: flow
steps:
  - {type: task, name: Ask, resourceArn: "acs:fc:::services/s/functions/f", pattern: waitForCallback}
`)
	_, err := machine.Apply(machine.Env{Flow: flow, Cause: machine.CauseStart}, starting(0, 0), machine.Started{At: epoch.Add(time.Second)})
	var missing *machine.KeysError
	if !errors.As(err, &missing) || !strings.Contains(err.Error(), "token key 0 has the length 0") {
		t.Errorf("error %v", err)
	}
}

func TestCauseReplyIsNotTheHandle(t *testing.T) {
	t.Parallel()
	if cause := machine.CauseReply("AQE"); cause == "AQE" || cause == machine.CauseReply("AQF") {
		t.Errorf("it is %q", cause)
	}
}
