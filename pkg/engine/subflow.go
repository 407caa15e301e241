package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// The failures of a sub-flow's start. The names are the vendor's.
const (
	ErrorFlowNotExists          = "fnf.FlowNotExists"
	ErrorExecutionAlreadyExists = "fnf.ExecutionAlreadyExists"
	ErrorExecutionNotExists     = "fnf.ExecutionNotExists"
)

// starter starts sub-flows.
type starter struct{ *core }

// start starts a sub-flow with the newest definition of its flow (rule 24). The same attempt may
// start it again.
func (s starter) start(ctx context.Context, call machine.Call) (token.Outcome, error) {
	start := *call.Start
	if start.Refused.Failed() {
		return start.Refused, nil
	}
	if start.Again {
		return s.childExists(ctx, call)
	}
	flow, err := s.Flows.Newest(ctx, start.Child.Flow)
	if err == nil {
		err = s.checkPaused(ctx, start.Child.Flow)
	}
	if err != nil {
		return startFailed(call, err)
	}
	due, refused, err := s.count(ctx, call)
	if err != nil || refused.Failed() {
		return refused, err
	}
	defer s.Wakes.HoldBack(start.Child.ID())()
	// Either of the two executions may expire first, so neither refers to a large value of the
	// other.
	request := StartRequest{
		Flow: flow, Execution: start.Child.Execution, Input: value.Detached(call.Input), Trace: machine.ParseTrace(call.Traceparent, call.Tracestate),
	}
	child := s.core
	if machine.IsCounted(start.Parent.Generation) {
		child = child.forDescendants(start.Parent.Root)
	}
	state, err := child.accept(ctx, request, &start.Parent, due)
	switch {
	case errors.Is(err, ErrConflict):
		s.uncount(ctx, start.Parent) // counted by the start that was first, if it is this step's
		return s.childExists(ctx, call)
	case err != nil:
		failure, err := startFailed(call, err)
		if err == nil { // so nothing was put
			s.uncount(ctx, start.Parent)
		}
		return failure, err
	}
	return startedChild(state), nil
}

// startFailed returns the outcome for an error that the flow can handle, or the error.
func startFailed(call machine.Call, err error) (token.Outcome, error) {
	child := call.Start.Child
	switch CodeOf(err) { //nolint:exhaustive // the others are not about the flow
	case CodeNotFound:
		return token.Failure(ErrorFlowNotExists, fmt.Sprintf(
			"step %s: Flow '%s' does not exist; put it with \"waitless flows put\" before the step runs, or give it to the run: --subflow %s=FILE",
			call.Step, child.Flow, child.Flow)), nil
	case CodeInvalid:
		return token.Failure(machine.ErrorSubflowArgument, fmt.Sprintf("step %s: %s", call.Step, err)), nil
	case CodePaused:
		return token.Failure(machine.ErrorFlowPaused, fmt.Sprintf("step %s: %s", call.Step, err)), nil
	}
	return token.Outcome{}, err
}

// childExists compares the existing execution with the start. If this attempt started it, it has
// perhaps ended, with a worker that died before it reported the end: the report is repeated.
func (s starter) childExists(ctx context.Context, call machine.Call) (token.Outcome, error) {
	start := call.Start
	item, err := s.Log.Latest(ctx, start.Child.ID())
	if errors.Is(err, ErrNotFound) && start.Again {
		return token.Failure(ErrorExecutionNotExists, fmt.Sprintf(
			"step %s: execution '%s' of flow '%s', for whose end the step waits, is gone from the store, and its result with it; "+
				"restore a copy of the store, or start the flow again", call.Step, start.Child.Execution, start.Child.Flow)), nil
	}
	if err != nil {
		return token.Outcome{}, err
	}
	state, err := decodeState(item)
	switch {
	case err != nil:
		return token.Outcome{}, err
	case state.Parent != nil && state.Parent.IsSameStep(start.Parent):
		if state.Status.Final() && state.Awaited() {
			err = reporter(s).reportToParent(ctx, state)
		}
		return startedChild(state), err
	case start.OnlyStarts && !state.Status.Final():
		return startedChild(state), nil
	}
	return token.Failure(ErrorExecutionAlreadyExists, fmt.Sprintf(
		"step %s: execution '%s' of flow '%s' already exists, and this attempt did not start it (%s); give each start another ExecutionName, or none",
		call.Step, start.Child.Execution, start.Child.Flow, state.Status)), nil
}

// startedChild is the response to the start of an execution, as the API gives it.
func startedChild(state machine.State) token.Outcome {
	return token.Success(value.Object(
		value.Member{Key: "FlowName", Value: value.String(state.Flow.Name)},
		value.Member{Key: "Name", Value: value.String(state.Execution)},
		value.Member{Key: "Status", Value: value.String(string(machine.StatusRunning))},
		value.Member{Key: "StartedTime", Value: value.String(state.Started.UTC().Format(machine.TimeFormat))},
	))
}

// reportToParent closes the token of the step that waits for the sub-flow. It wakes the parent also
// if the token was closed before: an earlier worker may have died between the two (rule 25).
func (c reporter) reportToParent(ctx context.Context, state machine.State) error {
	closing := token.CloseOp{Outcome: token.Success(state.Output), By: token.ClosedByChild, At: c.Now()}
	switch state.Status {
	case machine.StatusSucceeded:
		loader := c.newValueLoader()
		err := loader.fill(ctx, &closing.Outcome.Output)
		if err == nil {
			closing.Outcome.Output, err = c.keepApart(ctx, state.Parent.Handle, value.Detached(closing.Outcome.Output))
		}
		if err != nil {
			return err
		}
	case machine.StatusStopped:
		closing.Outcome = token.Failure(cmp.Or(state.Error, machine.ErrorStopped), state.Cause)
	case machine.StatusFailed, machine.StatusTimedOut, machine.StatusStarting, machine.StatusRunning:
		closing.Outcome = token.Failure(state.Error, state.Cause)
	}
	if _, err := c.TokenStore.Close(ctx, state.Parent.Handle, closing); err != nil {
		return err
	}
	return c.sendWake(ctx, state.Parent.Log, state.Parent.Handle)
}
