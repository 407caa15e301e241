package machine

import (
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

type (
	passKind    struct{ plain }
	succeedKind struct{ plain }
	failKind    struct {
		plain
		*flow.Fail
	}
)

func (passKind) enter(r *run, step *flow.Step, input value.Value) *flow.Step {
	return r.exit(step, input, value.Object(), 0)
}

// enter ends the step, and its series, whatever follows.
func (succeedKind) enter(r *run, step *flow.Step, input value.Value) *flow.Step {
	return r.exitTo(nil, step, input, value.Object(), 0)
}

func (k failKind) enter(r *run, step *flow.Step, input value.Value) *flow.Step {
	if k.Computed {
		input = r.lookup.Complete(input)
		return r.fail(step, token.Failure(input.Get("error").Text(), input.Get("cause").Text()))
	}
	return r.fail(step, token.Failure(k.Error, k.Cause))
}
