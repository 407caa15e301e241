package cli

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

const finishedFlow = `version: v1
type: flow
name: f
steps:
  - type: foreach
    name: Each
    iterationMapping: {collection: $.list, item: one}
    steps:
      - type: choice
        name: Which
        choices:
          - condition: $.one == $.bad
            steps: [{type: fail, name: Bad, error: Unlucky, cause: why}]
  - type: choice
    name: Then
    choices:
      - condition: $.fails == true
        steps: [{type: fail, name: Worse, error: Unlucky, cause: why}]
`

// finished is an execution of 200 iterations that ended.
func finished(t *testing.T, input string, out *bytes.Buffer) *execution {
	t.Helper()
	flow, problems := fdl.Parse([]byte(finishedFlow))
	if flow == nil {
		t.Fatal(problems)
	}
	given, err := value.ParseJSON([]byte(`{"list":[` + strings.Repeat("0,", 100) + "1" + strings.Repeat(",0", 99) + "]," + input + "}"))
	if err != nil {
		t.Fatal(err)
	}
	clock := local.NewVirtualClock(time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC))
	e := &execution{
		command: Command{Stdout: out, Stderr: out}, name: "e", clock: clock,
		file: flowFile{path: "f.yaml", flow: flow}, system: local.New(local.Config{Store: &store.Memory{}, Clock: clock}),
	}
	e.steps = e.command.out().NewSteps(view.StepsConfig{Flow: flow, Silent: true})
	stored, err := e.system.Client.PutFlow(t.Context(), "f", []byte(finishedFlow))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.system.Start(t.Context(), engine.StartRequest{Flow: stored, Execution: "e", Input: given}); err != nil {
		t.Fatal(err)
	}
	if err := e.system.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return e
}

// The end of a run names the step that failed.
func TestEndOfARunNamesTheFailedStep(t *testing.T) {
	t.Parallel()
	for input, end := range map[string]string{
		`"bad":2`:              "",
		`"bad":2,"fails":true`: "failed with Unlucky in step Worse: why",
		`"bad":1`:              "failed with Unlucky in step Bad[100]: why",
	} {
		t.Run(input, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			e := finished(t, input, &out)
			if err := e.finish(t.Context()); end == "" && err != nil || end != "" && !strings.Contains(err.Error(), end) {
				t.Errorf("the end is %v", err)
			}
			if got := out.String(); (got == "{}\n") != (end == "") {
				t.Errorf("the output is %q", got)
			}
		})
	}
}

// Events are read lane by lane while lanes run; the report has them in the order of their ids.
func TestReportHasEventsInOrder(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	e := finished(t, `"bad":2`, &out)
	e.options.json = true
	state, events, err := e.read(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(events[2:], func(a, b machine.Event) int { return a.At.Compare(b.At) - (a.ID%3 - b.ID%3) })
	if err := e.report(t.Context(), state, events); err != nil {
		t.Fatal(err)
	}
	var report runReport
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		t.Fatal(err)
	}
	if !slices.IsSortedFunc(report.History, func(a, b eventReport) int { return a.ID - b.ID }) || len(report.History) != len(events) {
		t.Errorf("%d events of %d, not in order", len(report.History), len(events))
	}
}
