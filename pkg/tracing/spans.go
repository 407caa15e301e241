// Package tracing makes spans of what executions do, and sends them to a collector with the
// protocol of OpenTelemetry (OTLP).
//
// A span has names, numbers, instants and the name of an error. It has no input, no output, no
// cause and no token.
//
// This package is not an API and may change between releases; the names of attributes do not.
package tracing

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
)

// Span is a part of an execution that has ended: the execution itself, a parallel or a foreach, one
// of its branches or iterations, a wait, or an attempt of a task.
type Span struct {
	Trace      machine.TraceID
	ID, Parent machine.SpanID // Parent is zero for the first span of a trace
	Vendor     string         // the header tracestate
	Name       string
	// Remote says that the attempt calls a function, starts a job or waits for a callback.
	Remote     bool
	Start, End time.Time
	Attributes []Attribute
	// Error is the name of the error of a span that failed, "" for others.
	Error string
}

// Attribute describes a span. Its value is a text or a whole number.
type Attribute struct {
	Key  string
	Text string
	Int  int64 // if Text is empty
}

// Attributes of spans.
const (
	attributeFlow      = "waitless.flow"
	attributeHash      = "waitless.flow.hash"
	attributeExecution = "waitless.execution"
	attributeStatus    = "waitless.status"
	attributeStep      = "waitless.step"
	attributeItem      = "waitless.index"
	attributeResource  = "waitless.resource"
	attributeClosedBy  = "waitless.closed_by"
	attributePolls     = "waitless.polls"
	attributeError     = "error.type"
)

// Spans returns the spans that end in a commit.
func Spans(c engine.TracedCommit) []Span {
	w := walk{TracedCommit: c, log: c.After.ID(), series: slices.Clone(c.Before.Series)}
	if len(w.series) == 0 && c.After.Lane != nil {
		w.series = []machine.Series{{Owner: machine.Owner{Kind: machine.OwnerFork}}}
	}
	if c.Flow != nil {
		if waiting := c.Before.Waiting; waiting != nil {
			b := &begun{waiting.Attempt.Step, waiting.Attempt.Number, waiting.Start()}
			switch {
			case waiting.Fork() != nil:
				w.forked = b
			case waiting.For != machine.WaitingForRetry && waiting.For != machine.WaitingForNextLogItem && !waiting.IsBetweenItems():
				w.active = b
			}
		}
		for _, e := range c.Events {
			if e.Step != machine.NoStep {
				w.follow(e)
			}
		}
		if after := c.After.Waiting; w.forked != nil && (after == nil || after.Fork() == nil) && !c.After.Status.Final() { // is tried again later
			w.endForked(c.After.At, failureOf(c.Before))
		}
	}
	if c.After.Status.Final() {
		w.end()
	}
	return w.spans
}

// failureOf returns the error of the lane that failed, "" if the state does not know one.
func failureOf(before machine.State) string {
	if fork := before.Waiting.Fork(); fork != nil && fork.Closing != nil {
		return fork.Closing.Error
	}
	return ""
}

// walk follows the events of a commit.
type walk struct {
	engine.TracedCommit

	log    machine.ID
	series []machine.Series // that are open
	forked *begun           // the step that waits for its lanes
	active *begun           // the attempt or the wait under way
	spans  []Span
}

// begun is a step or an attempt that has not ended.
type begun struct {
	step, number int
	at           time.Time
}

func (w *walk) follow(e machine.Event) {
	step := w.Flow.All[e.Step]
	switch e.Type { //nolint:exhaustive // the others neither begin nor end a span
	case machine.StepEntered:
		switch {
		case !step.IsFork():
		case e.Lanes > 0:
			w.forked = &begun{e.Step, e.ID, e.At}
		default:
			w.series = append(w.series, machine.Series{Owner: machine.Owner{Kind: machine.OwnerFork, Step: e.Step}, Entered: e.ID, Since: e.At})
		}
	case machine.BranchEntered, machine.IterationEntered:
		w.series = append(w.series, machine.Series{
			Owner: machine.Owner{Kind: machine.OwnerItem, Step: e.Step, Branch: e.Index}, Entered: e.ID, Since: e.At,
		})
	case machine.BranchExited, machine.IterationExited:
		w.leave(e.At, e.Error)
	case machine.TaskScheduled, machine.StepStarted:
		if !step.IsFork() {
			w.active = &begun{e.Step, e.ID, e.At}
			return
		}
		if w.forked != nil { // is tried again at once
			w.endForked(e.At, failureOf(w.Before))
		}
		w.forked, w.active = &begun{e.Step, e.ID, e.At}, nil
	case machine.TaskSucceeded, machine.TaskFailed, machine.TaskTimedOut, machine.TaskSubmitFailed, machine.StepSucceeded:
		w.endActive(e)
	case machine.StepExited, machine.StepFailed:
		switch {
		case !step.IsFork():
		case w.forked != nil && w.forked.step == step.Index:
			w.endForked(e.At, e.Error)
		default:
			for w.isIn(step) {
				w.leave(e.At, e.Error)
			}
		}
	}
}

// isIn reports whether a fork is open that has a span in this log.
func (w *walk) isIn(step *flow.Step) bool {
	return slices.ContainsFunc(w.series, func(s machine.Series) bool {
		return s.Owner.Kind == machine.OwnerFork && s.Owner.Step == step.Index && s.Entered > 0
	})
}

// leave ends the innermost series, and those inside of it that have no spans.
func (w *walk) leave(at time.Time, failure string) {
	last := len(w.series) - 1
	ended := w.series[last]
	w.series = w.series[:last]
	step := w.Flow.All[ended.Owner.Step]
	switch {
	case ended.Owner.Kind == machine.OwnerFork && ended.Entered > 0:
		w.add(Span{ID: w.span(ended.Entered), Name: step.Name, Start: ended.Since, End: at, Error: failure}, w.stepAttributes(step)...)
	case ended.Owner.Kind == machine.OwnerItem:
		w.add(Span{ID: w.span(ended.Entered), Name: fmt.Sprintf("%s[%d]", step.Name, ended.Owner.Branch), Start: ended.Since, End: at, Error: failure},
			append(w.stepAttributes(step), Attribute{Key: attributeItem, Int: int64(ended.Owner.Branch)})...)
	case ended.Owner.Kind == machine.OwnerFork: // the fork of a lane ends in its parent
	default:
		if last > 0 {
			w.leave(at, failure)
		}
	}
}

func (w *walk) endForked(at time.Time, failure string) {
	step := w.Flow.All[w.forked.step]
	w.add(Span{ID: w.span(w.forked.number), Name: step.Name, Start: w.forked.at, End: at, Error: failure}, w.stepAttributes(step)...)
	w.forked = nil
}

// endActive ends an attempt or a wait.
func (w *walk) endActive(e machine.Event) {
	if w.active == nil {
		return
	}
	step, number := w.Flow.All[w.active.step], w.active.number
	span, attributes := Span{ID: w.span(number), Name: step.Name, Start: w.active.at, End: e.At, Error: e.Error}, w.stepAttributes(step)
	if task, ok := step.Kind.(*flow.Task); ok {
		span.ID = w.After.Trace.Span(w.log, machine.AttemptIn(machine.PlaceIn(w.series, number), number))
		span.Remote = true
		attributes = append(attributes, Attribute{Key: attributeResource, Text: task.Resource.Text},
			Attribute{Key: attributeClosedBy, Text: string(e.ClosedBy)},
			Attribute{Key: attributePolls, Int: int64(e.Polls)})
	}
	w.add(span, attributes...)
	w.active = nil
}

// end ends the open spans of the log, and the span of the execution.
func (w *walk) end() {
	s := w.After
	failure := ""
	if s.Status != machine.StatusSucceeded {
		failure = cmp.Or(s.Error, string(s.Status))
	}
	if w.Flow != nil {
		if w.active != nil {
			w.endActive(machine.Event{At: s.At, Error: failure})
		}
		if w.forked != nil {
			w.endForked(s.At, failure)
		}
		for len(w.series) > 0 {
			w.leave(s.At, failure)
		}
	}
	if s.Lane == nil {
		w.series = nil
		w.add(Span{ID: s.Trace.Span(w.log, ""), Name: s.Flow.Name, Start: s.Started, End: s.At, Error: failure},
			Attribute{Key: attributeHash, Text: s.Flow.Hash}, Attribute{Key: attributeStatus, Text: string(s.Status)})
		w.spans[len(w.spans)-1].Parent = s.Trace.Parent
	}
}

// span returns the id of the span that an event of this log began.
func (w *walk) span(number int) machine.SpanID {
	return w.After.Trace.Span(w.log, strconv.Itoa(number))
}

// add adds a span inside of the innermost series that is still open.
func (w *walk) add(span Span, attributes ...Attribute) {
	s := w.After
	span.Trace, span.Vendor, span.Parent = s.Trace.ID, s.Trace.Vendor, w.parent()
	all := append([]Attribute{{Key: attributeFlow, Text: s.Flow.Name}, {Key: attributeExecution, Text: s.Execution}}, attributes...)
	if span.Error != "" {
		all = append(all, Attribute{Key: attributeError, Text: span.Error})
	}
	span.Attributes = slices.DeleteFunc(all, func(a Attribute) bool { return a.Text == "" && a.Int == 0 && a.Key != attributeItem })
	w.spans = append(w.spans, span)
}

// parent returns the span around the open one.
func (w *walk) parent() machine.SpanID {
	for _, open := range slices.Backward(w.series) {
		switch {
		case open.Owner.Kind != machine.OwnerFork && open.Owner.Kind != machine.OwnerItem:
		case open.Entered > 0:
			return w.span(open.Entered)
		default: // the fork of a lane
			lane := w.After.Lane
			return w.After.Trace.Span(lane.Parent, strconv.Itoa(lane.Attempt))
		}
	}
	return w.After.Trace.Span(machine.NewID(w.After.Flow.Name, w.After.Execution), "")
}

// stepAttributes returns the attributes of a step.
func (w *walk) stepAttributes(step *flow.Step) []Attribute {
	return []Attribute{{Key: attributeStep, Text: step.Name}}
}
