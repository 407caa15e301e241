package engine

import (
	"context"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/machine"
)

// Traces says which executions are traced.
type Traces struct {
	// Ratio is the portion of executions that are sampled of those that were started without a trace context, from 0 to 1.
	// Others follow the context.
	Ratio float64
}

// TracedCommit is a commit of a sampled execution.
type TracedCommit struct {
	// Before and After are the states before and after the item. Before is the empty state for the first item of a log, and for
	// an execution that ends by a defect.
	Before, After machine.State
	Flow          *fdl.Flow // nil if it cannot be read
	Events        []machine.Event
}

// Tracer makes spans of commits.
type Tracer interface {
	// Trace sees a commit, perhaps twice. It returns quickly and keeps none of the events.
	Trace(commit TracedCommit)
}

// traceOf returns the trace context of an execution that starts, nil for none.
func (c *Client) traceOf(request StartRequest) *machine.Trace {
	switch {
	case c.traces == nil:
		return nil
	case request.Trace != nil:
		return request.Trace
	}
	trace := machine.NewTrace(NewID(request.Flow.Name, request.Execution), c.clock())
	if trace.Portion() >= c.traces.Ratio {
		return nil
	}
	return trace
}

// traced returns a copy of a state before a commit, nil if the commit is not traced.
func (h *handler) traced(state machine.State) *machine.State {
	if h.tracer == nil || !state.Trace.Sampled() {
		return nil
	}
	return &state
}

// trace reports the commit of a draft, which may have another one.
func (h *handler) trace(d *draft, events []machine.Event) {
	if d.before != nil {
		h.tracer.Trace(TracedCommit{*d.before, d.state, d.env.Flow, events})
		d.before = h.traced(d.state)
	}
}

// traceEnd reports the end by a defect, whose flow may be unreadable.
func (h *handler) traceEnd(ctx context.Context, before, after machine.State, events []machine.Event) {
	if h.traced(before) != nil {
		flow, _ := h.flows.Flow(ctx, before.Flow) // nil after an error
		h.tracer.Trace(TracedCommit{before, after, flow, events})
	}
}

// traceAgain reports the latest item again if the wake was redelivered: the worker that committed the item may have died before its
// spans were sent. If the items cannot be read, nothing is reported.
func (h *handler) traceAgain(ctx context.Context, base Item, state machine.State) {
	if !h.redelivered || h.traced(state) == nil {
		return
	}
	h.redelivered = false
	before := machine.State{Lane: state.Lane, Around: state.Around}
	if base.Seq > 0 {
		items, err := h.log.Items(ctx, base.Execution, base.Seq-1, 1)
		if err != nil || len(items) == 0 {
			return
		}
		if before, err = decodeState(items[0]); err != nil {
			return
		}
	}
	_, events, err := machine.Decode(base.origin(), base.Body)
	flow, flowErr := h.flows.Flow(ctx, state.Flow)
	if err == nil && flowErr == nil {
		h.tracer.Trace(TracedCommit{before, state, flow, machine.WithItems(before.Items(), events)})
	}
}
