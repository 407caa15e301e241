package rest

import (
	"testing"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/machine"
)

// A long call has a token as the others have, and is a call to people.
func TestWhatAnExecutionWaitsFor(t *testing.T) {
	t.Parallel()
	flow, problems := fdl.Parse([]byte(`
version: v1
type: flow
steps:
  - {type: task, name: Long, resourceArn: "acs:fc:::services/s/functions/f"}
  - {type: task, name: Ask, resourceArn: "acs:fc:::services/s/functions/f", pattern: waitForCallback}
  - {type: task, name: Render, action: "batch:SubmitJob", pattern: sync, serviceParams: {}}
  - {type: wait, name: Pause, duration: 1}
  - {type: parallel, name: Both, branches: [{steps: [{type: pass, name: Left}]}, {steps: [{type: pass, name: Right}]}]}
  - {type: task, name: Child, resourceArn: "acs:fnf:::flow/child", pattern: sync}
  - {type: task, name: Queued, resourceArn: "acs:fc:::services/s/functions/f", pattern: sync}
`))
	if flow == nil {
		t.Fatal(problems)
	}
	token := &machine.TokenWait{}
	for _, want := range []struct {
		step int
		by   machine.WaitingFor
		what string
	}{
		{0, token, "call"}, {1, token, "callback"}, {2, token, "job"},
		{3, machine.WaitingForInstant, "instant"}, {1, machine.WaitingForRetry, "retry"}, {0, machine.WaitingForPoll, "poll"},
		{0, machine.WaitingForNextLogItem, "instant"}, {4, &machine.ForkWait{}, "lanes"},
		{5, &machine.TokenWait{Child: &machine.ExecutionRef{Flow: "child", Execution: "one"}}, "sub-flow"}, {6, token, "call"},
	} {
		waiting := &machine.Waiting{Attempt: machine.Attempt{Step: want.step}, For: want.by}
		if got := waitsFor(flow, waiting); got != want.what {
			t.Errorf("step %s waits for %q, want %q", flow.All[want.step].Name, got, want.what)
		}
	}
}
