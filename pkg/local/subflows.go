package local

import (
	"context"
	"errors"
	"fmt"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
)

// missingInSubflows returns an error for each sub-flow of a flow that is not stored, and for each
// function of the others that has no runner. Seen are the names of flows that were checked.
func (s *System) missingInSubflows(ctx context.Context, def *flow.Flow, seen map[string]bool) (missing []error) {
	for step, task := range def.Tasks() {
		name := task.Resource.Flow
		if name == "" || seen[name] {
			continue
		}
		seen[name] = true
		var child *flow.Flow
		newest, err := s.config.Store.Newest(ctx, name)
		if err == nil {
			child, err = s.config.Store.Flow(ctx, newest)
		}
		switch {
		case errors.Is(err, engine.ErrNotFound):
			missing = append(missing, fmt.Errorf("step %s: flow %q is not stored; put it with \"waitless flows put\"", step.Name, name))
		case err != nil:
			missing = append(missing, err)
		default:
			for _, err := range s.Missing(child) {
				missing = append(missing, fmt.Errorf("sub-flow %s: %w", name, err))
			}
			missing = append(missing, s.missingInSubflows(ctx, child, seen)...)
		}
	}
	return missing
}

// AwaitLeft returns when all sub-flows that nothing waits for have ended, or, when ctx ends, with
// the sub-flows that have not. Their calls end at once. Use it while [System.Serve] runs.
func (s *System) AwaitLeft(ctx context.Context) (left []machine.ExecutionRef, err error) {
	for {
		if left, err = s.left(context.WithoutCancel(ctx)); err != nil || len(left) == 0 || ctx.Err() != nil {
			return left, err
		}
		for _, child := range left {
			s.stops.end(child.ID(), true)
			if _, err := s.Await(ctx, child.ID()); err != nil {
				return left, err
			}
		}
	}
}

// left returns the sub-flows that have not ended although the token of their parent is closed (rule
// 26).
func (s *System) left(ctx context.Context) (left []machine.ExecutionRef, err error) {
	list, err := s.config.Store.Unfinished(ctx)
	if err != nil {
		return nil, err
	}
	for _, unfinished := range list {
		item, err := s.config.Store.Latest(ctx, unfinished.Execution)
		if err != nil {
			return nil, err
		}
		state, err := item.State()
		if err != nil || state.Status.Final() || !state.EndsWithParent() { // of a damaged one the engine reports the damage
			continue
		}
		record, err := s.config.Store.Record(ctx, state.Parent.Handle)
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			return nil, err
		}
		if err == nil && !record.Open() {
			left = append(left, machine.ExecutionRef{Flow: state.Flow.Name, Execution: state.Execution})
		}
	}
	return left, nil
}
