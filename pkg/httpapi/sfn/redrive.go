package sfn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// lastRedrive returns the last of the executions that RedriveExecution started from an execution,
// one after the other, and their number.
func (h handler) lastRedrive(ctx context.Context, state machine.State) (last machine.State, count int, err error) {
	for last = state; ; count++ {
		next, err := h.Executions.Describe(ctx, engine.NewID(last.Flow.Name, last.RedriveName()))
		switch {
		case errors.Is(err, engine.ErrNotFound), err == nil && (next.Redriven == nil || next.Redriven.From != last.Execution):
			return last, count, nil
		case err != nil:
			return last, count, err
		}
		last = next
	}
}

// redriveExecution starts an execution that goes on where another one failed, or where its last
// redrive failed. If a redrive runs, the request is a repeated one, and that redrive is the
// response.
func (h handler) redriveExecution(ctx context.Context, r request) (object, error) {
	_, state, err := h.find(ctx, r)
	if err != nil {
		return nil, err
	}
	last, count, err := h.lastRedrive(ctx, state)
	if err != nil {
		return nil, err
	}
	if count == 0 || last.Status.Final() {
		if last, err = h.startRedrive(ctx, last); err != nil {
			return nil, err
		}
	}
	return object{"redriveDate": seconds(last.Started)}, nil
}

func (h handler) startRedrive(ctx context.Context, ended machine.State) (machine.State, error) {
	start, err := h.Executions.Redrive(ctx, ended.ID(), engine.RedriveRequest{})
	if code := engine.CodeOf(err); code == engine.CodeConflict || code == engine.CodeInvalid {
		err = invalid("ExecutionNotRedrivable", err.Error())
	}
	if err != nil {
		return machine.State{}, err
	}
	result, err := h.Executions.Start(ctx, start)
	if err == nil && result == engine.StartedDifferent {
		err = invalid("ExecutionNotRedrivable", fmt.Sprintf("another execution has the name of the redrive: '%s'", start.Execution))
	}
	if err != nil {
		return machine.State{}, err
	}
	return h.Executions.Describe(ctx, engine.NewID(start.Flow.Name, start.Execution))
}

// addRedrive adds whether an execution can be redriven, and the name of its last redrive.
func (h handler) addRedrive(ctx context.Context, shown object, state machine.State) error {
	last, count, reason := state, 0, "Execution is "+statuses[state.Status]+" and cannot be redriven"
	if state.Status.Final() && state.Status != machine.StatusSucceeded {
		var err error
		if last, count, err = h.lastRedrive(ctx, state); err != nil {
			return err
		}
		def, err := h.Flows.Flow(ctx, last.Flow)
		if err != nil {
			return err
		}
		failsAgain := slices.ContainsFunc(def.All, func(s *flow.Step) bool {
			return s.Name == last.FailedStep && s.Kind.Type() == "fail" && len(machine.ForksAround(s)) == 0
		})
		switch {
		case failsAgain:
			reason = "Execution failed in " + last.FailedStep + ", which fails again"
		case last.Status.Final() && last.Status != machine.StatusSucceeded:
			reason = ""
		}
	}
	shown["redriveCount"], shown["redriveStatus"] = count, "REDRIVABLE"
	if reason != "" {
		shown["redriveStatus"], shown["redriveStatusReason"] = "NOT_REDRIVABLE", reason
	}
	if count > 0 {
		shown["redriveDate"] = seconds(last.Started)
		shown["redriveStatusReason"] = "Execution goes on as " + h.executionARN(last) + ", which is " + statuses[last.Status]
	}
	return nil
}

const (
	// syncLimit is the longest time of an execution of StartSyncExecution: the function that waits
	// for it costs as long as it waits, and API Gateway gives up after 30 s.
	syncLimit = 18 * time.Second
	// stopPatience is how long the response waits for the end of an execution that was stopped.
	stopPatience = 2 * time.Second
	// firstPause and longestPause bound the intervals at which a state is read without Await.
	firstPause, longestPause = 50 * time.Millisecond, time.Second
)

// startSync starts an execution, waits for its end and returns it. An execution that lasts longer
// than the limit is stopped.
func (h handler) startSync(ctx context.Context, r request) (object, error) {
	if h.MayWait != nil && !h.MayWait(ctx) {
		return nil, invalid("ThrottlingException", "too many requests wait; try again later")
	}
	started, err := h.start(ctx, r)
	if err != nil {
		return nil, err
	}
	state, err := h.awaitEnd(ctx, started.ID(), syncLimit)
	if err == nil && !state.Status.Final() {
		cause := fmt.Sprintf("the execution did not end within %s and was stopped; use StartExecution", syncLimit)
		if err := h.Executions.Stop(ctx, started.ID(), "States.Timeout", cause); err != nil && engine.CodeOf(err) != engine.CodeConflict {
			return nil, err
		}
		if state, err = h.awaitEnd(ctx, started.ID(), stopPatience); !state.Status.Final() {
			state.Status, state.Error, state.Cause = machine.StatusTimedOut, "States.Timeout", cause
		}
	}
	if err != nil {
		return nil, err
	}
	shown := h.execution(state, true)
	if shown["stopDate"] = seconds(state.At); state.Status == machine.StatusStopped {
		shown["status"] = statuses[machine.StatusTimedOut]
	}
	return shown, nil
}

// awaitEnd returns the state of an execution after its end, or after that time.
func (h handler) awaitEnd(ctx context.Context, id engine.ID, most time.Duration) (machine.State, error) {
	waiting, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	if h.Await != nil {
		return h.Await(waiting, id)
	}
	return engine.AwaitEnd(waiting, firstPause, longestPause, func(ctx context.Context) (machine.State, error) { return h.Executions.Describe(ctx, id) })
}

// execution returns an execution, in which every token is masked.
func (h handler) execution(state machine.State, included bool) object {
	shown := h.metadata(state)
	shown["inputDetails"] = object{"included": included}
	if state.Status.Final() {
		shown["outputDetails"] = object{"included": included}
	}
	if state.Error != "" || state.Cause != "" {
		shown["error"], shown["cause"] = state.Error, token.MaskAll(state.Cause)
	}
	if state.Error == errorUnnamed {
		delete(shown, "error")
	}
	if included {
		addValue(shown, "input", machine.Within(state.Input, h.largestValue()))
		addValue(shown, "output", machine.Within(state.Output, h.largestValue()))
	}
	return shown
}
