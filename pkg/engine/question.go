package engine

import (
	"context"
	"errors"
	"time"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// Wait is a step that waits for its callback.
type Wait struct {
	Flow, Execution string
	Step            string // with the iterations around it: "Ask[3]"
	Since           time.Time
	Deadline        time.Time // zero for none
	Question        *machine.Question
}

// WaitFor returns the step of a log that waits for the token with that handle. Ok is false if the
// log waits for something else, or does not exist.
func (c *Client) WaitFor(ctx context.Context, log ID, handle string) (w Wait, ok bool, err error) {
	state, ok, err := c.waitingFor(ctx, log, handle)
	if !ok {
		return w, false, err
	}
	waiting := state.Waiting
	flow, err := c.core.Flows.Flow(ctx, state.Flow)
	if err != nil {
		return w, false, err
	}
	step := flow.All[waiting.Attempt.Step]
	w = Wait{
		Flow: state.Flow.Name, Execution: state.Execution, Step: machine.StepIn(step.Name, machine.Iterations(step, state.ForkIndexes())),
		Since: waiting.Since, Deadline: waiting.Deadline,
	}
	w.Question, err = c.Question(ctx, flow, state)
	return w, err == nil, err
}

// waitingFor returns the state of the log. Ok is false if it does not wait for the token with that
// handle.
func (c *Client) waitingFor(ctx context.Context, log ID, handle string) (state machine.State, ok bool, err error) {
	item, err := c.core.Log.Latest(ctx, log)
	if errors.Is(err, ErrNotFound) {
		return state, false, nil
	}
	if err == nil {
		state, err = decodeState(item)
	}
	ok = err == nil && state.Waiting != nil && state.Waiting.Handle() == handle
	return state, ok, wrap("read what "+log.String()+" waits for", err)
}

// JobParams returns the params of the job that is started with the token with the given handle, for
// which the log waits. They are missing if it does not wait for that.
func (c *Client) JobParams(ctx context.Context, log ID, handle string) (params value.Value, err error) {
	state, ok, err := c.waitingFor(ctx, log, handle)
	if !ok {
		return params, err
	}
	flow, err := c.core.Flows.Flow(ctx, state.Flow)
	if err != nil {
		return params, err
	}
	input, loader := state.Waiting.Input, c.core.newValueLoader()
	if err := loader.fill(ctx, &input); err != nil {
		return params, err
	}
	return machine.JobParams(flow.All[state.Waiting.Attempt.Step], input), nil
}

// Question returns the question to the person who reports the outcome that an execution of the flow
// waits for, nil for none.
func (c *Client) Question(ctx context.Context, flow *flow.Flow, state machine.State) (*machine.Question, error) {
	if state.Waiting.Token() == nil {
		return nil, nil
	}
	loader := c.core.newValueLoader()
	return loader.question(ctx, flow.All[state.Waiting.Attempt.Step], *state.Waiting)
}

// question returns the question of a waiting step. It reads the input of the step only if it asks
// something.
func (l *valueLoader) question(ctx context.Context, step *flow.Step, waiting machine.Waiting) (*machine.Question, error) {
	if !machine.Asks(step) {
		return nil, nil
	}
	input := waiting.Input
	if err := l.fill(ctx, &input); err != nil {
		return nil, err
	}
	return machine.QuestionOf(step, input), nil
}
