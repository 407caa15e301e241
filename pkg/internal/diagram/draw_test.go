package diagram_test

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/internal/diagram"
	"github.com/waitless/waitless/pkg/machine"
)

var update = flag.Bool("update", false, "write the pictures in testdata")

// drawn has every kind of step, both directions of a goto, and texts that each form has to escape.
const drawn = `version: v1
type: flow
steps:
- {type: pass, name: Begin}
- type: parallel
  name: Both
  branches:
  - steps:
    - type: foreach
      name: Rows
      iterationMapping: {collection: $.rows, item: row}
      steps:
      - {type: task, name: Call, resourceArn: "acs:fc:::services/s/functions/f", catch: [{errors: [FnF.TaskTimeout], goto: Note}]}
      - {type: wait, name: Rest, duration: 90}
      - {type: pass, name: Note}
  - steps:
    - {type: task, name: Ask, resourceArn: "acs:fc:::services/s/functions/mail", pattern: waitForCallback, timeoutSeconds: 60}
- type: choice
  name: Again
  choices:
  - {condition: '$.text == "<a & \"b\">"', goto: Begin}
  - {condition: $.count > 3, steps: [{type: fail, name: TooMany, error: Many}]}
  default: {goto: Done}
- {type: pass, name: Skipped}
- {type: succeed, name: Done}
`

func TestDrawings(t *testing.T) {
	t.Parallel()
	flow := parsed(t, drawn)
	states := diagram.States(flow, history(flow, "StepEntered Begin, StepExited Begin, StepEntered Both, StepEntered Rows, "+
		"StepEntered Call, StepEntered Call, StepExited Call, StepEntered Ask, TaskSubmitted Ask"))
	plain, run := diagram.Of(flow, "drawn", nil), diagram.Of(flow, "drawn/1", states)
	for name, text := range map[string]string{
		"flow.txt": plain.Terminal(nil), "execution.txt": run.Terminal(nil), "execution.svg": run.File(), "flow.mmd": plain.Mermaid(), "execution.mmd": run.Mermaid(),
	} {
		file := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(file); err != nil || string(want) != text {
			t.Errorf("%s: %v, got:\n%s\nwant (go test -update writes it):\n%s", file, err, text, want)
		}
	}
}

// history reads events, each a type and a step.
func history(flow *flow.Flow, text string) (events []machine.Event) {
	for _, event := range strings.Split(text, ", ") {
		of, name, _ := strings.Cut(event, " ")
		e := machine.Event{Step: machine.NoStep}
		of, failed := strings.CutSuffix(of, "!")
		if failed || strings.HasSuffix(of, "Failed") {
			e.Error = "FnF.Example"
		}
		for e.Type = 1; e.Type.String() != of; e.Type++ {
		}
		for _, step := range flow.All {
			if step.Name == name {
				e.Step = step.Index
			}
		}
		events = append(events, e)
	}
	return events
}

// TestPicturesAreXML reads the pictures, whatever the texts in the flow are.
func TestPicturesAreXML(t *testing.T) {
	t.Parallel()
	decoder := xml.NewDecoder(strings.NewReader(diagram.Of(parsed(t, strings.Replace(drawn, "<a", `\u0001\u001b<a`, 1)), `</title>&"`, nil).File()))
	texts := 0
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "text" {
			texts++
		}
	}
	if texts < 20 {
		t.Errorf("%d texts", texts)
	}
}

func TestStates(t *testing.T) {
	t.Parallel()
	flow := parsed(t, drawn)
	for _, row := range []struct{ step, history, want string }{
		{"Rest", "StepEntered Begin", "pending "},
		{"Call", "StepEntered Call, TaskScheduled Call", "running "},
		{"Rest", "StepEntered Rest, StepStarted Rest", "waiting "},
		{"Ask", "StepEntered Ask, TaskSubmitted Ask", "waiting "},
		{"Ask", "StepEntered Ask, TaskSubmitted Ask, TaskScheduled Ask", "running "}, // it tries again
		{"Both", "StepEntered Both, BranchExited Both", "waiting 1 ended"},
		{"Rows", "StepEntered Rows, IterationExited Rows, IterationExited! Rows", "waiting 2 ended, 1 iteration failed"},
		{"Rows", "StepEntered Rows, IterationExited! Rows, IterationExited Rows, StepExited Rows", "succeeded 1 iteration failed"},
		{"Rest", "StepEntered Rest, StepExited Rest", "succeeded "},
		{"Call", "StepEntered Call, StepFailed Call", "failed FnF.Example"},
		{"Call", "StepEntered Call, StepEntered Call, StepExited Call, StepEntered Call, StepFailed Call", "running 1 open, 1 done, 1 failed"},
		{"Call", "StepEntered Call, ExecutionStopped", "failed ended with the execution"},
	} {
		index := history(flow, "StepEntered "+row.step)[0].Step
		state := diagram.States(flow, history(flow, row.history))[index]
		if got := string(state.Status) + " " + state.Note; got != row.want {
			t.Errorf("%s after %s: got %s, want %s", row.step, row.history, got, row.want)
		}
	}
}

// A redriven execution has the results of the steps before its first one, as the earlier execution
// entered that last, and of the choices around it.
func TestStepsOfAnEarlierExecution(t *testing.T) {
	t.Parallel()
	flow := parsed(t, drawn)
	earlier := history(flow, "StepEntered Begin, StepExited Begin, StepEntered Both, StepEntered Call, StepFailed Call, StepEntered Ask, "+
		"StepExited Ask, StepExited Both, StepEntered Again, StepEntered TooMany, StepFailed TooMany")
	for first, want := range map[string]string{"TooMany": "Begin Both Ask Again", "Again": "Begin Both Ask", "Both": "Begin", "": "Begin Both Ask"} {
		states := diagram.States(flow, history(flow, "StepEntered Done"))
		diagram.AddBefore(states, flow, "one", earlier, first)
		var before []string
		for i, step := range flow.All {
			if states[i] == (diagram.State{Status: diagram.Before, Note: "before, in one"}) {
				before = append(before, step.Name)
			}
		}
		if got := strings.Join(before, " "); got != want {
			t.Errorf("from %q: %s, want %s", first, got, want)
		}
		p := diagram.Of(flow, "two", states)
		for _, picture := range []string{p.Terminal(nil), p.Mermaid(), p.SVG()} {
			if !strings.Contains(picture, "« Begin") || !strings.Contains(picture, "before, in one") {
				t.Errorf("the picture has no mark:\n%s", picture)
			}
		}
	}
}
