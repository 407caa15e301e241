package disk_test

import (
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// The flows of these tests.
const (
	waitHour = "version: v1\ntype: flow\nsteps:\n  - type: wait\n    name: Hour\n    duration: 3600\n"
	oneTask  = "version: v1\ntype: flow\nsteps:\n  - type: task\n    name: Work\n    resourceArn: acs:fc:::services/s/functions/work\n"
	passOnly = "version: v1\ntype: flow\nsteps:\n  - type: pass\n    name: Only\n"
)

var answered = token.Success(value.Object())

// start starts an execution of the flow, which is put first.
func start(t *testing.T, s *local.System, flow, name string) {
	t.Helper()
	put, err := s.Client.PutFlow(t.Context(), "flow", []byte(flow))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Start(t.Context(), engine.StartRequest{Flow: put, Execution: name}); err != nil {
		t.Fatal(err)
	}
}

func wantSucceeded(t *testing.T, s *local.System, name string, took time.Duration) {
	t.Helper()
	state, err := s.Client.Describe(t.Context(), engine.NewID("flow", name))
	if err != nil {
		t.Fatal(err)
	}
	if state.Status != machine.StatusSucceeded || state.At.Sub(state.Started) != took {
		t.Errorf("%s is %s after %s, want Succeeded after %s", name, state.Status, state.At.Sub(state.Started), took)
	}
}
