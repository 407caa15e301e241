package machine

import (
	"slices"
	"unicode/utf8"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/value"
)

// Question is the question of a step to the person who reports the outcome of its callback. It is
// not stored: the definition and the input of the step, which never change, always give the same
// question.
type Question struct {
	Prompt  string   `json:"prompt,omitempty"`
	Choices []string `json:"choices,omitempty"` // the labels
	// Outputs holds the outputs of the choices.
	Outputs []value.Value `json:"-"`
}

// maxPrompt is the most bytes of a prompt with its values.
const maxPrompt = 16 << 10

// Asks reports whether the step asks a question.
func Asks(step *flow.Step) bool {
	task := taskOf(step)
	return task != nil && (!task.Prompt.IsEmpty() || task.Choices != nil)
}

// JobParams returns the params of the job that the step starts with that input, which is complete.
// They are missing if it starts none.
func JobParams(step *flow.Step, input value.Value) value.Value {
	task, isTask := step.Kind.(*flow.Task)
	switch {
	case isTask && task.Resource.Kind != "":
		return task.Params.Eval(&expr.Scope{Self: input})
	case isTask && task.Resource.Function == flow.StartJob:
		return input.Get("params")
	}
	return value.Missing()
}

// QuestionOf returns the question of the step for its complete input. It returns nil for a step
// that asks nothing.
func QuestionOf(step *flow.Step, input value.Value) *Question {
	if !Asks(step) {
		return nil
	}
	task, scope := taskOf(step), &expr.Scope{Self: input}
	q := &Question{Prompt: task.Prompt.Eval(scope)}
	if len(q.Prompt) > maxPrompt {
		end := maxPrompt
		for !utf8.RuneStart(q.Prompt[end]) {
			end--
		}
		q.Prompt = q.Prompt[:end] + "..."
	}
	for _, c := range task.Choices {
		q.Choices, q.Outputs = append(q.Choices, c.Label), append(q.Outputs, c.Output.Eval(scope))
	}
	return q
}

// Output returns the output of the choice with that label. A question of nil has none.
func (q *Question) Output(label string) (output value.Value, ok bool) {
	if q == nil {
		return output, false
	}
	number := slices.Index(q.Choices, label)
	if number < 0 {
		return output, false
	}
	return q.Outputs[number], true
}

// Value returns the question without the outputs.
func (q Question) Value() value.Value {
	members := []value.Member{}
	if q.Prompt != "" {
		members = append(members, value.Member{Key: "prompt", Value: value.String(q.Prompt)})
	}
	if q.Choices != nil {
		labels := make([]value.Member, len(q.Choices))
		for i, label := range q.Choices {
			labels[i].Value = value.String(label)
		}
		members = append(members, value.Member{Key: "choices", Value: value.ArrayFrom(labels)})
	}
	return value.Object(members...)
}
