package local

import (
	"context"
	"errors"
	"fmt"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
)

// UnknownFlowError reports a sub-flow whose flow is not stored.
type UnknownFlowError struct {
	Flow     string
	Step     string
	Position fdl.Position
}

func (e *UnknownFlowError) Error() string {
	return fmt.Sprintf("step %s: flow %q is not stored; put it with \"waitless flows put\"", e.Step, e.Flow)
}

// missingInSubflows returns an error for each sub-flow of a flow that is not stored, and for each function
// of the others that has no runner. Seen are the names of flows that were checked.
func (s *System) missingInSubflows(ctx context.Context, flow *fdl.Flow, seen map[string]bool) (missing []error) {
	for _, step := range flow.All {
		task, ok := step.Kind.(*fdl.Task)
		if !ok || task.Resource.Flow == "" || seen[task.Resource.Flow] {
			continue
		}
		name := task.Resource.Flow
		seen[name] = true
		child, err := s.newest(ctx, name)
		switch {
		case errors.Is(err, engine.ErrNotFound):
			missing = append(missing, &UnknownFlowError{name, step.Name, step.Position})
		case err != nil:
			missing = append(missing, err)
		default:
			missing = append(missing, s.Missing(child)...)
			missing = append(missing, s.missingInSubflows(ctx, child, seen)...)
		}
	}
	return missing
}

func (s *System) newest(ctx context.Context, name string) (*fdl.Flow, error) {
	flow, err := s.config.Store.Newest(ctx, name)
	if err != nil {
		return nil, err
	}
	return s.config.Store.Flow(ctx, flow)
}
