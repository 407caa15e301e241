package sfn

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// stateNames maps the types of steps to state types in the names of events.
var stateNames = map[string]string{
	"task": "Task", "pass": "Pass", "wait": "Wait", "choice": "Choice", "parallel": "Parallel", "foreach": "Map", "succeed": "Succeed", "fail": "Fail",
}

// history collects the events of an execution that the API has a type for.
type history struct {
	flow      *flow.Flow
	region    string
	withoutIO bool
	largest   int // value
	events    []object
	ids       []int
	sizes     []int
	size      int // of all events
	// known has the last event and the forks around it, the outermost first.
	known []known
	// from is where a page goes on that begins with the last event.
	from checkpoint
	machineHistory
}

// newHistory returns a history without events.
func newHistory(def *flow.Flow, region string, withoutIO bool, largest int) history {
	h := history{flow: def, region: region, withoutIO: withoutIO, largest: largest, events: []object{}}
	if slices.ContainsFunc(def.All, (*flow.Step).IsFork) {
		h.room = idsOfEvent
	}
	if slices.ContainsFunc(def.All, func(s *flow.Step) bool { return s.MapRun() != nil }) {
		h.room = idsOfEventWithRuns
	}
	return h
}

// Render returns events of an execution as GetExecutionHistory does.
func Render(def *flow.Flow, region string, events []machine.Event) ([]json.RawMessage, error) {
	h := newHistory(def, region, false, math.MaxInt)
	h.runs = "arn:aws:states:" + region + "::mapRun:" + def.Name
	var rendered []json.RawMessage
	for _, e := range events {
		h.add(e)
	}
	for _, shown := range h.events {
		text, err := json.Marshal(shown)
		if err != nil {
			return nil, err
		}
		rendered = append(rendered, text)
	}
	return rendered, nil
}

// add adds an event, if the API has a type for it, and the events that it has beside it. It omits
// the events of children of a Map in mode DISTRIBUTED.
func (h *history) add(e machine.Event) {
	if e.IsInRun(h.flow) {
		return
	}
	if h.entered == nil {
		h.from = checkpoint{e.ID, h.last, slices.Clone(h.known)}
	}
	h.known = append(h.known, known{id: e.ID, end: max(e.ID, e.ID+e.Lanes*e.Block)})
	if h.flow.IsMachine {
		h.addOfMachine(e)
	} else {
		id := e.ID
		e.By = h.of(e.By).shown
		if !h.addOne(e) {
			id = e.By
		}
		h.of(e.ID).shown = id
	}
	h.known = slices.DeleteFunc(h.known, func(k known) bool { return k.end < e.ID })
}

// of returns an event that another one may follow. Another attempt of a fork follows its lanes.
func (h *history) of(id int) *known {
	i := slices.IndexFunc(h.known, func(k known) bool { return k.id == id || k.end == id })
	if i < 0 { // the first event follows none
		return &known{}
	}
	return &h.known[i]
}

// addOne adds an event with its ids, if the API has a type for it.
func (h *history) addOne(e machine.Event) bool {
	if h.withoutIO {
		e.Input, e.Output = value.Value{}, value.Value{}
	}
	shown := object{"id": e.ID, "previousEventId": e.By, "timestamp": seconds(e.At)}
	if !h.describe(shown, e) {
		return false
	}
	h.append(shown, e.ID)
	return true
}

func (h *history) append(shown object, id int) {
	encoded, _ := json.Marshal(shown)                                                             // values of the API can be encoded
	size := len(encoded) + bytes.Count(encoded, []byte(`"`)) + bytes.Count(encoded, []byte(`\\`)) // with the escapes of its texts
	h.events, h.ids, h.sizes = append(h.events, shown), append(h.ids, id), append(h.sizes, size)
	h.size += size
	h.last = id
}

// eventTypes maps events to the API's event types. The types of state events are prefixed with the
// state type.
var eventTypes = map[machine.EventType]string{
	machine.ExecutionStarted: "ExecutionStarted", machine.ExecutionSucceeded: "ExecutionSucceeded", machine.ExecutionFailed: "ExecutionFailed",
	machine.ExecutionStopped: "ExecutionAborted", machine.ExecutionTimedOut: "ExecutionTimedOut",
	machine.StepEntered: "StateEntered", machine.StepExited: "StateExited",
	machine.IterationEntered: "MapIterationStarted", machine.IterationExited: "MapIterationSucceeded",
	machine.TaskScheduled: "TaskScheduled", machine.TaskStarted: "TaskStarted", machine.TaskSubmitted: "TaskSubmitted",
	machine.TaskSubmitFailed: "TaskSubmitFailed", machine.TaskSucceeded: "TaskSucceeded", machine.TaskFailed: "TaskFailed",
	machine.TaskTimedOut: "TaskTimedOut",
}

// describe adds the type and the details of an event. It reports false for an event that the API
// has no type for.
func (h *history) describe(shown object, e machine.Event) bool {
	details := object{}
	addValue(details, "input", machine.Within(e.Input, h.largest))
	addValue(details, "output", machine.Within(e.Output, h.largest))
	if h.flow.IsMachine {
		addFailure(details, e)
	} else if e.Error != "" || e.Cause != "" {
		details["error"], details["cause"] = e.Error, token.MaskAll(e.Cause)
	}
	name, kind := eventTypes[e.Type], ""
	if e.Step >= 0 && e.Step < len(h.flow.All) {
		step := h.flow.All[e.Step]
		name = h.describeStep(details, e, step)
		if strings.HasPrefix(name, "State") {
			kind = stateNames[step.Kind.Type()]
		}
	}
	if name == "" {
		return false
	}
	for _, name := range []string{"input", "output"} {
		if details[name] != nil {
			details[name+"Details"] = object{"truncated": false}
		}
	}
	shown["type"], shown[strings.ToLower(name[:1])+name[1:]+"EventDetails"] = kind+name, details
	return true
}

// describeStep adds the details of an event of a step, and returns its type, "" for none.
func (h *history) describeStep(details object, e machine.Event, step *flow.Step) string {
	name := eventTypes[e.Type]
	if h.flow.IsMachine {
		if name, ok := h.describeState(details, e, step); ok {
			return name
		}
	}
	switch {
	case e.Type == machine.StepFailed && (step.Kind.Type() == "task" || step.Kind.Type() == "fail"):
		return "" // a task's failure has an event of its own; a fail step's failure is in the event of the execution
	case e.Type == machine.StepFailed:
		if details["state"] = step.Name; step.IsFork() {
			return "StateFailed"
		}
		return "EvaluationFailed" // of a mapping or a condition
	case strings.HasPrefix(name, "Task"):
		if task, ok := step.Kind.(*flow.Task); ok {
			details["resourceType"], details["resource"] = "function", task.Resource.Text
			if task.Resource.IsAction() {
				details["resourceType"] = "action"
			}
		}
		if e.Type == machine.TaskScheduled {
			details["region"], details["parameters"] = h.region, details["input"]
			delete(details, "input")
		}
	case strings.HasPrefix(name, "MapIteration"):
		if details["index"] = e.Index; e.Error != "" {
			delete(details, "error")
			delete(details, "cause")
			name = "MapIterationFailed"
		}
		fallthrough
	default:
		details["name"] = step.Name
	}
	return name
}
