package engine

import (
	"context"
	"slices"

	"github.com/waitless/waitless/pkg/machine"
)

// Recover sends the wakes without which an execution would not go on, when all
// wakes of it and all tasks are lost, as those that a process kept in its
// memory. Latest is the latest item of its log, state the state in it. Of an
// execution that has ended nothing is sent.
func (e *Engine) Recover(ctx context.Context, latest Item, state machine.State) error {
	if state.Status.Final() {
		return nil
	}
	causes, err := e.lostCauses(ctx, latest.Execution, state)
	if err != nil {
		return &Error{CodeOf(err), "recover execution " + latest.Execution.String(), err}
	}
	now := e.Now()
	for _, cause := range slices.Compact(causes) {
		if err := e.Wakes.Send(ctx, Wake{Execution: latest.Execution, Cause: cause, Due: now, Sent: now}); err != nil {
			return err
		}
	}
	if state.Timer.Tag == "" {
		return nil
	}
	return e.Wakes.Send(ctx, Wake{Execution: latest.Execution, Cause: state.Timer.Tag, Due: state.Timer.Due, Sent: now, Seq: latest.Seq})
}

// lostCauses are the causes, timers apart, of the wakes that a state waits for.
// A request to stop is worth a wake only when it is there already: one that
// comes later has a wake of its own.
func (e *Engine) lostCauses(ctx context.Context, id ID, state machine.State) ([]string, error) {
	var causes []string
	if state.Status == machine.StatusStarting {
		causes = append(causes, machine.CauseStart)
	}
	stop, err := e.Outcomes.Record(ctx, stopHandle(id, state.Expires))
	if err != nil {
		return nil, err
	}
	if !stop.Open() {
		causes = append(causes, machine.CauseStop)
	}
	if w := state.Waiting; w != nil {
		// By rule 7, which looks at the token, and queues again what was lost
		// with the task queue. An ending waits for a token, too. What only the timer
		// ends needs nothing else.
		if _, unresolved := machine.Unresolved(state, w.By); unresolved {
			causes = append(causes, w.By)
		}
	}
	return causes, nil
}
