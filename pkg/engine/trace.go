package engine

import (
	"context"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
)

// Traces says which executions are traced.
type Traces struct {
	// Ratio is the sampled portion of the executions that start without a trace context, from 0 to
	// 1. Others follow the context.
	Ratio float64
}

// TracedCommit is a commit of a sampled execution.
type TracedCommit struct {
	// Before and After are the states before and after the item. Before may have no series for the
	// first item of a lane.
	Before, After machine.State
	Flow          *flow.Flow // nil if it cannot be read
	Events        []machine.Event
}

// Tracer makes spans of commits.
type Tracer interface {
	// Trace sees a commit, perhaps several times. It returns quickly and keeps none of the events.
	Trace(commit TracedCommit)
}

// traceOf returns the trace context of an execution that starts, nil for none.
func (c *Client) traceOf(request StartRequest) *machine.Trace {
	switch {
	case c.core.Traces == nil:
		return nil
	case request.Trace != nil:
		return request.Trace
	}
	trace := machine.NewTrace(NewID(request.Flow.Name, request.Execution), c.core.Now())
	if trace.Portion() >= c.core.Traces.Ratio {
		return nil
	}
	return trace
}

// traced returns a copy of a state before a commit, nil if the commit is not traced.
func (c *core) traced(state machine.State) *machine.State {
	if c.Tracer == nil || !state.Trace.Sampled() {
		return nil
	}
	before := state // so that only a state that is traced is on the heap
	return &before
}

// itemsOfAWake is how many items a wake adds at most, usually.
const itemsOfAWake = 8

// traceAgain reports the latest items again if the wake was redelivered: the worker that committed
// them may have died before their spans were sent. Items that cannot be read are left out.
func (h *handler) traceAgain(ctx context.Context, base Item, state machine.State) {
	if !h.redelivered || h.traced(state) == nil {
		return
	}
	h.redelivered = false
	first := base.Seq - min(base.Seq, itemsOfAWake)
	items, err := h.Log.Items(ctx, base.Execution, first, itemsOfAWake+1)
	flow, flowErr := h.Flows.Flow(ctx, state.Flow)
	if err != nil || flowErr != nil {
		return
	}
	before := machine.State{Lane: state.Lane, Around: state.Around}
	for _, item := range items {
		after, events, err := machine.Decode(item.origin(), item.Body)
		if err != nil {
			return
		}
		if item.Seq > first || first == 0 {
			h.Tracer.Trace(TracedCommit{before, after, flow, machine.WithForkIndexes(before.ForkIndexes(), events)})
		}
		before = after
	}
}
