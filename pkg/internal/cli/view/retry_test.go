package view

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// TestAPauseInTheViews: a step that pauses before its next attempt, or its next
// poll, says so, and afterwards that it goes on.
func TestAPauseInTheViews(t *testing.T) {
	t.Parallel()
	entered := []machine.Event{
		{ID: 2, Type: machine.StepEntered, At: at(0)}, {ID: 3, Type: machine.TaskScheduled, At: at(0)}, {ID: 4, Type: machine.TaskStarted, At: at(0)},
	}
	failed := machine.Event{ID: 5, Type: machine.TaskFailed, At: at(time.Second), Error: "Down"}
	again := []machine.Event{
		{ID: 6, Type: machine.TaskScheduled, At: at(time.Minute)}, {ID: 7, Type: machine.TaskStarted, At: at(time.Minute)},
	}
	for name, tt := range map[string]struct {
		pause  machine.WaitingFor
		paused []machine.Event
		resume func(p *progress)
		said   string // while it pauses
		after  string // and afterwards
	}{
		"retry of a direct call": {
			machine.WaitingForRetry, []machine.Event{failed},
			func(p *progress) {
				p.calling(machine.Call{}, at(time.Minute))
				p.committed(engine.ID{}, underWay(nil), again)
			},
			"tries again in 55.0s", "1m05.0s, attempt 2",
		},
		"retry of a claimed call": {
			machine.WaitingForRetry, []machine.Event{failed},
			func(p *progress) {
				p.committed(engine.ID{}, underWay(nil), again)
				p.calling(machine.Call{}, at(time.Minute))
			},
			"tries again in 55.0s", "1m05.0s, attempt 2",
		},
		"poll": {
			machine.WaitingForPoll, nil,
			func(p *progress) { p.calling(machine.Call{Attempt: machine.Attempt{Poll: 2}}, at(time.Minute)) },
			"polls again in 55.0s", "1m05.0s",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProgress("flow/one", flowOf(t, flows+"task.yaml"))
			p.committed(engine.ID{}, underWay(nil), entered)
			p.committed(engine.ID{}, underWay(&machine.Waiting{For: tt.pause, Due: at(time.Minute)}), tt.paused)
			if got := p.step(0, at(5*time.Second)).detail(at(5 * time.Second)); got != tt.said {
				t.Errorf("while it pauses the live view says %q, want %q", got, tt.said)
			}
			tt.resume(p)
			if got := p.step(0, at(65*time.Second)).detail(at(65 * time.Second)); got != tt.after {
				t.Errorf("afterwards it says %q, want %q", got, tt.after)
			}
		})
	}
}

func underWay(waiting *machine.Waiting) machine.State {
	return machine.State{Status: machine.StatusRunning, Started: at(0), Waiting: waiting}
}

func TestATimeLimitInThePlainView(t *testing.T) {
	t.Parallel()
	flow, out := flowOf(t, flows+"task.yaml"), &bytes.Buffer{}
	view := &plainView{out: out, title: "flow/one", flow: flow}
	view.Committed(engine.ID{}, machine.State{Status: machine.StatusTimedOut, Started: at(0), At: at(time.Hour)}, []machine.Event{
		{ID: 5, Type: machine.ExecutionTimedOut, Step: machine.NoStep, At: at(time.Hour), Error: "FnF.ExecutionTimeout", Cause: "not finished within 1h"},
	})
	if got := out.String(); !strings.HasSuffix(got, "  flow/one timed out: FnF.ExecutionTimeout: not finished within 1h\n") {
		t.Errorf("the view says %q", got)
	}
}
