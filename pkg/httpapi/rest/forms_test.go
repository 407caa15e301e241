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
`))
	if flow == nil {
		t.Fatal(problems)
	}
	for step, want := range []struct {
		by   machine.WaitingFor
		what string
	}{
		{machine.WaitingForToken, "call"}, {machine.WaitingForToken, "callback"}, {machine.WaitingForToken, "job"}, {machine.WaitingForInstant, "instant"},
	} {
		waiting := &machine.Waiting{Attempt: machine.Attempt{Step: step}, For: want.by}
		if got := waitsFor(flow, waiting); got != want.what {
			t.Errorf("step %s waits for %q, want %q", flow.All[step].Name, got, want.what)
		}
	}
}
