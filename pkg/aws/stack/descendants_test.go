package stack_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/cli"
	"github.com/waitless/waitless/pkg/engine"
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

// TestGrowingFamilies: the wakes of a family that grows without end do not stand before those of another execution, and all of the
// family ends with its root, which has ended.
func TestGrowingFamilies(t *testing.T) {
	t.Parallel()
	if !*faults {
		t.Skip("minutes on the emulator; with -faults it runs")
	}
	s := growing.get(t)
	family := writeFlow(t, "growing", growingFlow)
	s.check(t, cli.ExitSucceeded, "starts the flow itself", "flows", "put", family)
	s.check(t, cli.ExitSucceeded, "", "start", "--flow", "growing", "--name", "root", "--input", `{"list":[1,2]}`)
	for again := time.NewTicker(look); s.messages(t, "DescendantQueue") < 40; {
		select {
		case <-again.C:
		case <-t.Context().Done():
			t.Fatal("the family does not grow")
		}
	}
	s.check(t, cli.ExitSucceeded, "", "run", writeFlow(t, "nap", "version: v1\ntype: flow\nsteps: [{type: pass, name: Nap}]\n"), "--name", "one")
	waiting := s.messages(t, "DescendantQueue")
	s.check(t, cli.ExitSucceeded, "and all that descend from it are being stopped", "stop", "growing/root", "--descendants")
	const atOnce = 100 // wakes of descendants that run beside it: ten batches of ten
	if others := s.wakesBefore(t, engine.NewID("nap", "one")); others > atOnce {
		t.Errorf("%d wakes of the family came first", others)
	} else {
		t.Logf("%d wakes of the family came first, and %d waited", others, waiting)
	}
	for again := time.NewTicker(look); ; {
		if got := s.do(t, "list", "--flow", "growing", "--status", "Starting,Running", "--json"); strings.Contains(got.stdout, `"executions":[]`) {
			break
		}
		select {
		case <-again.C:
		case <-t.Context().Done():
			t.Fatal("the family does not end")
		}
	}
}

// wakesBefore counts the wakes that the interpreter handled between the start of an execution and its wake.
func (s stack) wakesBefore(t *testing.T, id engine.ID) (others int) {
	t.Helper()
	var started struct{ StartedTime time.Time }
	if err := json.Unmarshal([]byte(s.do(t, "show", "nap/one", "--json").stdout), &started); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(printed(t, cloudwatchlogs.NewFromConfig(emulator.Config(t)), s.resources["InterpreterLogs"])) {
		var wake struct {
			Timestamp          time.Time
			Message, Execution string
		}
		if json.Unmarshal([]byte(line), &wake) != nil || wake.Message != "wake" || wake.Timestamp.Before(started.StartedTime) {
			continue
		}
		if wake.Execution == id.String() {
			return others
		}
		others++
	}
	t.Fatal("the log has no wake of the execution")
	return 0
}
