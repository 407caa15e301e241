package advise

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
)

// indexed is a loop that calls a function with a list and an index, until the index is at the end of
// the list.
type indexed struct {
	loop

	index string // the key of the index in the task's input
	local string // and in the local value
	list  string // the key of the list in the task's input, "" if that is not known
}

// indexLoops returns the findings about the loops over an index.
func indexLoops(flow *flow.Flow, nodes nodes) (findings []Finding) {
	for _, step := range flow.All {
		if x, ok := indexedBy(step); ok {
			findings = append(findings, x.finding(flow, nodes))
		}
	}
	return findings
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
	if task.Resource.Subflow || fdl.DataOf(x.task).Input == nil || !x.counts(choice) {
		return x, false
	}
	return x, x.isIndependent()
}

// mirrored are the operators with their sides in the other order.
var mirrored = map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}

// counts reports whether the choice compares an index that begins at 0 with the length of a list.
func (x *indexed) counts(choice *flow.Choice) bool {
	branch := &choice.Branches[0]
	left, operator, right, ok := conditionOf(branch).ComparedPaths()
	goesOn := []string{"<", "!="}
	if branch != x.back[0] {
		goesOn = []string{">=", "=="}
	}
	return ok && (slices.Contains(goesOn, operator) && x.isIndex(left) || slices.Contains(goesOn, mirrored[operator]) && x.isIndex(right))
}

// isIndex reports whether a path of the choice is the index, and notes its keys and that of the list.
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

// isIndependent reports whether no turn reads what an earlier one returned, apart from the index.
func (x *indexed) isIndependent() bool {
	return !slices.ContainsFunc(fdl.DataOf(x.task).Input, func(m expr.Mapping) bool {
		source, _ := m.Source.Path()
		local, isLocal := strings.CutPrefix(source.String(), "$local.")
		return isLocal && local != x.local && sets(x.task, local)
	})
}

func (x *indexed) finding(def *flow.Flow, nodes nodes) Finding {
	events := eventsOf(x.steps...)
	return Finding{
		Position: x.steps[0].Position, Rule: IndexLoop, Step: x.task.Name, Replaces: stepNames(x.steps), Instead: written(x.asForeach(def, nodes)...),
		Found: fmt.Sprintf("%s are a loop over the index %s: each turn adds %d events to the history, which is full after %d turns at most, "+
			"and the execution fails with %s", listed(stepNames(x.steps)), x.index, events, machine.DefaultEvents/events, machine.ErrorEventLimit),
		Saves: fmt.Sprintf("history: each iteration has one of its own, so the list may be longer. Without maxConcurrency up to %d iterations run at once. "+
			"%s gets the same inputs, and is not called for an empty list. Its results are a list, $local of the foreach: map what later steps read. "+
			"If %s returns something else for the next turn than the index, keep the loop", flow.MaxConcurrency, x.task.Name, x.task.Name),
	}
}

// asForeach is the steps to write instead of the loop.
func (x *indexed) asForeach(def *flow.Flow, nodes nodes) []*yaml.Node {
	task := nodes.step(x.task)
	item := freeName("item", func(name string) bool {
		return slices.ContainsFunc(fdl.DataOf(x.task).Input, func(m expr.Mapping) bool { return m.Target == name })
	})
	var outer, inner []*yaml.Node
	for i, m := range elements(task, "inputMappings") {
		target := fdl.DataOf(x.task).Input[i].Target
		if target != x.index {
			outer = append(outer, m)
		}
		inner = append(inner, mapped(target, "$input."+target))
	}
	set(task, "inputMappings", list(inner...), "the element is $input."+item)
	x.dropIndex(task)
	collection := scalar("$." + x.list)
	if x.list == "" {
		collection = scalar("$.list")
		collection.LineComment = "# the list that " + x.index + " is the index of"
	}
	name := freeName("Each"+x.task.Name, func(name string) bool {
		return slices.ContainsFunc(def.All, func(s *flow.Step) bool { return s.Name == name })
	})
	each := mapping("type", scalar("foreach"), "name", scalar(name),
		"iterationMapping", mapping("collection", collection, "item", scalar(item), "index", scalar(x.index)),
		"maxConcurrency", scalar(1), "inputMappings", list(outer...), "steps", list(task))
	annotate(each, "maxConcurrency", "one after the other, as in the loop")
	if choice := x.remaining(nodes); choice != nil {
		return []*yaml.Node{each, choice}
	}
	if x.choice.End {
		each.Content = append(each.Content, scalar("end"), scalar(true))
	}
	return []*yaml.Node{each}
}

// remaining is what remains of the choice: where the loop goes when it ends.
func (x *indexed) remaining(nodes nodes) *yaml.Node {
	p := polled{loop: &x.loop}
	for _, way := range ways(x.choice) {
		if way != x.back[0] {
			p.otherwise = way
		}
	}
	return p.remaining(nodes)
}

// dropIndex removes the mapping of the index from the task's output: the foreach counts.
func (x *indexed) dropIndex(task *yaml.Node) {
	outputs := field(task, "outputMappings")
	if outputs == nil {
		return
	}
	outputs.Content = slices.DeleteFunc(outputs.Content, func(m *yaml.Node) bool {
		target := field(m, "target")
		return target != nil && target.Value == x.local
	})
	if len(outputs.Content) == 0 {
		remove(task, "outputMappings")
	}
}

// freeName returns a name that is free.
func freeName(name string, isTaken func(string) bool) string {
	name = name[:min(len(name), flow.MaxName/2)]
	for isTaken(name) {
		name += "_"
	}
	return name
}
