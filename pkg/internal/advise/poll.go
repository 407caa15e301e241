package advise

import (
	"slices"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/value"
)

// polled is a loop as one step that waits for a condition.
type polled struct {
	*loop

	// until is the condition on the task's result that ends the loop. It is known if the choice
	// depends on nothing else.
	until expr.Condition
	known bool
	// maxPolls is after how many polls the loop gives up, 0 for never. giveUp is where it goes
	// then, nil for the step behind the loop.
	maxPolls int
	giveUp   *flow.Branch
	// counted is the key of the local value that counts the polls.
	counted string
	// rest and otherwise are the branches and the default of the choice that leave the loop.
	rest      []*flow.Branch
	otherwise *flow.Branch
}

// asPoll reads the choice of the loop, its last branch first.
func asPoll(l *loop) polled {
	choice, _ := l.choice.Kind.(*flow.Choice)
	p := polled{loop: l, known: true, until: expr.Constant(true)}
	switch b := choice.Default; {
	case b == nil:
	case slices.Contains(l.back, b):
		p.until = expr.Constant(false)
	default:
		p.otherwise = b
	}
	for i := range slices.Backward(choice.Branches) {
		p.read(&choice.Branches[i])
	}
	slices.Reverse(p.rest)
	_, err := expr.ParseCondition(p.until.String()) // it may be nested too deep by now
	p.known = p.known && err == nil && !p.until.IsConstant(true) && !p.until.IsConstant(false)
	return p
}

// read takes a branch into account, after the branches behind it.
func (p *polled) read(b *flow.Branch) {
	back := slices.Contains(p.back, b)
	terms := []expr.Condition{conditionOf(b)}
	if back {
		terms = conditionOf(b).Terms()
	}
	terms = slices.DeleteFunc(terms, func(term expr.Condition) bool { return p.counts(term, b, back) })
	if len(terms) == 0 {
		return
	}
	condition := expr.Constant(true)
	for _, term := range terms {
		condition = condition.And(term)
	}
	if !back {
		p.rest = append(p.rest, b)
	}
	if p.until.IsConstant(!back) {
		return // the loop ends in any case, or never
	}
	condition, known := condition.MapPaths(p.onResult)
	p.known = p.known && known
	if back {
		p.until = condition.Not().And(p.until)
	} else {
		p.until = condition.Or(p.until)
	}
}

// counts reports whether a term compares the number of polls with a limit, and notes the limit and
// where the flow goes beyond it.
func (p *polled) counts(term expr.Condition, b *flow.Branch, back bool) bool {
	path, operator, with, _ := term.Comparison()
	limit, whole := with.Int64()
	start, local, ok := p.startOf(path)
	if !whole || !ok {
		return false
	}
	polls := 0
	switch {
	case !back && operator == ">", back && operator == "<=":
		polls = int(limit) - start + 1
	case !back && (operator == ">=" || operator == "=="), back && operator == "<":
		polls = int(limit) - start
	}
	if polls < 1 {
		return false
	}
	p.maxPolls, p.counted, p.giveUp = polls, local, b
	if back {
		p.giveUp = p.otherwise
	}
	return true
}

// startOf is the number from which a key of the choice's input counts, and its key in the local
// value: a step before the loop sets it, and the task reads it, to return the next one.
func (l *loop) startOf(path expr.Path) (start int, local string, ok bool) {
	source, ok := localOf(l.choice, path)
	local, rest, isKey := source.Cut()
	input := fdl.DataOf(l.task).Input
	isRead := input == nil || slices.ContainsFunc(input, func(m expr.Mapping) bool {
		path, isPath := m.Source.Path()
		return isPath && path.String() == source.String()
	})
	if !ok || !isKey || rest.String() != string(expr.RootLocal) || !isRead {
		return 0, "", false
	}
	v, ok := l.setBefore(local)
	n, whole := v.Int64()
	return int(n), local, ok && whole
}

// setBefore is the constant that a step before the loop gives a key.
func (l *loop) setBefore(local string) (v value.Value, ok bool) {
	for _, step := range slices.Backward(l.earlier) {
		if v, ok := constantOf(fdl.DataOf(step).Output, local); ok {
			return v, true
		}
	}
	return v, false
}

// localOf is where in the local value a path of a step's input leads.
func localOf(step *flow.Step, path expr.Path) (local expr.Path, ok bool) {
	if fdl.DataOf(step).Input == nil {
		return path.On(expr.RootLocal), true
	}
	key, rest, _ := path.Cut()
	source, ok := sourceOf(fdl.DataOf(step).Input, key)
	return source.Join(rest), ok && source.Root() == expr.RootLocal
}

// sourceOf is the path that a target gets its value from.
func sourceOf(mappings expr.Mappings, target string) (path expr.Path, ok bool) {
	for _, m := range mappings {
		if source, isPath := m.Source.Path(); m.Target == target && isPath {
			return source, true
		}
	}
	return path, false
}

// constantOf is the constant that a target gets.
func constantOf(mappings expr.Mappings, target string) (v value.Value, ok bool) {
	for _, m := range mappings {
		if _, isPath := m.Source.Path(); m.Target == target && !isPath {
			return m.Source.Eval(&expr.Scope{}), true
		}
	}
	return v, false
}

// onResult is where in the task's result a path of the choice's input leads.
func (l *loop) onResult(path expr.Path) (result expr.Path, ok bool) {
	local, ok := localOf(l.choice, path)
	key, rest, isKey := local.Cut()
	if !ok || !isKey {
		return path, false
	}
	if source, ok := sourceOf(fdl.DataOf(l.task).Output, key); ok {
		return source.On(expr.RootSelf).Join(rest), source.Root() == expr.RootLocal && !l.isSetAfter(key)
	}
	isSetElsewhere := slices.ContainsFunc(slices.Concat(l.siblings, l.turn()), func(step *flow.Step) bool { return step != l.task && sets(step, key) })
	return local.On(expr.RootSelf), fdl.DataOf(l.task).Output == nil && !l.isSetAfter(key) && !isSetElsewhere
}

// isSetAfter reports whether a step between the task and the choice may set the same key.
func (l *loop) isSetAfter(key string) bool {
	return l.index < len(l.steps) && slices.ContainsFunc(l.steps[l.index+1:], func(step *flow.Step) bool { // else the choice follows at once
		return is[*flow.Task](step) && fdl.DataOf(step).Output == nil || sets(step, key)
	})
}

func sets(step *flow.Step, key string) bool {
	return slices.ContainsFunc(fdl.DataOf(step).Output, func(m expr.Mapping) bool { return m.Target == key })
}

// conditionOf returns the condition of a branch, a zero one if it has none.
func conditionOf(b *flow.Branch) expr.Condition {
	condition, _ := b.Condition.(expr.Condition)
	return condition
}
