package cli

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/waitless/waitless/pkg/cli/target"
	"github.com/waitless/waitless/pkg/cli/view"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// runElsewhere returns the API of the stack or of the `waitless dev` that runs the execution, or nil
// if this process runs it.
func (e *execution) runElsewhere(ctx context.Context) (*target.Client, error) {
	switch {
	case e.place.OnStack():
		return e.command.opener().Open(ctx, e.place)
	case e.options.skipTime:
		return nil, nil
	}
	a, err := e.command.opener().Dev(ctx, e.place.Store)
	if a != nil && len(e.options.tasks) > 0 {
		return nil, view.Usage("`waitless dev` holds the store "+e.place.Store+" and runs the tasks, so --task has no effect here",
			"give --task to waitless dev, or --store ANOTHER-DIR")
	}
	return a, err
}

// followThere runs the execution over the API, which it then closes.
func (e *execution) followThere(ctx context.Context, a *target.Client, input value.Value) (err error) {
	defer a.Close(&err)
	return e.runOver(ctx, a, input)
}

// runOver puts the flow, starts the execution, unless it was started before, and follows it to
// its end. The API is that of a stack or of the process that holds the store.
func (e *execution) runOver(ctx context.Context, a *target.Client, input value.Value) error {
	flow, err := e.file.put(ctx, a, e.name)
	if err != nil {
		return e.startFailure(err)
	}
	if e.options.name != "" && !e.options.hasInput {
		if begun, err := a.Execution(ctx, flow.Name, e.name, false); err == nil {
			input = begun.Input // who only names an execution means the one that is there
		}
	}
	begun, isNew, err := a.Start(ctx, flow.Name, rest.Start{Name: e.name, Hash: flow.Hash, Input: input})
	if err != nil {
		return e.startFailure(err)
	}
	e.id = engine.NewID(flow.Name, e.name)
	f := &following{execution: e, api: a, steps: e.steps()}
	if !isNew && begun.Status.Final() {
		f.steps.Say(e.alreadyEnded())
	}
	state, err := f.follow(ctx)
	f.steps.Close(ctx.Err() != nil)
	follow := "waitless history " + e.title() + " --follow" + e.place.Flags()
	switch {
	case ctx.Err() != nil:
		return &view.Failure{Exit: ExitInterrupted, What: e.title(), Why: "interrupted; " + "it continues; show it with: " + follow}
	case err != nil && !e.place.OnStack() && !e.command.opener().IsHeld(ctx, e.place.Store):
		return &view.Failure{Exit: ExitInternal, What: e.title(), Why: "the process that held the store ended", Try: "waitless dev, then " + follow}
	case err != nil:
		return err
	}
	return e.report(ctx, state, f.events)
}

// startFailure is an error of the API about a start.
func (e *execution) startFailure(err error) error {
	var refused *rest.Error
	if errors.As(err, &refused) && refused.Status == http.StatusConflict {
		return e.startedDifferent()
	}
	return err
}

// following shows an execution that another process runs until it ends.
type following struct {
	execution *execution
	api       *target.Client
	steps     view.Steps
	events    []machine.Event // those seen
}

func (f *following) follow(ctx context.Context) (machine.State, error) {
	for {
		state, err := f.look(ctx)
		if err != nil || state.Status.Final() {
			return state, err
		}
		if err := engine.Sleep(ctx, f.api.Interval); err != nil {
			return state, err
		}
	}
}

// look shows what happened since the last look. The state is read first, so
// that the history goes at least as far.
func (f *following) look(ctx context.Context) (machine.State, error) {
	e := f.execution
	now, err := f.api.Execution(ctx, e.file.name(), e.name, false)
	if err != nil {
		return machine.State{}, err
	}
	history, err := f.api.History(ctx, e.file.name(), e.name, len(f.events), false)
	if err != nil {
		return machine.State{}, err
	}
	state := stateOf(now)
	events := make([]machine.Event, len(history))
	for i, h := range history {
		if events[i], err = h.Parse(e.file.flow); err != nil {
			return state, err
		}
	}
	f.events = append(f.events, events...)
	if len(events) > 0 || state.Status.Final() {
		f.steps.Committed(e.id, state, events)
	}
	return state, f.sayHowToAnswer(ctx, events)
}

// sayHowToAnswer does so once a callback is waited for.
func (f *following) sayHowToAnswer(ctx context.Context, events []machine.Event) error {
	e := f.execution
	if e.options.json || len(events) == 0 || events[len(events)-1].Type != machine.TaskSubmitted {
		return nil
	}
	open, err := f.api.Tokens(ctx, e.file.name(), e.name, true)
	for _, t := range open {
		f.steps.Say(howToAnswer(t.Token, e.place))
	}
	return err
}

// stateOf is as much of a state as the API tells.
func stateOf(e rest.Execution) machine.State {
	state := machine.State{
		Flow: machine.FlowRef{Name: e.Flow, Hash: e.Hash}, Execution: e.Name, Status: e.Status, Input: e.Input, Error: e.Error, Cause: e.Cause,
		Started: parseInstant(e.StartedTime), At: parseInstant(e.StoppedTime),
	}
	if e.Output != nil {
		state.Output = *e.Output
	}
	return state
}

// parseInstant returns the zero instant for any other text.
func parseInstant(text string) time.Time {
	t, _ := time.Parse(machine.TimeFormat, text)
	return t
}
