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
	if n := retries(state, events); n > 0 {
		e.Sink.Add(Retries, "", float64(n))
	}
}

// retries counts the failures of attempts after which the step did not fail.
func retries(state machine.State, events []machine.Event) (n int) {
	for i, event := range events {
		failed := event.Type == machine.TaskFailed || event.Type == machine.TaskTimedOut || event.Type == machine.TaskSubmitFailed
		if failed && !state.Status.Final() && !stepFails(events[i+1:], event.Step) {
			n++
		}
	}
	return n
}

func stepFails(after []machine.Event, step int) bool {
	return slices.ContainsFunc(after, func(e machine.Event) bool { return e.Type == machine.StepFailed && e.Step == step })
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
