package local_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
)

const (
	parentText = `
version: v1
type: flow
steps:
  - type: task
    name: Sub
    resourceArn: acs:fnf:::flow/child
    pattern: sync
    timeoutSeconds: 60
    serviceParams: {Input: $, ExecutionName: kid}
`
	childText = `
version: v1
type: flow
steps:
  - {type: wait, name: Pause, duration: %d}
  - {type: task, name: Echo, resourceArn: "acs:fc:::services/s/functions/echo"}
`
)

// Virtual time goes on through sub-flows: the step ends with its sub-flow, or stops it at its time
// limit.
func TestSubflowInVirtualTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pause         string
		took          time.Duration
		parent, child machine.Status
	}{
		"in time":  {"30", 30 * time.Second, machine.StatusSucceeded, machine.StatusSucceeded},
		"too late": {"90", 60 * time.Second, machine.StatusFailed, machine.StatusStopped},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)
			clock := local.NewVirtualClock(start)
			s := local.New(local.Config{Store: &store.Memory{}, Clock: clock})
			for flow, text := range map[string]string{"child": strings.Replace(childText, "%d", c.pause, 1), "parent": parentText} {
				if _, err := s.Client.PutFlow(t.Context(), flow, []byte(text)); err != nil {
					t.Fatal(err)
				}
			}
			flow, err := s.Client.PutFlow(t.Context(), "parent", []byte(parentText))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Start(t.Context(), engine.StartRequest{Flow: flow, Execution: "one"}); err != nil {
				t.Fatal(err)
			}
			if err := s.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			for id, want := range map[engine.ID]machine.Status{engine.NewID("parent", "one"): c.parent, engine.NewID("child", "kid"): c.child} {
				state, err := s.Client.Describe(t.Context(), id)
				if took := state.At.Sub(start); err != nil || state.Status != want || took != c.took {
					t.Errorf("%s/%s is %s after %s (%s: %s), %v; want %s after %s",
						state.Flow.Name, state.Execution, state.Status, took, state.Error, state.Cause, err, want, c.took)
				}
			}
		})
	}
}

// A flow does not start if its sub-flow is not stored, or a function of the sub-flow has no runner.
func TestSubflowsAreFoundBeforeTheStart(t *testing.T) {
	t.Parallel()
	tasks, err := local.NewFunctions(&local.Clock{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := local.New(local.Config{Store: &store.Memory{}, Functions: tasks})
	flow, err := s.Client.PutFlow(t.Context(), "parent", []byte(parentText))
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Start(t.Context(), engine.StartRequest{Flow: flow, Execution: "one"})
	if err == nil || !strings.Contains(err.Error(), `step Sub: flow "child" is not stored`) {
		t.Errorf("the start without a sub-flow is answered %v", err)
	}
	child := strings.Replace(strings.Replace(childText, "%d", "1", 1), "functions/echo", "functions/ekko", 1)
	if _, err := s.Client.PutFlow(t.Context(), "child", []byte(child)); err != nil {
		t.Fatal(err)
	}
	_, err = s.Start(t.Context(), engine.StartRequest{Flow: flow, Execution: "one"})
	if unknown, ok := errors.AsType[*local.UnknownFunctionError](err); !ok || unknown.Function != "ekko" {
		t.Errorf("the start without a function of the sub-flow is answered %v", err)
	}
}
