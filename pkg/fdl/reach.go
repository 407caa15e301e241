package fdl

import (
	"slices"

	"github.com/waitless/waitless/pkg/flow"
)

// completes warns of the steps of a series that are never reached, and reports whether the series
// may end without a failure. An empty one does.
func (p *parser) completes(series []*flow.Step) bool {
	if len(series) == 0 {
		return true
	}
	ends, seen := false, map[*flow.Step]bool{}
	open := []*flow.Step{series[0]}
	for len(open) > 0 {
		step := open[len(open)-1]
		open = open[:len(open)-1]
		switch {
		case step == nil:
			ends = true
		case !seen[step]:
			seen[step] = true
			open = append(open, p.after(step)...)
		}
	}
	for i, step := range series {
		if !seen[step] && seen[series[i-1]] {
			p.warn(step.Position, "step %q is never reached: no step goes on to it, and no goto leads to it", step.Name)
		}
	}
	return ends
}

// after are the siblings that may follow a step, nil for the end of the series.
func (p *parser) after(step *flow.Step) []*flow.Step {
	next := step.Next
	if step.End {
		next = nil
	}
	switch kind := step.Kind.(type) {
	case *flow.Fail:
		return nil
	case *flow.Succeed:
		return []*flow.Step{nil}
	case *flow.Choice:
		branches := kind.Branches
		if kind.Default != nil {
			return p.afterBranches(append(branches[:len(branches):len(branches)], *kind.Default), next)
		}
		return append(p.afterBranches(branches, next), next)
	case *flow.Foreach: // a list may be empty
		p.completes(kind.Steps)
	case *flow.Parallel:
		if failing := slices.DeleteFunc(slices.Clone(kind.Branches), p.completes); len(failing) > 0 {
			return p.afterCatches(step, next)
		}
	case *flow.Pass, *flow.Wait, *flow.Task:
	}
	return append(p.afterCatches(step, next), next)
}

// afterCatches returns the steps that follow the entries of the step's catch.
func (p *parser) afterCatches(step, next *flow.Step) (after []*flow.Step) {
	if handlers := step.Handlers(); handlers != nil {
		for _, entry := range handlers.Catch {
			after = append(after, p.afterBranches([]flow.Branch{{Steps: entry.Steps, Goto: entry.Goto}}, next)...)
		}
	}
	return after
}

// afterBranches returns the steps that follow the branches of a choice. No step follows a branch
// that always fails.
func (p *parser) afterBranches(branches []flow.Branch, next *flow.Step) []*flow.Step {
	var after []*flow.Step
	for _, branch := range branches {
		switch {
		case !p.completes(branch.Steps):
		case branch.Goto != nil:
			after = append(after, branch.Goto)
		default:
			after = append(after, next)
		}
	}
	return after
}
