package advise

import (
	"fmt"
	"slices"
	"strings"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
)

// indexed is a loop that calls a function with a list and an index, until the index is at the end
// of the list.
type indexed struct {
	loop

	index string // the key of the index in the task's input
	local string // and in the local value
	list  string // the key of the list in the task's input, "" if that is not known
}

// indexedBy returns the loop over an index that a choice closes.
func indexedBy(step *flow.Step) (x indexed, ok bool) {
	choice, isChoice := step.Kind.(*flow.Choice)
	i := slices.Index(step.Series.Steps, step)
	if !isChoice || len(choice.Branches) != 1 || i < 1 || !slices.Contains(gotos(step), step.Series.Steps[i-1]) {
		return x, false
	}
	x.loop = loopFrom(step.Series.Steps, i-1, i)
	if len(x.back) != 1 || len(x.back[0].Steps) > 0 || !x.findTask() {
		return x, false
	}
	task, _ := x.task.Kind.(*flow.Task)
	if task.Resource.Subflow || fdl.DataOf(x.task).Input == nil {
		return x, false
	}
	// The choice must compare an index that begins at 0 with the length of a list.
	left, operator, right, isComparison := conditionOf(&choice.Branches[0]).ComparedPaths()
	goesOn := []string{"<", "!="}
	if &choice.Branches[0] != x.back[0] {
		goesOn = []string{">=", "=="}
	}
	isCounted := slices.Contains(goesOn, operator) && x.isIndex(left) || slices.Contains(goesOn, mirrored[operator]) && x.isIndex(right)
	if !isComparison || !isCounted {
		return x, false
	}
	// no turn may read the result of an earlier one, apart from the index
	return x, !slices.ContainsFunc(fdl.DataOf(x.task).Input, func(m expr.Mapping) bool {
		source, _ := m.Source.Path()
		local, isLocal := strings.CutPrefix(source.String(), "$local.")
		return isLocal && local != x.local && sets(x.task, local)
	})
}

// mirrored are the operators with their sides in the other order.
var mirrored = map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}

// isIndex reports whether a path of the choice is the index, and notes its keys and the list's.
func (x *indexed) isIndex(path expr.Path) bool {
	start, local, ok := x.startOf(path)
	if !ok || start != 0 || fdl.DataOf(x.task).Output != nil && !sets(x.task, local) {
		return false
	}
	x.local = local
	var others []string
	for _, m := range fdl.DataOf(x.task).Input {
		source, isPath := m.Source.Path()
		switch {
		case isPath && source.String() == "$local."+local:
			x.index = m.Target
		case isPath && source.Root() != expr.RootContext:
			others = append(others, m.Target)
		}
	}
	if len(others) == 1 {
		x.list = others[0]
	}
	return x.index != ""
}

func (x *indexed) finding() Finding {
	events, task := eventsOf(x.steps...), x.task.Name
	collection := `the list that ` + x.index + ` is the index of as its collection`
	if x.list != "" {
		collection = "collection: $." + x.list
	}
	return Finding{
		Position: x.steps[0].Position, Rule: IndexLoop, Steps: names(x.steps),
		Found: fmt.Sprintf("%s are a loop over the index %s: each turn adds %d events to the history, and after at most %d turns the execution fails with %s",
			listed(names(x.steps)), x.index, events, mostEvents(x.steps[0])/events, machine.ErrorEventLimit),
		Instead: fmt.Sprintf(`Write a foreach around %s with %s, item and index: %s, and remove the way back of %s; maxConcurrency: 1 keeps the calls in order. `+
			`If %s returns something else for the next turn than the index, keep the loop.`, task, collection, x.index, x.choice.Name, task),
		Saves: fmt.Sprintf("history: each iteration has one of its own, so the list may be longer. Without maxConcurrency up to %d iterations run at once. "+
			"%s is not called for an empty list, and its results are a list, $local of the foreach", flow.MaxConcurrency, task),
	}
}
