package sfn

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/waitless/waitless/pkg/engine"
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
	// skipped are the events without a type, and what came before them.
	skipped map[int]int
	machineHistory
}

// newHistory returns a history without events.
func newHistory(def *flow.Flow, region string, withoutIO bool, largest int) history {
	h := history{flow: def, region: region, withoutIO: withoutIO, largest: largest, events: []object{}, skipped: map[int]int{}}
	h.forks = slices.ContainsFunc(def.All, (*flow.Step).IsFork)
	return h
}

// Render returns events of an execution as GetExecutionHistory does.
func Render(def *flow.Flow, region string, events []machine.Event) ([]json.RawMessage, error) {
	h := newHistory(def, region, false, math.MaxInt)
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

// add adds an event, and reports whether the API has a type for it.
func (h *history) add(e machine.Event) bool {
	if h.flow.IsMachine {
		return h.addOfMachine(e)
	}
	if before, ok := h.skipped[e.By]; ok {
		e.By = before
	}
	if !h.addOne(e) {
		h.skipped[e.ID] = e.By
		return false
	}
	return true
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
	size := shown.size()
	h.events, h.ids, h.sizes = append(h.events, shown), append(h.ids, id), append(h.sizes, size)
	h.size += size
}

// drop forgets the events before a page.
func (h *history) drop(before int) {
	n := 0
	for n < len(h.ids) && h.ids[n] < before {
		h.size -= h.sizes[n]
		n++
	}
	h.events, h.ids, h.sizes = h.events[n:], h.ids[n:], h.sizes[n:]
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
		details["index"] = e.Index
		fallthrough
	default:
		details["name"] = step.Name
	}
	return name
}

// executionHistory returns a page of the history. The token of a page is the id that its first
// event has at least, in reverse order at most.
func (h handler) executionHistory(ctx context.Context, r request) (object, error) {
	limit, err := r.limit()
	if err != nil {
		return nil, err
	}
	bound, err := strconv.Atoi(r.NextToken)
	if r.NextToken != "" && (err != nil || bound < 1) {
		return nil, errPageToken
	}
	id, state, err := h.find(ctx, r)
	if err != nil {
		return nil, err
	}
	flow, err := h.Flows.Flow(ctx, state.Flow)
	if err != nil {
		return nil, err
	}
	collected := newHistory(flow, h.Region, r.IncludeExecutionData != nil && !*r.IncludeExecutionData, h.largestValue())
	if r.ReverseOrder {
		return h.lastEvents(ctx, id, &collected, bound, limit)
	}
	from := max(bound, 1)
	if flow.IsMachine { // its ids count from the beginning
		from = 1
	}
	page, err := h.Executions.HistoryFrom(ctx, id, from, func(e machine.Event) bool {
		if !collected.add(e) {
			return false
		}
		collected.drop(bound)
		return len(collected.ids) >= limit || collected.size >= h.fullPage()
	})
	response := object{"events": collected.events}
	if page.More {
		response["nextToken"] = strconv.Itoa(collected.ids[len(collected.ids)-1] + 1)
	}
	return response, err
}

// lastEvents returns events from an id on backwards, 0 for the last one. It reads the whole
// history.
func (h handler) lastEvents(ctx context.Context, id engine.ID, all *history, most, limit int) (object, error) {
	if most == 0 {
		most = math.MaxInt
	}
	_, err := h.Executions.HistoryFrom(ctx, id, 1, func(e machine.Event) bool {
		all.add(e)
		return false
	})
	end, found := slices.BinarySearch(all.ids, most)
	if found {
		end++
	}
	begin := end
	for size := 0; begin > 0 && end-begin < limit && size < h.fullPage(); begin-- {
		size += all.sizes[begin-1]
	}
	events := slices.Clone(all.events[begin:end])
	slices.Reverse(events)
	response := object{"events": events}
	if begin > 0 {
		response["nextToken"] = strconv.Itoa(all.ids[begin-1])
	}
	return response, err
}
