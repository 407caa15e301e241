package sfn

import (
	"fmt"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// machineHistory is the state of a history of a machine in the Amazon States Language. Without
// forks the ids are 1, 2, 3, ...; with forks they are derived from the ids of the engine, so that
// they are the same while lanes run.
type machineHistory struct {
	room int    // ids for each event of the engine, 0 without forks
	runs string // begins the ARNs of runs of Maps in mode DISTRIBUTED
	last int    // id
	// entered is a fork that was entered and has no event of its start yet, nil for none.
	entered *machine.Event
	// starts has the parameters of starts of executions, by step and iteration.
	starts map[string]value.Value
}

const (
	errorQuery  = "States.QueryEvaluationError" // of a state with JSONata
	errorReader = "States.ItemReaderFailed"
)

// A history with forks has room for an event before and one behind each event of the engine, and
// for two with Maps in mode DISTRIBUTED.
const (
	idsOfEvent         = 3
	idsOfEventWithRuns = 5
)

// addOfMachine adds an event and those events that only the API has.
func (h *history) addOfMachine(e machine.Event) {
	step := h.stepOf(e)
	if e.Type == machine.IterationExited && e.Error != "" { // MapIterationFailed stands behind the failure of its state
		h.of(e.ID).shown = h.of(e.By).shown
		return
	}
	if h.addBefore(e, step) {
		return
	}
	numbered := e
	numbered.ID, numbered.By = h.next(e.ID, 0), h.of(e.By).shown
	if e.Type == machine.StepEntered && e.By == 1 {
		numbered.By = 0 // the first state has no event before it
	}
	own := h.of(e.ID)
	if own.shown = numbered.By; h.addOne(numbered) {
		own.shown = numbered.ID
	}
	if name := stateName(step); e.Type == machine.StepEntered && name != "Wait" && name != "Task" {
		own.evaluated, own.evaluates = numbered.By, true
	} else if e.Type != machine.TaskFailed && e.Type != machine.StepFailed {
		own.evaluated, own.evaluates = own.shown, true
	}
	switch {
	case e.Type == machine.StepEntered && step.IsFork():
		h.entered = &e
	case e.Type == machine.StepFailed && e.Output.IsMissing():
		forks := machine.ForksAround(step)
		if n := len(forks); n > 0 && stateName(forks[n-1]) == "Map" && len(e.ForkIndexes) > 0 {
			failed, fork := e, forks[n-1]
			failed.Step = fork.Index
			h.extra(failed, "MapIterationFailed", h.of(e.ID).shown, 1, object{"name": fork.Name, "index": e.ForkIndexes[len(e.ForkIndexes)-1]})
		}
	}
}

// addBefore adds the events that the API has before an event. It reports whether the event itself
// is hidden.
func (h *history) addBefore(e machine.Event, step *flow.Step) (hidden bool) {
	if fork := h.entered; fork != nil {
		h.entered = nil
		dataFailed := e.Type == machine.StepFailed && e.By == fork.ID && e.Step == fork.Step && fork.Lanes == 0
		switch {
		case dataFailed && e.Error != errorQuery && e.Error != errorReader:
			h.of(e.ID).shown = h.of(fork.ID).shown
			return true
		case !dataFailed || e.Error == errorReader:
			h.addStart(*fork, 1)
		}
	}
	by := h.of(e.By)
	if by.evaluates && e.Type == machine.StepFailed && e.Error == errorQuery {
		h.addEvaluation(e, step, by.evaluated)
		by.shown = h.last
	}
	return step != nil && step.IsFork() && h.addOfFork(e, step, by)
}

// addOfFork adds the start of another attempt of a fork, or the end of its run and of the state. It
// reports whether the event itself is hidden.
func (h *history) addOfFork(e machine.Event, step *flow.Step, by *known) (hidden bool) {
	const beforeState, beforeEvent = -2, -1
	details, run := object{}, step.MapRun()
	addFailure(details, e)
	if e.Type == machine.StepStarted {
		h.of(e.ID).shown = h.of(e.By).shown
		if run == nil || run.Items == nil || e.Lanes == 0 { // otherwise its items were read
			h.addStart(e, 0)
		}
		return true
	}
	end := map[machine.EventType]string{machine.StepExited: "Succeeded", machine.StepFailed: "Failed"}[e.Type]
	if end == "" {
		return false
	}
	if run != nil {
		h.extra(e, "MapRun"+end, by.shown, beforeState, details)
		by.shown = h.last
	}
	switch {
	case e.Type == machine.StepExited:
		h.extra(e, "StateSucceeded", by.shown, beforeEvent, details)
	case !e.Output.IsMissing(): // was caught
		h.extra(e, "StateFailed", by.shown, beforeEvent, details)
		by.shown = h.last
	}
	return false
}

// addEvaluation adds the failed expression of a state. Its location is the field that begins the
// cause, as in "state Sum: Output/total: ".
func (h *history) addEvaluation(e machine.Event, step *flow.Step, by int) {
	details := object{"state": step.Name}
	cause, _ := strings.CutPrefix(e.Cause, "state "+step.Name+": ")
	if field, _, ok := strings.Cut(cause, ": "); ok && !strings.Contains(field, " ") {
		details["location"] = field
	}
	addFailure(details, e)
	h.extra(e, "EvaluationFailed", by, -1, details)
}

// addStart adds the start of a fork beside an event, and of its run.
func (h *history) addStart(e machine.Event, beside int) {
	step, details := h.stepOf(e), object{}
	if stateName(step) == "Map" && e.Items > 0 || step.MapRun() != nil {
		details["length"] = e.Items
	}
	h.extra(e, "StateStarted", h.of(e.ID).shown, beside, details)
	if run := step.MapRun(); run != nil {
		h.extra(e, "MapRunStarted", h.of(e.ID).shown, beside+1, object{"mapRunArn": h.runs + "/" + run.Label + ":" + machine.RunName(e.Log, e.Number)})
	}
}

// next returns the id for an event of the engine, or for an event beside it.
func (h *history) next(id, beside int) int {
	if h.room > 0 {
		return id*h.room + beside
	}
	return h.last + 1
}

// extra adds an event beside an event of the engine.
func (h *history) extra(e machine.Event, name string, by, beside int, details object) {
	if strings.HasPrefix(name, "State") {
		name = stateName(h.stepOf(e)) + name
	}
	id := h.next(e.ID, beside)
	h.append(object{
		"id": id, "previousEventId": by, "timestamp": seconds(e.At), "type": name, strings.ToLower(name[:1]) + name[1:] + "EventDetails": details,
	}, id)
	h.of(e.ID).shown = id
}

func (h *history) stepOf(e machine.Event) *flow.Step {
	if e.Step < 0 || e.Step >= len(h.flow.All) {
		return nil
	}
	return h.flow.All[e.Step]
}

func stateName(step *flow.Step) string {
	if step == nil {
		return ""
	}
	return stateNames[step.Kind.Type()]
}

// describeState adds the details of an event of a machine and returns its type. It returns false
// for an event with the same details in every language.
func (h *history) describeState(details object, e machine.Event, step *flow.Step) (name string, ok bool) {
	delete(details, "error")
	delete(details, "cause")
	name = eventTypes[e.Type]
	task, isTask := step.Kind.(*flow.Task)
	switch {
	case e.Type == machine.StepExited, e.Type == machine.StepFailed && !e.Output.IsMissing():
		delete(details, "input")
		h.describeExit(details, e, step)
		return "StateExited", true
	case e.Type == machine.StepFailed && !step.IsFork():
		return "", true // the failure is in the event of the execution
	case e.Type == machine.StepFailed:
		return "StateFailed", true
	case !strings.HasPrefix(name, "Task") || !isTask:
		return "", false
	}
	if e.Type == machine.TaskFailed && e.Error == "States.Timeout" {
		name = "TaskTimedOut"
	}
	if addFailure(details, e); name == "TaskTimedOut" {
		delete(details, "cause")
	}
	switch {
	case task.Resource.Activity:
		return describeActivity(details, e, task, name), true
	case task.Integration == "":
		return describeFunction(details, e, task, name), true
	}
	h.describeTask(details, e, task)
	return name, true
}

// errorUnnamed is the error of a failure of a machine without a name, which the API does not show.
const errorUnnamed = "States.Failed"

func addFailure(details object, e machine.Event) {
	if e.Error != "" && e.Error != errorUnnamed {
		details["error"] = e.Error
	}
	if e.Cause != "" {
		details["cause"] = token.MaskAll(e.Cause)
	}
}

func (h *history) describeExit(details object, e machine.Event, step *flow.Step) {
	details["name"] = step.Name
	if e.Local.Len() == 0 {
		return
	}
	assigned := object{}
	for _, m := range e.Local.Members() {
		assigned[m.Key] = token.MaskJSON(m.Value.JSON())
	}
	details["assignedVariables"], details["assignedVariablesDetails"] = assigned, object{"truncated": false}
}

// describeTask describes an event of a task with an integration: "lambda:invoke". The resource is
// behind the last colon of the operation.
func (h *history) describeTask(details object, e machine.Event, task *flow.Task) {
	operation, _, _ := strings.Cut(task.Integration, ".") // before ".sync:2"
	last := strings.LastIndex(operation, ":")
	details["resourceType"], details["resource"] = task.Integration[:last], task.Integration[last+1:]
	switch {
	case e.Type == machine.TaskScheduled:
		details["parameters"], details["region"] = details["input"], h.region
		delete(details, "input")
		addLimit(details, task)
		if task.Begun != nil {
			if h.starts == nil {
				h.starts = map[string]value.Value{}
			}
			h.starts[fmt.Sprint(e.Step, e.ForkIndexes)] = e.Input
		}
	case task.Begun != nil && !e.Output.Get("FlowName").IsMissing() && e.ClosedBy != token.ClosedByChild && h.starts != nil:
		addValue(details, "output", machine.Within(task.Begun(h.starts[fmt.Sprint(e.Step, e.ForkIndexes)], e.Output), h.largest))
	case e.Type == machine.TaskSucceeded && task.Integration == "lambda:invoke",
		e.Type == machine.TaskSubmitted && strings.HasPrefix(task.Integration, "lambda:invoke"):
		addValue(details, "output", machine.Within(value.Object(
			value.Member{Key: "ExecutedVersion", Value: value.String("$LATEST")}, value.Member{Key: "Payload", Value: e.Output},
			value.Member{Key: "StatusCode", Value: value.Int(200)}, //nolint:mnd // of a call that succeeded
		), h.largest))
	}
}

// describeFunction describes an event of a task with a function as its Resource.
func describeFunction(details object, e machine.Event, task *flow.Task, name string) string {
	if e.Type == machine.TaskScheduled {
		details["resource"] = task.Resource.Text
		addLimit(details, task)
	}
	return "LambdaFunction" + strings.TrimPrefix(name, "Task")
}

// describeActivity describes an event of a task that a worker asks for, which is its start.
func describeActivity(details object, e machine.Event, task *flow.Task, name string) string {
	switch e.Type { //nolint:exhaustive // others have the details of every task
	case machine.TaskStarted:
		return ""
	case machine.TaskSubmitted:
		delete(details, "output")
		if worker := e.Output.Get("workerName"); !worker.IsMissing() {
			details["workerName"] = worker.Text()
		}
		return "ActivityStarted"
	case machine.TaskSubmitFailed:
		return "ActivityScheduleFailed"
	case machine.TaskScheduled:
		details["resource"] = task.Resource.Text
		addLimit(details, task)
	}
	return "Activity" + strings.TrimPrefix(name, "Task")
}

func addLimit(details object, task *flow.Task) {
	if task.Timeout > 0 {
		details["timeoutInSeconds"] = int(task.Timeout / time.Second)
	}
	if task.Heartbeat > 0 {
		details["heartbeatInSeconds"] = int(task.Heartbeat / time.Second)
	}
}
