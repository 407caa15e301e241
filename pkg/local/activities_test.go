package local_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

func activityMachine(fields string) string {
	return `{"StartAt":"W","States":{"W":{"Type":"Task","Resource":"arn:aws:states:eu:1:activity:work"` + fields + `,"End":true}}}`
}

// wantStatus returns the state of an execution, which has the status.
func wantStatus(t *testing.T, s *local.System, name string, want machine.Status) machine.State {
	t.Helper()
	state, err := s.Client.Describe(t.Context(), engine.NewID("flow", name))
	if err != nil || state.Status != want {
		t.Errorf("%s is %s, %v; want %s", name, state.Status, err, want)
	}
	return state
}

// Heartbeats count from when a worker has the task, and a deadline from when it was scheduled. A
// task that has an end is given to no worker.
func TestTasksOfActivitiesEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &store.Memory{}
		s := local.New(local.Config{Store: store})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			if err := s.Serve(ctx); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}()
		take := func() string {
			limited, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			text, _, err := s.TakeTask(limited, "work", "")
			if err != nil {
				t.Error(err)
			}
			return text
		}
		start(t, s, activityMachine(""), "none")
		synctest.Wait()
		if state := wantStatus(t, s, "none", machine.StatusFailed); state.Error != "States.Runtime" || !strings.Contains(state.Cause, "CreateActivity") {
			t.Errorf("without an activity: %s, %s", state.Error, state.Cause)
		}
		if _, err := store.CreateActivity(ctx, "work", time.Now()); err != nil {
			t.Fatal(err)
		}
		start(t, s, activityMachine(`,"HeartbeatSeconds":10`), "beats")
		time.Sleep(time.Hour)
		if text := take(); text == "" {
			t.Error("the task was not given to a worker")
		}
		time.Sleep(9 * time.Second)
		wantStatus(t, s, "beats", machine.StatusRunning)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		wantStatus(t, s, "beats", machine.StatusFailed)
		start(t, s, activityMachine(`,"TimeoutSeconds":10`), "late")
		time.Sleep(11 * time.Second)
		wantStatus(t, s, "late", machine.StatusFailed)
		if text := take(); text != "" {
			t.Error("a worker got a task that has an end")
		}
		cancel()
		synctest.Wait()
	})
}

// A runner stands for the workers of an activity.
func TestARunnerStandsForWorkers(t *testing.T) {
	t.Parallel()
	clock := local.NewVirtualClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	functions, err := local.NewFunctions(clock, nil)
	if err != nil {
		t.Fatal(err)
	}
	outcomes := []token.Outcome{token.Success(value.Int(7)), token.Failure("No.Paper", "none")}
	functions.AddFunction("activity:work", func(machine.Call) token.Outcome {
		outcome := outcomes[0]
		outcomes = outcomes[1:]
		return outcome
	})
	s := local.New(local.Config{Store: &store.Memory{}, Clock: clock, Functions: functions})
	start(t, s, activityMachine(""), "well")
	start(t, s, activityMachine(""), "badly")
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if state := wantStatus(t, s, "well", machine.StatusSucceeded); state.Output.JSON() != "7" {
		t.Errorf("output %s", state.Output.JSON())
	}
	if state := wantStatus(t, s, "badly", machine.StatusFailed); state.Error != "No.Paper" || state.Cause != "none" {
		t.Errorf("failed with %s: %s", state.Error, state.Cause)
	}
	events, err := s.Client.History(t.Context(), engine.NewID("flow", "well"))
	var types []machine.EventType
	for _, e := range events {
		types = append(types, e.Type)
	}
	if i := slices.Index(types, machine.TaskSubmitted); err != nil || i < 0 || types[i+1] != machine.TaskSucceeded {
		t.Errorf("events %v, %v", types, err)
	}
}
