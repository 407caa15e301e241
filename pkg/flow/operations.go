package flow

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/waitless/waitless/pkg/internal/similar"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/value"
)

// action returns the action that the task calls, starts a job with or sends a message with. It
// returns "" for a function, and for a custom kind: only its function knows the params.
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
	// Message says which text was found and which is allowed, or which is missing.
	Message string
	// InParams reports that the mistake is in the params, and not in the name of the action.
	InParams bool
	// Path leads to the mistake in the params: names of members and indices of elements.
	Path []string
	// Warning reports that the flow can run on one machine, but not on AWS.
	Warning bool
}

// CheckActions returns the problems of the actions of a flow's tasks, in the order of their
// positions. This package does not know the operations of services: check returns the mistakes of
// an action, such as "dynamodb:PutItem", with its params. In params, texts that begin with "$" are
// paths. Check suggests names with suggest, which stops at [MaxProblems]: more are not reported,
// and comparing names takes long.
func (f *Flow) CheckActions(check func(action string, params value.Value, suggest Suggest) []ActionMistake) Problems {
	var problems Problems
	suggested := 0
	suggest := func(found string, names []string) string {
		if suggested++; suggested > MaxProblems {
			return ""
		}
		return similar.DidYouMean(found, names)
	}
	for step, task := range f.Tasks() {
		action := task.action()
		if action == "" {
			continue
		}
		var place func(path []string) Position
		for _, mistake := range check(action, cmp.Or(task.Written, task.Params.Source()), suggest) {
			if mistake.InParams && task.Params.IsMissing() && task.Written.IsMissing() {
				continue // the input of the step has them
			}
			severity, at := SeverityError, task.At
			if mistake.Warning {
				severity = SeverityWarning
			}
			if mistake.InParams && task.ParamPlaces != nil {
				if place == nil {
					place = task.ParamPlaces()
				}
				at = place(mistake.Path)
			}
			message := mistake.Message
			if task.ParamsField != "" {
				message = fmt.Sprintf("state %q: %s", step.Name, strings.ReplaceAll(message, "serviceParams", task.ParamsField))
			}
			problems = append(problems, NewProblem(severity, at, "%s", message))
		}
	}
	return problems.Reported()
}

// Suggest returns the end of a message, as [similar.DidYouMean].
type Suggest func(found string, names []string) string
