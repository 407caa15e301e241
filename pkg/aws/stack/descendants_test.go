package stack_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/internal/cli/view"
)

// growing is the stack of a flow that starts itself without end.
var growing = deployment{name: freshName(), parameters: []string{"LongestDelay=30"}, build: shipped}

const growingFlow = `version: v1
type: flow
steps:
  - type: foreach
    name: Each
    iterationMapping: {collection: $.list, item: x}
    steps:
      - type: task
        name: Again
        resourceArn: acs:fnf:::flow/growing
        inputMappings: [{target: list, source: $input.list}]
`

// The wakes of a family that grows without end do not stand before those of another execution, and
// all of the family ends with the stop of its root, which has ended.
func TestGrowingFamilies(t *testing.T) {
	t.Parallel()
	if !*faults {
		t.Skip("minutes on the emulator; with -faults it runs")
	}
	s := growing.get(t)
	family := writeFlow(t, "growing", growingFlow)
	s.check(t, view.ExitSucceeded, "starts the flow itself", "flows", "put", family)
	s.check(t, view.ExitSucceeded, "", "start", "--flow", "growing", "--name", "root", "--input", `{"list":[1,2]}`)
	soon(t, "the family", func() (int, bool) {
		waiting := s.messages(t, "DescendantQueue")
		return waiting, waiting >= 40
	})
	nap := writeFlow(t, "nap", "version: v1\ntype: flow\nsteps: [{type: pass, name: Nap}]\n")
	names := []string{"one", "two", "three", "four", "five"}
	for _, name := range names {
		s.check(t, view.ExitSucceeded, "", "run", nap, "--name", name)
	}
	waiting := s.messages(t, "DescendantQueue")
	begun := time.Now()
	s.check(t, view.ExitSucceeded, "and all that descend from it are being stopped", "stop", "growing/root", "--descendants")
	soon(t, "the end of the family", func() (open []any, ended bool) {
		page := struct{ Executions *[]any }{&open}
		got := s.do(t, "list", "--flow", "growing", "--status", "Starting,Running", "--json")
		if err := json.Unmarshal([]byte(got.stdout), &page); err != nil {
			t.Fatalf("%v: %+v", err, got)
		}
		return open, len(open) == 0
	})
	t.Logf("the family ended within %s", time.Since(begun))
	log := printed(t, cloudwatchlogs.NewFromConfig(emulator.Config(t)), s.resources["InterpreterLogs"])
	var others []int
	for _, name := range names {
		others = append(others, s.wakesBefore(t, log, name))
	}
	slices.Sort(others)
	t.Logf("%v wakes of the family came before those of others, and %d waited", others, waiting)
	// DescendantSource lets two batches of ten run at once: 0 to 18 of their wakes end before that
	// of another execution, whose function shares the processors. With ten batches it was 30 to 60.
	const atOnce = 20
	if median := others[len(others)/2]; median > atOnce {
		t.Errorf("%d wakes of the family came before that of another execution", median)
	}
}

// wakesBefore counts the wakes in the interpreter's log between the start of an execution of flow
// nap and its first wake.
func (s stack) wakesBefore(t *testing.T, log, name string) (others int) {
	t.Helper()
	var started struct{ StartedTime time.Time }
	if err := json.Unmarshal([]byte(s.do(t, "show", "nap/"+name, "--json").stdout), &started); err != nil {
		t.Fatal(err)
	}
	id := engine.NewID("nap", name).String()
	for line := range strings.Lines(log) {
		var wake struct {
			Timestamp          time.Time
			Message, Execution string
		}
		if json.Unmarshal([]byte(line), &wake) != nil || wake.Message != "wake" || wake.Timestamp.Before(started.StartedTime) {
			continue
		}
		if wake.Execution == id {
			return others
		}
		others++
	}
	t.Fatalf("the log has no wake of execution %s", name)
	return 0
}
