package local_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// losingStore loses the large values of one execution.
type losingStore struct {
	*store.Memory

	lost *string
}

func (s losingStore) LoadValue(ctx context.Context, name string) ([]byte, error) {
	if *s.lost != "" && strings.HasPrefix(name, *s.lost) {
		return nil, engine.ErrNotFound
	}
	return s.Memory.LoadValue(ctx, name)
}

// hourTasks are calls that may take an hour, and take none.
type hourTasks func(machine.Call)

func (h hourTasks) Call(_ context.Context, call machine.Call) (token.Outcome, error) {
	h(call)
	return answered, nil
}

func (hourTasks) TimeLimits(context.Context, *flow.Flow) (map[string]time.Duration, error) {
	resource, _ := fdl.ParseResource("acs:fc:::services/s/functions/work")
	return map[string]time.Duration{resource.Text: time.Hour}, nil
}

// A queued call whose large input is gone fails its step, and the process goes on with the others.
func TestAQueuedCallWithoutItsInputFailsItsStepAlone(t *testing.T) {
	t.Parallel()
	lost, left := "", ""
	lose := func(call machine.Call) { // the first call is made while the others wait
		if lost == "" {
			left = map[string]string{"first": "second", "second": "third", "third": "first"}[call.Execution]
			lost = engine.NewID("flow", left).String()
		}
	}
	s := local.New(local.Config{
		Store: losingStore{&store.Memory{}, &lost}, Clock: local.NewVirtualClock(time.Now()), Functions: hourTasks(lose),
		Limits: machine.Limits{Data: machine.MaxLargeData},
	})
	input := value.Object(value.Member{Key: "text", Value: value.String(strings.Repeat("x", 300<<10))})
	flow, err := s.Client.PutFlow(t.Context(), "flow", []byte(oneTask))
	names := []string{"first", "second", "third"}
	for _, name := range names {
		if err == nil {
			_, err = s.Start(t.Context(), engine.StartRequest{Flow: flow, Execution: name, Input: input})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context()); err != nil {
		t.Errorf("run: %v", err)
	}
	for _, name := range names {
		state, err := s.Client.Describe(t.Context(), engine.NewID("flow", name))
		switch {
		case err != nil:
			t.Error(err)
		case name != left && state.Status != machine.StatusSucceeded,
			name == left && (state.Error != machine.ErrorInternal || !strings.Contains(state.Cause, "it is missing")):
			t.Errorf("%s is %s: %s (%s)", name, state.Status, state.Error, state.Cause)
		case name == left && !strings.Contains(state.Input.JSON(), "left out: read large value "):
			t.Errorf("the input of %s is %.200s", name, state.Input.JSON())
		}
	}
}
