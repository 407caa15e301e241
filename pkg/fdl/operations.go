package fdl

import (
	"strconv"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/value"
)

// actionText is the position of a task's action or resource, and the node of its params, nil for none.
type actionText struct {
	at     Position
	params *node
}

func (p *parser) keepAction(task *Task, f *fields) {
	text := actionText{params: f.get("serviceParams")}
	for _, field := range []string{"action", "resourceArn"} {
		if n := f.get(field); n != nil {
			text.at = n.pos
		}
	}
	if p.flow.actions == nil {
		p.flow.actions = map[*Task]actionText{}
	}
	p.flow.actions[task] = text
}

// action returns the action that the task calls, starts a job with or sends a message with; "" for a function, and for a custom kind,
// whose params only its function knows.
func (t *Task) action() string {
	if jobs.IsCustom(t.Resource.Kind) {
		return ""
	}
	if kind, ok := jobs.Find(t.Resource.Kind); ok {
		return kind.Action()
	}
	return t.Resource.Operation
}

// ActionMistake is a mistake in a task with an action.
type ActionMistake struct {
	// Message has what was found and what is allowed, or what is missing.
	Message string
	// InParams reports that the mistake is in the params, and not in the name of the action.
	InParams bool
	// Path leads to the mistake in the params: names of members and indices of elements.
	Path []string
	// Warning reports that the flow can run on one machine, but not on AWS.
	Warning bool
}

// CheckActions returns the problems of the actions of a flow's tasks, in the order of their positions. This package does not know
// the operations of services: check returns the mistakes of an action, such as "dynamodb:PutItem", with its params. In params, texts
// that begin with "$" are paths. Check suggests names with suggest, which stops at [MaxProblems]: more are not reported, and
// comparing names takes long.
func (f *Flow) CheckActions(check func(action string, params value.Value, suggest Suggest) []ActionMistake) Problems {
	var problems Problems
	places, suggested := places{}, 0
	suggest := func(found string, names []string) string {
		if suggested++; suggested > MaxProblems {
			return ""
		}
		return DidYouMean(found, names)
	}
	for _, task := range f.Tasks() {
		action := task.action()
		if action == "" {
			continue
		}
		for _, mistake := range check(action, task.Params.Source(), suggest) {
			text := f.actions[task]
			severity, at := SeverityError, text.at
			if mistake.Warning {
				severity = SeverityWarning
			}
			if mistake.InParams && text.params != nil {
				at = places.of(text.params, mistake.Path)
			}
			problems = append(problems, newProblem(severity, at, "%s", mistake.Message))
		}
	}
	problems.sort()
	return problems.limited()
}

// PositionOf returns the position of a value in a YAML text. The path has names of members and indices of elements. If it leads to
// no value, the position is that of the last value on the way.
func PositionOf(text []byte, path ...string) Position {
	n := (&reader{}).read(text)
	if n == nil {
		return Position{Line: 1, Column: 1}
	}
	for _, part := range path {
		next := n.get(part)
		if i, err := strconv.Atoi(part); err == nil && i < len(n.items) {
			next = n.items[i]
		}
		if next == nil {
			break
		}
		n = next
	}
	return n.pos
}

// Suggest returns the end of a message, as [DidYouMean].
type Suggest func(found string, names []string) string

// places has the entries of mappings by their keys.
type places map[*node]map[string]entry

// entries returns those of n. It goes through a mapping once: each of its many members may have a mistake.
func (p places) entries(n *node) map[string]entry {
	if _, isKnown := p[n]; !isKnown {
		p[n] = map[string]entry{}
		for _, e := range n.entries {
			p[n][e.key] = e
		}
	}
	return p[n]
}

// of returns the position of the value at the path; for a member, of its key. If the path leads to no value, the position is that
// of the last value on the way.
func (p places) of(n *node, path []string) Position {
	at := n.pos
	for _, part := range path {
		var next *node
		if e, ok := p.entries(n)[part]; ok {
			next, at = e.value, e.pos
		}
		if i, err := strconv.Atoi(part); err == nil && i < len(n.items) {
			next, at = n.items[i], n.items[i].pos
		}
		if next == nil {
			return at
		}
		n = next
	}
	return at
}
