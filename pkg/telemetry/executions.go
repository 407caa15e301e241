package telemetry

import (
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// Executions counts executions, and the retries of their tasks, after their commits. It implements
// [engine.Observer].
type Executions struct{ Sink Sink }

// ends has the metrics of final statuses.
var ends = map[machine.Status]*Metric{
	machine.StatusSucceeded: ExecutionsSucceeded, machine.StatusFailed: ExecutionsFailed,
	machine.StatusStopped: ExecutionsStopped, machine.StatusTimedOut: ExecutionsTimedOut,
}

// Calling implements [engine.Observer].
func (Executions) Calling(machine.Call, time.Time) {}

// Committed implements [engine.Observer].
func (e Executions) Committed(_ engine.ID, state machine.State, events []machine.Event) {
	isExecution := state.Lane == nil
	if isExecution && len(events) > 0 && events[0].Type == machine.ExecutionStarted {
		e.Sink.Add(ExecutionsStarted, "", 1)
	}
	if isExecution && state.Status.Final() {
		e.Sink.Add(ends[state.Status], "", 1)
	}
	retries := 0 // failures of attempts after which the step did not fail
	for i, event := range events {
		failed := event.Type == machine.TaskFailed || event.Type == machine.TaskTimedOut || event.Type == machine.TaskSubmitFailed
		failsStep := func(later machine.Event) bool { return later.Type == machine.StepFailed && later.Step == event.Step }
		if failed && !state.Status.Final() && !slices.ContainsFunc(events[i+1:], failsStep) {
			retries++
		}
	}
	if retries > 0 {
		e.Sink.Add(Retries, "", float64(retries))
	}
}

// CountWake records the age of a wake when it was received for the first time, and the conflicts of
// its application. A later delivery may be late on purpose.
func CountWake(sink Sink, wake engine.Wake, received time.Time, d engine.Disposition) {
	if wake.Receives <= 1 {
		since := wake.Due
		if wake.Sent.After(since) {
			since = wake.Sent
		}
		sink.Add(WakeAge, "", float64(max(received.Sub(since), 0).Milliseconds()))
	}
	if d.Conflicts > 0 {
		sink.Add(Conflicts, "", float64(d.Conflicts))
	}
}
