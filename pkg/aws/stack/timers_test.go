package stack_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/internal/cli/view"
)

// writeFlow writes a flow whose name is that of the file.
func writeFlow(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name+".yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// await reads what a command says until a line has the text in it.
func (f *following) await(text string) {
	f.t.Helper()
	var said []string
	for line := range f.lines {
		said = append(said, line)
		if strings.Contains(line, text) {
			return
		}
	}
	f.t.Fatalf("no log says %q:\n%s", text, strings.Join(said, "\n"))
}

// history is what an execution went through.
func (s stack) history(t *testing.T, execution string) []event {
	t.Helper()
	got := s.do(t, "history", execution, "--json")
	if got.exit != view.ExitSucceeded {
		t.Fatalf("%+v", got)
	}
	var report struct{ Events []event }
	if err := json.Unmarshal([]byte(got.stdout), &report); err != nil {
		t.Fatalf("%v: %s", err, got.stdout)
	}
	return report.Events
}

// waits are until when the execution was to wait at a step, and until when it
// did, in the order of the waits.
func waits(t *testing.T, history []event, step string) (due, done []time.Time) {
	t.Helper()
	for _, e := range history {
		if e.Step != step || (e.Type != "StepStarted" && e.Type != "StepSucceeded") {
			continue
		}
		var detail struct{ Until string }
		if err := json.Unmarshal(e.Detail, &detail); err != nil {
			t.Fatal(err)
		}
		if e.Type == "StepStarted" {
			due = append(due, parseInstant(t, detail.Until))
		} else {
			done = append(done, parseInstant(t, e.Time))
		}
	}
	return due, done
}

func parseInstant(t *testing.T, text string) time.Time {
	t.Helper()
	parsed, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// A wait that is longer than a message's delay is a schedule, early enough for
// the rest to be the delay of a message. No schedule stays.
func TestAWaitBeyondTheLongestDelay(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	flow := writeFlow(t, "nap", "version: v1\ntype: flow\nsteps:\n- {type: wait, name: Nap, duration: 40}\n")
	run := s.follow(t, "run", flow, "--name", "long")
	run.await("Nap waits until")
	history := s.history(t, "nap/long")
	due, _ := waits(t, history, "Nap")
	const early = 15 * time.Second // half of the longest delay
	want := due[0].Add(-early).Add(time.Second - 1).Truncate(time.Second).UTC().Format("at(2006-01-02T15:04:05)")
	if got := s.schedules(t, "nap", "long"); len(got) != 1 || got[0] != want {
		t.Errorf("schedules %q, want %q", got, want)
	}
	if exit := run.wait(); exit != view.ExitSucceeded {
		t.Errorf("exit %d", exit)
	}
	_, done := waits(t, s.history(t, "nap/long"), "Nap")
	if len(done) != 1 || done[0].Before(due[0].Truncate(time.Millisecond)) {
		t.Errorf("it waited until %v, due at %v", done, due)
	}
	t.Logf("late by %s", done[0].Sub(due[0]))
	if got := s.schedules(t, "nap", "long"); len(got) > 0 {
		t.Errorf("schedules %q are left", got)
	}
}

// schedules are the times of the schedules of an execution.
func (s stack) schedules(t *testing.T, flow, execution string) []string {
	t.Helper()
	client := scheduler.NewFromConfig(emulator.Config(t))
	group, prefix := aws.String(s.resources["Timers"]), aws.String(engine.NewID(flow, execution).String())
	listed, err := client.ListSchedules(t.Context(), &scheduler.ListSchedulesInput{GroupName: group, NamePrefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, found := range listed.Schedules {
		schedule, err := client.GetSchedule(t.Context(), &scheduler.GetScheduleInput{GroupName: group, Name: found.Name})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, *schedule.ScheduleExpression)
	}
	return all
}
