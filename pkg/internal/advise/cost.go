package advise

import (
	"time"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// PricesOf names the region and the month of the list prices of this package.
const PricesOf = "us-east-1, 2026-01"

// The list prices, in dollars a million requests.
const (
	readUnit     = 0.125 // of DynamoDB
	writeUnit    = 0.625
	queueRequest = 0.40
	lambdaRun    = 0.20
	lambdaGB     = 13.3334 // a GB for a second, arm64
	httpRequest  = 1.00    // of an HTTP API
	transition   = 25.00   // of Step Functions Standard
)

const (
	// runSeconds is how long a run of the interpreter and of an API takes, by assumption.
	runSeconds = 0.03
	// interpreterGB and apiGB are the memory of the functions in template.yaml.
	interpreterGB, apiGB = 0.5, 0.25

	million = 1e6
)

// Work is the work of AWS for an execution, apart from storage and the runs of the user's own
// functions.
type Work struct {
	Reads, Writes float64 // units of DynamoDB, writes with those of the index
	Messages      int     // of SQS
	Requests      int     // to the APIs: its start, and callbacks
}

// Dollars returns the price of a million times the work if Lambda receives so many wakes together:
// 10 when many executions run, 1 when this one runs alone.
func (w Work) Dollars(batch float64) float64 {
	message := queueRequest + (2*queueRequest+lambdaRun+runSeconds*interpreterGB*lambdaGB)/batch // sent alone, received and deleted together
	request := httpRequest + lambdaRun + runSeconds*apiGB*lambdaGB
	return w.Reads*readUnit + w.Writes*writeUnit + float64(w.Messages)*message + float64(w.Requests)*request
}

// Cost is the work and cost of an execution until now, estimated from its history.
type Cost struct {
	Work

	// Least and Most are the dollars of this one execution: beside many others, and alone.
	Least, Most float64
	// Waited is how long its steps waited for callbacks, jobs and conditions.
	Waited time.Duration
	// Loop is the same execution on Step Functions, with a polling loop in place of these waits.
	Loop LoopCost
}

// LoopCost is the cost of an execution of Step Functions Standard.
type LoopCost struct {
	Interval    time.Duration // between two polls
	Polls       int
	Transitions int
	Dollars     float64
}

// pollsEvery is the interval of the polling loop that [CostOf] compares with.
const pollsEvery = time.Minute

// CostOf estimates the cost of an execution from its history, without its sub-flows. Values over 1
// KB take more, also requests to S3, and so do calls over ten seconds and outputs of lanes that
// mappings use.
func CostOf(flow *flow.Flow, events []machine.Event) Cost {
	e := estimate{flow: flow, since: map[int]time.Time{}}
	e.Loop.Interval = pollsEvery
	for _, event := range events {
		e.add(event)
	}
	e.Least, e.Most = e.Dollars(10)/million, e.Dollars(1)/million //nolint:mnd // wakes at once
	e.Loop.Dollars = float64(e.Loop.Transitions) * transition / million
	return e.Cost
}

// estimate adds up the events of an execution.
type estimate struct {
	Cost

	flow *flow.Flow
	// isResultOpen reports whether a result is not committed, which a further call needs.
	isResultOpen bool
	since        map[int]time.Time // the instant when a step began its task
}

// suspend adds a commit with its timer, and the wake that follows.
func (e *estimate) suspend() {
	e.Writes, e.Messages, e.Reads = e.Writes+1, e.Messages+1, e.Reads+1
	e.isResultOpen = false
}

// addItem adds the lane that a branch or an iteration began, and with the second lane the fork: its
// commit, and the wake after the last lane. Later items run in the lanes of earlier ones, where the
// results of up to ten share a commit.
func (e *estimate) addItem(event machine.Event) {
	e.isResultOpen = false
	most := machine.MaxLanes
	if foreach, ok := e.flow.All[event.Step].Kind.(*flow.Foreach); ok {
		most = foreach.MaxConcurrency
	}
	lanes := 1
	switch {
	case event.Index == 0 || event.Index >= most:
		return
	case event.Index == 1:
		lanes = 2
		e.suspend()
		e.Reads++
	}
	e.Reads, e.Writes, e.Messages = e.Reads+2*float64(lanes), e.Writes+2*float64(lanes), e.Messages+lanes // its start; its end, and the join
}

func (e *estimate) add(event machine.Event) {
	switch event.Type {
	case machine.ExecutionStarted:
		e.Reads, e.Writes, e.Messages, e.Requests = 1, 2, 1, 1 // the item has an entry in the index
	case machine.ExecutionSucceeded, machine.ExecutionFailed, machine.ExecutionStopped, machine.ExecutionTimedOut:
		e.Writes += 2
	case machine.StepEntered:
		e.Loop.Transitions++
	case machine.StepStarted:
		if !event.Until.IsZero() {
			e.suspend()
		}
	case machine.TaskStarted:
		if e.isResultOpen {
			e.Writes++
		}
		e.isResultOpen, e.since[event.Step] = true, event.At
	case machine.TaskSubmitted:
		e.Writes += 2
		if e.isJob(event) {
			e.Writes, e.Messages, e.Reads = e.Writes+1, e.Messages+2, e.Reads+2 // its waiter; the poll that comes after the end, and its wake
		}
		task, ok := e.task(event)
		if ok && task.Resource.Flow != "" {
			e.Reads += 2 // the definition of the sub-flow; and the sub-flow reads the token that it closes
		}
		if ok && task.Timeout > 0 {
			e.Messages, e.Reads = e.Messages+1, e.Reads+1 // the timer of the deadline, which is discarded
		}
		e.isResultOpen = false
	case machine.TaskSucceeded, machine.TaskFailed, machine.TaskTimedOut:
		e.end(event)
	case machine.BranchEntered, machine.IterationEntered:
		e.addItem(event)
	case machine.StepSucceeded, machine.StepFailed, machine.StepExited, machine.TaskScheduled, machine.TaskSubmitFailed,
		machine.BranchExited, machine.IterationExited:
	}
}

// end adds the work for the end of an attempt.
func (e *estimate) end(event machine.Event) {
	switch {
	case event.Polls > 0:
		for range event.Polls - 1 {
			e.suspend()
		}
		e.isResultOpen = true
	case event.ClosedBy == "":
		return
	default:
		e.Reads, e.Writes, e.Messages = e.Reads+2, e.Writes+1, e.Messages+1 // close, the wake
		if e.isJob(event) {
			e.Writes++ // the event
		} else if event.ClosedBy == token.ClosedByCallback || event.ClosedBy == token.ClosedByHand {
			e.Requests++
		}
		e.isResultOpen = true
	}
	// The wait of a polling loop has a wait, a call and a choice for each poll.
	const transitions = 3
	waited := event.At.Sub(e.since[event.Step])
	polls := max(1, int((waited+pollsEvery-1)/pollsEvery))
	e.Waited += waited
	e.Loop.Polls += polls
	e.Loop.Transitions += transitions * polls
}

func (e *estimate) task(event machine.Event) (*flow.Task, bool) {
	if event.Step < 0 || event.Step >= len(e.flow.All) {
		return nil, false
	}
	task, ok := e.flow.All[event.Step].Kind.(*flow.Task)
	return task, ok
}

func (e *estimate) isJob(event machine.Event) bool {
	task, ok := e.task(event)
	return ok && task.Pattern == flow.PatternSync && task.Resource.IsAction()
}
