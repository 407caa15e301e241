package engine

import (
	"context"
	"errors"
	"time"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/machine"
)

// Wait is a step that waits for its callback.
type Wait struct {
	Flow, Execution string
	Step            string // with the iterations around it: "Ask[3]"
	Since           time.Time
	Deadline        time.Time // zero for none
	Question        *machine.Question
}

// WaitFor returns the step of a log that waits for the token with that handle. Ok is false if the log waits for something else, or
// does not exist.
func (c *Client) WaitFor(ctx context.Context, log ID, handle string) (w Wait, ok bool, err error) {
	item, err := c.log.Latest(ctx, log)
	if errors.Is(err, ErrNotFound) {
		return w, false, nil
	}
	var state machine.State
	if err == nil {
		state, err = decodeState(item)
	}
	waiting := state.Waiting
	if err != nil || waiting == nil || waiting.Handle() != handle {
		return w, false, wrap("read what "+log.String()+" waits for", err)
	}
	flow, err := c.flows.Flow(ctx, state.Flow)
	if err != nil {
		return w, false, err
	}
	step := flow.All[waiting.Attempt.Step]
	w = Wait{
		Flow: state.Flow.Name, Execution: state.Execution, Step: machine.StepIn(step.Name, machine.Iterations(step, state.Items())),
		Since: waiting.Since, Deadline: waiting.Deadline,
	}
	w.Question, err = c.Question(ctx, flow, state)
	return w, err == nil, err
}

// Question returns what is asked of the person who reports the outcome that an execution of the flow waits for, nil for nothing.
func (c *Client) Question(ctx context.Context, flow *fdl.Flow, state machine.State) (*machine.Question, error) {
	if state.Waiting == nil || state.Waiting.For != machine.WaitingForToken {
		return nil, nil
	}
	loader := c.newValueLoader()
	return loader.question(ctx, flow.All[state.Waiting.Attempt.Step], *state.Waiting)
}

// question returns what a step asks that waits. It reads the input of the step only if it asks something.
func (l *valueLoader) question(ctx context.Context, step *fdl.Step, waiting machine.Waiting) (*machine.Question, error) {
	if !machine.Asks(step) {
		return nil, nil
	}
	input := waiting.Input
	if err := l.fill(ctx, &input); err != nil {
		return nil, err
	}
	return machine.QuestionOf(step, input), nil
}
