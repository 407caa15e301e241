package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// RedriveRequest asks for an execution that goes on where another one ended.
type RedriveRequest struct {
	Execution string // the name of the new execution; "" derives it, see [machine.State.RedriveName]
	From      string // the step to go on from; "" for the one that failed
	Newest    bool   // with the newest definition of the flow, not with that of the execution
}

// Redrive returns the start of an execution that goes on where another one failed, was stopped or
// timed out. The steps before that do not run again: the new execution has their outputs. The other
// one stays as it is, because its end was reported. The same request leads to the same start. The
// error has [CodeConflict] if the execution runs or succeeded, and [CodeInvalid] if it cannot go on
// from there.
func (c *Client) Redrive(ctx context.Context, id ID, request RedriveRequest) (StartRequest, error) {
	start, ended, err := c.repeat(ctx, id, request.Newest)
	if err != nil {
		return StartRequest{}, err
	}
	op := "redrive execution " + ended.Flow.Name + "/" + ended.Execution
	switch {
	case !ended.Status.Final():
		return StartRequest{}, &Error{CodeConflict, op, errors.New("it has not ended; wait for its end, or stop it")}
	case ended.Status == machine.StatusSucceeded:
		return StartRequest{}, &Error{CodeConflict, op, errors.New("it succeeded, so no step is left; rerun it to run all steps again")}
	}
	if start.Execution = request.Execution; start.Execution == "" {
		start.Execution = ended.RedriveName()
	}
	r := redrive{core: &c.core, loader: c.core.newValueLoader(), ended: ended, from: request.From}
	return start, wrap(op, r.addTo(ctx, id, &start))
}

// Rerun returns the start of an execution with the flow and the input of another one, whatever its
// status. An empty name is random. Newest is as in [RedriveRequest].
func (c *Client) Rerun(ctx context.Context, id ID, name string, newest bool) (StartRequest, error) {
	start, _, err := c.repeat(ctx, id, newest)
	if start.Execution = name; name == "" {
		start.Execution = NewName()
	}
	return start, err
}

// repeat returns the start of an execution like another one, without a name, and the state of the
// other one. Neither refers to large values of the other: either may expire first.
func (c *Client) repeat(ctx context.Context, id ID, newest bool) (start StartRequest, state machine.State, err error) {
	if state, err = c.describe(ctx, id); err != nil {
		return start, state, err
	}
	loader := c.core.newValueLoader()
	if err = loader.fill(ctx, &state.Input); err != nil {
		return start, state, err
	}
	op := "read execution " + state.Flow.Name + "/" + state.Execution
	if state.Input.IsMissing() {
		return start, state, &Error{CodeInvalid, op, errors.New("its first item is damaged, so its input is not known; start another one with that input")}
	}
	start = StartRequest{Flow: state.Flow, Input: value.Detached(state.Input), Notify: state.Notify}
	if newest {
		start.Flow, err = c.core.Flows.Newest(ctx, state.Flow.Name)
	}
	op = "read the newest definition of flow " + state.Flow.Name
	if errors.Is(err, ErrNotFound) {
		return start, state, &Error{CodeInvalid, op, errors.New("the flow was deleted; put it again, or use the definition of the execution")}
	}
	return start, state, wrap(op, err)
}

// redrive finds out where an execution goes on.
type redrive struct {
	*core
	loader valueLoader
	ended  machine.State
	from   string
}

// addTo adds to the start where the execution goes on.
func (r *redrive) addTo(ctx context.Context, id ID, start *StartRequest) error {
	had, err := r.Flows.Flow(ctx, r.ended.Flow)
	if err != nil {
		return err
	}
	to := had
	if start.Flow != r.ended.Flow {
		if to, err = r.Flows.Flow(ctx, start.Flow); err != nil {
			return err
		}
	}
	point, err := r.point(ctx, id, had)
	if err != nil {
		return err
	}
	if point, err = point.In(had, to); err != nil {
		return &Error{CodeInvalid, "", err}
	}
	for i := range point.Series {
		series := &point.Series[i]
		if err := r.loader.fill(ctx, &series.Input, &series.Local); err != nil {
			return err
		}
		series.Input, series.Local = value.Detached(series.Input), value.Detached(series.Local)
	}
	if had := point.Results; had != nil {
		if size := had.Outputs.Size(); size > r.Limits.MaxData() {
			return &Error{CodeInvalid, "", fmt.Errorf("the results of step %q have %d bytes and the limit is %d; go on from an earlier step, or rerun it",
				point.Step.Name, size, r.Limits.MaxData())}
		}
		if err := r.loader.fill(ctx, &had.Done, &had.Outputs); err != nil {
			return err
		}
		had.Done, had.Outputs = value.Detached(had.Done), value.Detached(had.Outputs)
		start.results = had
	}
	start.Redriven, start.series, start.left = point.Redriven(r.ended), point.Series, r.ended.Started
	return nil
}

// point asks the machine where the execution goes on, and asks again with the values that it must
// load.
func (r *redrive) point(ctx context.Context, id ID, flow *flow.Flow) (machine.RedrivePoint, error) {
	first, events, err := r.events(ctx, id, r.ended.Events)
	for err == nil {
		var load []value.Ref
		var point machine.RedrivePoint
		point, load, err = machine.FindRedrive(flow, first, events, r.from, r.loader.loaded)
		if len(load) == 0 {
			if err != nil {
				return point, &Error{CodeInvalid, "", err}
			}
			err = r.addResults(ctx, &point, flow, id, events)
			return point, err
		}
		err = r.loader.load(ctx, load)
	}
	return machine.RedrivePoint{}, err
}

// addResults adds the results of the fork that the execution goes on with. A log of format 1 has no
// place for them.
func (r *redrive) addResults(ctx context.Context, point *machine.RedrivePoint, flow *flow.Flow, id ID, events []machine.Event) error {
	if r.WriteFormat <= 1 {
		point.Results = nil
		return nil
	}
	var logs [][]machine.Event
	if began := point.Began; began.ID > 0 && began.Lanes == 0 {
		logs = append(logs, events[began.ID:])
	}
	for _, lane := range lanesOf(id, point.Began.ID, point.Began.Lanes) {
		end, err := r.latestState(ctx, lane.ID())
		if err == nil {
			_, events, err = r.events(ctx, lane.ID(), end.Events)
		}
		switch {
		case errors.Is(err, ErrNotFound), CodeOf(err) == CodeDefect: // its items run again
		case err != nil:
			return err
		default:
			logs = append(logs, events)
		}
	}
	for {
		load := point.AddResults(flow, logs, r.loader.loaded)
		if len(load) == 0 {
			return nil
		}
		if err := r.loader.load(ctx, load); err != nil {
			return err
		}
	}
}

// events reads the first state and the events of a log, which has that many. Large values are
// references.
func (r *redrive) events(ctx context.Context, id ID, count int) (first machine.State, events []machine.Event, err error) {
	for seq := uint64(0); ; seq += itemsAtOnce {
		items, err := r.Log.Items(ctx, id, seq, itemsAtOnce)
		if err != nil {
			return first, nil, err
		}
		for _, item := range items {
			state, more, err := machine.Decode(item.origin(), item.Body)
			if err != nil {
				return first, nil, decoded(item, err)
			}
			if events = append(events, more...); item.Seq == 0 {
				first = state
			}
		}
		if len(items) < itemsAtOnce {
			break
		}
	}
	if len(events) != count {
		err = &Error{CodeNotFound, "", errors.New("its history was removed while it was read")}
	}
	return first, events, err
}

// sameRedrive reports whether the execution goes on where the request says. A request without such
// a place, for instance of a client that follows the execution, means the execution with the given
// name. A redrive that began before the execution belongs to an earlier one, which expired, so that
// its name was free again.
func sameRedrive(first machine.State, request StartRequest) bool {
	return request.Redriven == nil ||
		first.Redriven != nil && *first.Redriven == *request.Redriven && !first.Started.Before(request.left)
}
