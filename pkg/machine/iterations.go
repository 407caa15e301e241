package machine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/waitless/waitless/pkg/flow"
)

// ForkIndexes returns the index of each item of a fork that the state is in, the outermost first.
func (s State) ForkIndexes() []int {
	items := slices.Clone(s.Around)
	for _, series := range s.Series {
		if series.Owner.Kind == OwnerItem {
			items = append(items, series.Owner.Branch)
		}
	}
	return items
}

// WithForkIndexes sets the ForkIndexes of the next events of a log, and returns these events.
// The state before them has the indexes.
func WithForkIndexes(indexes []int, events []Event) []Event {
	for i := range events {
		e := &events[i]
		if e.Type == BranchExited || e.Type == IterationExited {
			indexes = indexes[:len(indexes)-1]
		}
		e.ForkIndexes = indexes
		if e.Type == BranchEntered || e.Type == IterationEntered {
			indexes = append(slices.Clip(indexes), e.Index)
		}
	}
	return events
}

// Iterations returns the indices of the iterations around a step, selected from the items around
// it. A branch has none: its steps have names of their own.
func Iterations(step *flow.Step, items []int) (iterations []int) {
	for i, fork := range ForksAround(step) {
		if _, ok := fork.Kind.(*flow.Foreach); ok && i < len(items) {
			iterations = append(iterations, items[i])
		}
	}
	return iterations
}

// itemsOf reverses [Iterations], but for the indices of branches.
func itemsOf(step *flow.Step, iterations []int) (items []int) {
	if len(iterations) == 0 {
		return nil
	}
	for _, fork := range ForksAround(step) {
		index := 0
		if _, ok := fork.Kind.(*flow.Foreach); ok && len(iterations) > 0 {
			index, iterations = iterations[0], iterations[1:]
		}
		items = append(items, index)
	}
	return items
}

// ForksAround returns the forks around a step, the outermost first.
func ForksAround(step *flow.Step) (forks []*flow.Step) {
	for step != nil && step.Series != nil && step.Series.Owner != nil {
		if fork := step.Series.Fork(); fork != nil {
			forks = append(forks, fork)
		}
		step = step.Series.Owner
	}
	slices.Reverse(forks)
	return forks
}

// StepIn names a step in iterations: "Say[2][0]" is the step Say in iteration 0 of a foreach in
// iteration 2 of another.
func StepIn(step string, iterations []int) string {
	var name strings.Builder
	name.WriteString(step)
	for _, index := range iterations {
		fmt.Fprintf(&name, "[%d]", index)
	}
	return name.String()
}

// IterationPath names iterations for functions: "2.0" is iteration 0 of a foreach in iteration 2 of
// another. It is empty outside of iterations.
func IterationPath(iterations []int) string {
	var path []byte
	for _, index := range iterations {
		path = strconv.AppendInt(append(path, '.'), int64(index), 10)
	}
	return strings.TrimPrefix(string(path), ".")
}
