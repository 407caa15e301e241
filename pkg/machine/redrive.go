package machine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/value"
)

// Redriven says where an execution goes on that another one of the same flow left.
type Redriven struct {
	From  string // the name of that execution
	Count int    // how many redrives led here, 1 for the first
	Step  string // the name of the first step; "" for the first of the flow, or for the end of the innermost series
}

// RedrivePoint is where the steps of an execution that ended can go on.
type RedrivePoint struct {
	Step   *flow.Step // nil for the end of the innermost series
	Series []Series   // those that were open before the step; none if nothing ran
	// Results holds the kept results of a fork, nil for none; see [RedrivePoint.AddResults].
	Results *Results
	// Began is the event that began the last attempt of the fork. It is zero if the fork was left,
	// or was not entered.
	Began Event
}

// RedriveName returns the name that the redrive of an execution has unless it is given another one:
// "run-redrive", and for the next redrive "run-redrive-2".
func (s State) RedriveName() string {
	suffix := func(count int) string {
		if count == 1 {
			return "-redrive"
		}
		return fmt.Sprintf("-redrive-%d", count)
	}
	name, added := s.Execution, suffix(1)
	if s.Redriven != nil {
		name, added = strings.TrimSuffix(name, suffix(s.Redriven.Count)), suffix(s.Redriven.Count+1)
	}
	return flow.CutName(name, flow.MaxName-len(added)) + added
}

// stepNamed returns the step with the name, or nil.
func stepNamed(flow *flow.Flow, name string) *flow.Step {
	for _, step := range flow.All {
		if step.Name == name {
			return step
		}
	}
	return nil
}

// FindRedrive returns where an execution goes on that ended, from its first state and the events of
// its own log. The place is the step that failed, or the step that ran when the execution was
// stopped or timed out. Of a step inside of a fork it is the outermost fork. With a name it is the
// named step, as it was entered last. Values that have to be loaded into known first are returned
// as load.
func FindRedrive(
	flow *flow.Flow, first State, events []Event, from string, known map[value.Ref]value.Value,
) (p RedrivePoint, load []value.Ref, err error) {
	r := newReplay(flow, State{Redriven: first.Redriven, Series: slices.Clone(first.Series)}, known)
	for _, e := range events {
		if e.Step != NoStep {
			r.follow(flow.All[e.Step], e)
		}
	}
	p, err = r.point(from)
	if step := p.Step; step != nil && step.IsFork() {
		p.Began = r.began[step.Index]
		if kept := first.Results; kept != nil && kept.Step == step.Index && r.entries <= 1 && !r.exited {
			p.Results = kept
		}
	}
	return p, r.lookup.Load, err
}

func newReplay(flow *flow.Flow, s State, known map[value.Ref]value.Value) *replay {
	r := &replay{tx: tx{lookup: value.Lookup{Known: known}}, inputs: map[int]value.Value{}, points: map[int]RedrivePoint{}, began: map[int]Event{}}
	r.env.Flow, r.next.State = flow, s
	return r
}

// replay follows the steps of an execution that are outside of forks, or the steps of the items of
// a fork that are outside of forks inside. The kernel has the open series.
type replay struct {
	tx
	fork   *flow.Step           // nil outside of forks
	inputs map[int]value.Value  // of the steps, as they were entered last
	points map[int]RedrivePoint // of the steps, as they were entered last
	last   *flow.Step           // was entered, or has exited, last
	exited bool                 // the last step has exited
	taken  *flow.Branch         // of the last step, if that is a choice whose branch had steps
	failed *flow.Step           // with it the execution failed
	caught *Event               // the failure of the last step, which a catch handled
	// began has the events that began the last attempts of forks that were not left. Entries counts
	// the entries of steps.
	began   map[int]Event
	entries int
}

func (r *replay) follow(step *flow.Step, e Event) {
	if e.Type == StepFailed && e.Output.IsMissing() && r.failed == nil {
		r.failed = step
	}
	if around := ForksAround(step); len(around) > 0 && around[len(around)-1] != r.fork || len(around) == 0 && r.fork != nil {
		return
	}
	switch e.Type { //nolint:exhaustive // the others neither open nor leave a series
	case StepEntered:
		r.entries++
		r.began[step.Index] = e
		r.entered(step, e.Input)
	case StepStarted:
		r.began[step.Index] = e
	case StepExited:
		delete(r.began, step.Index)
		r.exitedStep(step, e)
	case StepFailed:
		r.caught = &e
	}
}

// followItem follows an event of a log that runs items of the fork, and adds the output of an item
// that has ended.
func (r *replay) followItem(e Event, outputs map[int]value.Value) {
	if e.Step == NoStep {
		return
	}
	switch of := r.env.Flow.All[e.Step]; {
	case !e.Type.ofItem() || of != r.fork:
		r.follow(of, e)
	case e.Type == BranchEntered, e.Type == IterationEntered:
		r.next.State.Series = []Series{{Owner: Owner{OwnerItem, of.Index, 0}, Local: value.Object()}}
		r.caught = nil
	case e.Error != "": // the fork tolerated its failure, and a redrive tries it again
	default:
		if r.caught != nil { // the entry of the catch has no steps
			r.join(flow.Exit{Output: r.caught.Output, Local: r.caught.Local})
		}
		for len(r.state().Series) > 1 {
			r.leaveInner()
		}
		outputs[e.Index] = r.innermost().Local
	}
}

// entered opens the series of the step, and leaves inner series that ended without an event.
func (r *replay) entered(step *flow.Step, input value.Value) {
	s := r.state()
	if len(s.Series) == 0 {
		s.Series = []Series{{Local: value.Object()}}
	}
	output := flow.Exit{Output: value.Object()}
	if r.caught != nil {
		output = flow.Exit{Output: r.caught.Output, Local: r.caught.Local}
	}
	path := ownersOf(step, r.fork)
	if r.caught != nil && path[len(path)-1] != (Owner{OwnerCatch, r.caught.Step, path[len(path)-1].Branch}) {
		r.join(output) // the entry of the catch has no steps
	}
	for len(s.Series) > len(path) || r.innermost().Owner != path[len(s.Series)-1] {
		r.leaveInner()
	}
	for _, owner := range path[len(s.Series):] {
		s.Series = append(s.Series, Series{Owner: owner, Input: r.inputs[owner.Step], Local: output.Output})
	}
	r.inputs[step.Index] = input
	r.points[step.Index] = RedrivePoint{Step: step, Series: slices.Clone(s.Series)}
	r.last, r.exited, r.taken, r.caught = step, false, nil, nil
}

// leaveInner leaves the innermost series. A catch's steps give their output to its task.
func (r *replay) leaveInner() {
	ended := *r.innermost()
	r.leaveSeries()
	if ended.Owner.Kind == OwnerCatch {
		r.join(flow.Exit{Output: ended.Local})
	}
}

func (r *replay) exitedStep(step *flow.Step, e Event) {
	r.taken = nil
	for depth := len(ownersOf(step, r.fork)); len(r.state().Series) > depth; {
		if owner := r.innermost().Owner; owner.Kind == OwnerChoice && owner.Step == step.Index {
			r.taken = kindOf(step).(choiceKind).branch(owner.Branch)
		}
		r.leaveInner()
	}
	r.inputs[step.Index] = e.Input
	r.join(flow.Exit{Output: e.Output, Local: e.Local})
	r.last, r.exited, r.caught = step, true, nil
}

// point returns where the execution goes on.
func (r *replay) point(from string) (RedrivePoint, error) {
	switch {
	case from != "":
		return r.named(from)
	case r.failed != nil:
		return r.points[outermost(r.failed).Index], nil
	case r.last == nil && len(r.state().Series) == 0:
		return RedrivePoint{}, nil
	case r.last == nil:
		return RedrivePoint{Step: stepNamed(r.env.Flow, r.state().Redriven.Step), Series: r.state().Series}, nil
	case !r.exited:
		return r.points[r.last.Index], nil
	}
	return RedrivePoint{Step: r.afterLast(), Series: r.state().Series}, nil
}

// afterLast is the step after the last one, which has exited.
func (r *replay) afterLast() *flow.Step {
	branch := r.taken
	if choice, ok := kindOf(r.last).(choiceKind); ok && branch == nil {
		_, branch = choice.pick(&expr.Scope{Self: r.inputs[r.last.Index], Lookup: &r.lookup})
	}
	if branch != nil && branch.Goto != nil {
		return branch.Goto
	}
	return after(r.last)
}

func (r *replay) named(name string) (RedrivePoint, error) {
	step := stepNamed(r.env.Flow, name)
	if step == nil {
		return RedrivePoint{}, fmt.Errorf("the flow has no step %q; go on from one that ran: %s", name, r.ran())
	}
	if fork := outermost(step); fork != step {
		return RedrivePoint{}, fmt.Errorf("step %q is inside of %q; go on from %q, which keeps the results that it has if it failed", name, fork.Name, fork.Name)
	}
	p, ok := r.points[step.Index]
	if !ok {
		return RedrivePoint{}, fmt.Errorf("step %q never ran in this execution; go on from one that did: %s", name, r.ran())
	}
	return p, nil
}

// ran names the steps that can be gone on from.
func (r *replay) ran() string {
	var names []string
	for _, step := range r.env.Flow.All {
		if _, ok := r.points[step.Index]; ok {
			names = append(names, step.Name)
		}
	}
	return strings.Join(names, ", ")
}

// outermost returns the outermost fork around a step, or outside of forks the step.
func outermost(step *flow.Step) *flow.Step { return append(ForksAround(step), step)[0] }

// ownersOf returns the owners of the series that are open around a step outside of forks, the flow
// first. With a fork they are those around a step in an item of it, the item first.
func ownersOf(step, fork *flow.Step) []Owner {
	around := step.Series.Owner
	if around == nil {
		return []Owner{{}}
	}
	owner := kindOf(around).ownerOf(step.Series)
	owner.Step = around.Index
	if around == fork {
		return []Owner{owner}
	}
	return append(ownersOf(around, fork), owner)
}

// Redriven returns the [Redriven] of an execution that continues s from the point.
func (p RedrivePoint) Redriven(s State) *Redriven {
	redriven := &Redriven{From: s.Execution, Count: 1}
	if s.Redriven != nil {
		redriven.Count += s.Redriven.Count
	}
	if p.Step != nil {
		redriven.Step = p.Step.Name
	}
	return redriven
}

// In moves the point from the definition had of the flow to the definition to, which has the step
// at the same place: in the same branches of the same choices and catches.
func (p RedrivePoint) In(had, to *flow.Flow) (RedrivePoint, error) {
	moved := p
	moved.Series = slices.Clone(p.Series)
	if had != to && len(p.Series) > 0 {
		if err := moved.move(had, to); err != nil {
			return p, err
		}
	}
	if moved.Results != nil && !needsOutputs(moved.Step) {
		moved.Results = &Results{moved.Step.Index, moved.Results.Done, value.Missing()}
	}
	if moved.Step != nil {
		if _, fails := kindOf(moved.Step).(failKind); fails {
			return p, fmt.Errorf("step %q is of type fail, so it fails again; go on from an earlier step", moved.Step.Name)
		}
	}
	return moved, nil
}

func (p *RedrivePoint) move(had, to *flow.Flow) error {
	if p.Step == nil {
		return errors.New("no step was left to run, so another definition changes nothing")
	}
	step := stepNamed(to, p.Step.Name)
	if step == nil {
		return fmt.Errorf("the other definition has no step %q", p.Step.Name)
	}
	if len(ForksAround(step)) > 0 {
		return fmt.Errorf("the other definition has step %q inside of a fork", step.Name)
	}
	owners := ownersOf(step, nil)
	if !slices.EqualFunc(p.Series, owners, func(series Series, owner Owner) bool {
		old := series.Owner
		return old.Kind == owner.Kind && old.Branch == owner.Branch && had.All[old.Step].Name == to.All[owner.Step].Name || old == Owner{} && owner == Owner{}
	}) {
		return fmt.Errorf("the other definition has step %q at another place", step.Name)
	}
	for i := range p.Series {
		p.Series[i].Owner = owners[i]
	}
	before, wasParallel := p.Step.Kind.(*flow.Parallel)
	after, isParallel := step.Kind.(*flow.Parallel)
	switch {
	case p.Results == nil:
	case wasParallel != isParallel, !step.IsFork(), isParallel && !slices.EqualFunc(before.Branches, after.Branches, func(a, b []*flow.Step) bool {
		return a[0].Name == b[0].Name
	}):
		p.Results = nil
	default:
		p.Results = &Results{step.Index, p.Results.Done, p.Results.Outputs}
	}
	p.Step = step
	return nil
}
