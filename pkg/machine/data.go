package machine

import (
	"cmp"
	"slices"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// UnmappedSource is a mapping without its source, so that its target was left out, or the
// ExecutionName of a sub-flow. It has no value of the execution.
type UnmappedSource struct {
	// Step is the name of a step, empty for the flow.
	Step string
	// Mappings is the field that the mapping stands in, like "inputMappings", or "serviceParams".
	Mappings string
	Target   string
	Source   string // a path
}

// String is for logs: "step Ask: inputMappings: id <- $local.id".
func (a UnmappedSource) String() string {
	return a.Place() + ": " + a.Mappings + ": " + a.Target + " <- " + a.Source
}

// Place names the owner of the mapping: "step Ask", or "the flow".
func (a UnmappedSource) Place() string { return placeOf(a.Step) }

func placeOf(step string) string {
	if step == "" {
		return "the flow"
	}
	return "step " + step
}

// serviceParams is the field with the parameters of a sub-flow.
const serviceParams = "serviceParams"

// surroundings implements [flow.Surroundings] for a step, or for the flow if step is nil. The event
// enters or leaves the step, and the attempt is set for a task.
type surroundings struct {
	*run
	step           *flow.Step
	event, attempt int
}

// frame returns a frame for the data of a step, as of [surroundings]. It is valid until the next
// one.
func (r *run) frame(step *flow.Step, input, local value.Value, event, attempt int) *flow.Frame {
	r.around = surroundings{r, step, event, attempt}
	r.framed = flow.Frame{Input: input, Local: local, Lookup: &r.lookup, Surroundings: &r.around}
	if step != nil {
		series := r.innermost()
		r.framed.Outer = flow.Outer{Input: series.Input, Local: series.Local}
	}
	return &r.framed
}

// Missing implements [flow.Surroundings].
func (a *surroundings) Missing(field, target, source string) {
	a.addUnmapped(UnmappedSource{Step: nameOf(a.step), Mappings: field, Target: target, Source: source})
}

func (x *tx) addUnmapped(absent UnmappedSource) {
	if !slices.Contains(x.next.Unmapped, absent) {
		x.next.Unmapped = append(x.next.Unmapped, absent)
	}
}

// Context implements [flow.Surroundings].
func (a *surroundings) Context() flow.Context {
	r, s, step := a.run, a.state(), a.step
	c := flow.Context{
		Flow: s.Flow.Name, Hash: s.Flow.Hash, Execution: s.Execution, Started: s.Started.UTC().Format(TimeFormat), Input: s.Input,
	}
	if s.Redriven != nil {
		c.Redriven = s.Redriven.Count
	}
	if step == nil {
		return c
	}
	c.Step = a.stepContext()
	if task := taskOf(step); task != nil {
		taskRun{r, step, task}.context(&c.Step, a.attempt)
	}
	return c
}

// stepContext returns the part of the context that every step has.
func (a *surroundings) stepContext() flow.StepContext {
	s := a.state()
	c := flow.StepContext{Name: a.step.Name, Event: a.event, Since: a.at.UTC().Format(TimeFormat), Items: s.ForkIndexes()}
	retried, number := a.retried, cmp.Or(a.attempt, a.event)
	if w := a.endedWaiting; w != nil && w.Attempt.Number == a.attempt {
		c.Since, retried = w.Start().UTC().Format(TimeFormat), w.Retried
	}
	for _, n := range retried {
		c.Retried += n
	}
	c.Seed = s.callOf(a.step, Attempt{Number: number}).Key()
	return c
}

// context adds the key of an attempt, and its token.
func (r taskRun) context(c *flow.StepContext, attempt int) {
	s := r.state()
	c.Key = s.callOf(r.step, Attempt{Step: r.step.Index, Number: attempt}).Key()
	if r.task.Pattern != flow.PatternWaitForCallback || r.env.Keys.Check() != nil {
		return
	}
	if w := r.endedWaiting; w == nil || w.Attempt.Number != attempt || w.Token() == nil {
		r.keepLog()
		c.Token = value.String(r.env.Keys.Sign(r.tokenID(Attempt{Number: attempt})))
	} else if text, ok := r.env.Keys.SignAgain(w.Handle()); ok { // with the key that signed it
		c.Token = value.String(text)
	}
	if r.env.CallbackBase != "" && !c.Token.IsMissing() {
		c.CallbackURL = value.String(token.CallbackURL(r.env.CallbackBase, c.Token.Text()))
	}
}

// needsCallbackBase returns the first step that maps a callback URL where there is no address for
// callbacks, nil for none.
func (r *run) needsCallbackBase() *flow.Step {
	if r.env.CallbackBase != "" {
		return nil
	}
	for step, task := range r.env.Flow.Tasks() {
		if task.CallbackURL && task.Pattern == flow.PatternWaitForCallback {
			return step
		}
	}
	return nil
}

// noCallbackBase is the failure of an execution that needs a callback URL where there is no address
// for callbacks.
func noCallbackBase(step, hint string) token.Outcome {
	text := "step " + step + ": it maps a callback URL, and there is no address for callbacks here; map the token instead"
	if hint != "" {
		text += ", or " + hint
	}
	return token.Failure(ErrorInvalidArgument, text)
}

// needsNewerFormat returns the failure of an execution with a fork that a log of the oldest format
// cannot have, nil for none: only logs of format 2 go on after a failure in a fork.
func (r *run) needsNewerFormat() *token.Outcome {
	for _, step := range r.env.Flow.All {
		if r.env.WriteFormat >= formatOfShares || !step.IsFork() {
			continue
		}
		const needs = "step %s: %s need executions of format 2; add format-2 to the parameter Options of the stack"
		if h := step.Handlers(); len(h.Retry) > 0 || len(h.Catch) > 0 {
			return limitReached(ErrorInvalidArgument, needs, step.Name, "retry and catch of a parallel or a foreach")
		}
		if foreach, ok := step.Kind.(*flow.Foreach); ok && foreach.Tolerance.IsSet() {
			return limitReached(ErrorInvalidArgument, needs, step.Name, "tolerated failures of a foreach")
		}
		if step.MapRun() != nil {
			return limitReached(ErrorInvalidArgument, needs, step.Name, "iterations that are executions")
		}
	}
	return nil
}
