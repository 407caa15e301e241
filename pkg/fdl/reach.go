package fdl

import (
	"fmt"
	"slices"
)

// unreached warns of steps that no execution can reach: the first of each group that stands
// together. A flow with errors is left alone, because its gotos may be incomplete.
func (p *parser) unreached() {
	if len(p.problems.Errors()) == 0 {
		p.unreachedIn(p.flow.Steps, &ways{completed: map[*Step]bool{}})
	}
}

func (p *parser) unreachedIn(series []*Step, ways *ways) {
	if len(series) == 0 {
		return
	}
	seen := ways.from(series[0])
	before := true
	for _, step := range series {
		if !seen[step] && before {
			p.warn(step.Position, fmt.Sprintf("step %q is never reached: no step goes on to it, and no goto leads to it", step.Name))
		}
		before = seen[step]
		if !seen[step] {
			continue
		}
		for _, inside := range seriesInside(step) {
			p.unreachedIn(inside, ways)
		}
	}
}

// ways finds out which steps may follow which.
type ways struct {
	// completed holds what completes found, by the first step of the series.
	completed map[*Step]bool
}

// from are the siblings that may run once the step runs, itself included.
func (w *ways) from(step *Step) map[*Step]bool {
	seen := map[*Step]bool{}
	open := []*Step{step}
	for len(open) > 0 {
		step, open = open[len(open)-1], open[:len(open)-1]
		if step == nil || seen[step] {
			continue
		}
		seen[step] = true
		open = append(open, w.after(step)...)
	}
	return seen
}

// after are the siblings that may follow a step, nil for the end of the series.
func (w *ways) after(step *Step) []*Step {
	next := step.Next
	if step.End {
		next = nil
	}
	switch kind := step.Kind.(type) {
	case *Succeed, *Fail:
		return nil
	case *Choice:
		return w.afterChoice(kind, next)
	case *Task:
		after := []*Step{next}
		for _, entry := range kind.Catch {
			after = append(after, w.afterBranch(entry.Steps, entry.Goto, next)...)
		}
		return after
	case *Parallel:
		if slices.ContainsFunc(kind.Branches, func(branch []*Step) bool { return len(branch) > 0 && !w.completes(branch[0]) }) {
			return nil
		}
	case *Pass, *Wait, *Foreach: // a list may be empty
	}
	return []*Step{next}
}

func (w *ways) afterChoice(choice *Choice, next *Step) []*Step {
	var after []*Step
	for _, branch := range choice.Branches {
		after = append(after, w.afterBranch(branch.Steps, branch.Goto, next)...)
	}
	if choice.Default == nil {
		return append(after, next)
	}
	return append(after, w.afterBranch(choice.Default.Steps, choice.Default.Goto, next)...)
}

// afterBranch is what follows the steps of a branch or of an entry. Nothing does if they always
// fail.
func (w *ways) afterBranch(steps []*Step, target, next *Step) []*Step {
	switch {
	case len(steps) > 0 && !w.completes(steps[0]):
		return nil
	case target != nil:
		return []*Step{target}
	}
	return []*Step{next}
}

// completes reports whether a series with that first step may end without a failure.
func (w *ways) completes(begin *Step) bool {
	if known, ok := w.completed[begin]; ok {
		return known
	}
	for step := range w.from(begin) {
		if w.ends(step) {
			w.completed[begin] = true
			return true
		}
	}
	w.completed[begin] = false
	return false
}

// ends reports whether a series may end with the step.
func (w *ways) ends(step *Step) bool {
	_, succeeds := step.Kind.(*Succeed)
	return succeeds || slices.Contains(w.after(step), nil)
}

// seriesInside are the series of the branches, of the entries or of the iterations of a step.
func seriesInside(step *Step) [][]*Step {
	var inside [][]*Step
	switch kind := step.Kind.(type) {
	case *Choice:
		for _, branch := range kind.Branches {
			inside = append(inside, branch.Steps)
		}
		if kind.Default != nil {
			inside = append(inside, kind.Default.Steps)
		}
	case *Task:
		for _, entry := range kind.Catch {
			inside = append(inside, entry.Steps)
		}
	case *Parallel:
		inside = kind.Branches
	case *Foreach:
		inside = [][]*Step{kind.Steps}
	case *Pass, *Wait, *Succeed, *Fail:
	}
	return inside
}
