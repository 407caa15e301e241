package machine

import (
	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// context is $context for mappings that use it, else missing. The event is the
// one that enters or leaves the step; the attempt is that of a task.
func (r *run) context(mappings expr.Mappings, step *fdl.Step, event, attempt int) value.Value {
	if !mappings.Uses(expr.RootContext) {
		return value.Missing()
	}
	s := r.state()
	members := []value.Member{
		{Key: "flow", Value: value.Object(
			value.Member{Key: "name", Value: value.String(s.Flow.Name)}, value.Member{Key: "id", Value: value.String(s.Flow.Hash)},
		)},
		{Key: "execution", Value: value.Object(
			value.Member{Key: "name", Value: value.String(s.Execution)},
			value.Member{Key: "startedTime", Value: value.String(s.Started.UTC().Format(TimeFormat))},
			value.Member{Key: "input", Value: s.Input},
		)},
	}
	if step != nil {
		members = append(members, value.Member{Key: "step", Value: value.Object(
			value.Member{Key: "name", Value: value.String(step.Name)},
			value.Member{Key: "eventId", Value: value.Int(int64(event))},
		)}, value.Member{Key: "task", Value: r.taskContext(step, attempt)})
	}
	return value.Object(members...)
}

// taskContext is $context.task of a task: the key of the attempt, and when it
// waits for a callback the token and the URL for that.
func (r *run) taskContext(step *fdl.Step, attempt int) value.Value {
	task, isTask := step.Kind.(*fdl.Task)
	if !isTask {
		return value.Missing()
	}
	s := r.state()
	key := Call{Attempt: Attempt{Step: step.Index, Number: attempt}, Flow: s.Flow, Execution: s.Execution, Step: step.Name}.Key()
	text := value.Missing()
	if task.Pattern == fdl.PatternWaitForCallback && r.env.Keys.Check() == nil {
		text = r.tokenText(task, attempt)
	}
	return value.Object(
		value.Member{Key: "idempotencyKey", Value: value.String(key)},
		value.Member{Key: "token", Value: text}, value.Member{Key: "callbackUrl", Value: r.callbackURL(text)},
	)
}

// callbackURL is where the outcome for the token is reported, missing where
// nobody listens.
func (r *run) callbackURL(text value.Value) value.Value {
	if r.env.CallbackBase == "" || text.IsMissing() {
		return value.Missing()
	}
	return value.String(token.CallbackURL(r.env.CallbackBase, text.Text()))
}

// needsCallbackBase returns the first step that maps a callback URL where there is no address for callbacks, nil for none.
func (r *run) needsCallbackBase() *fdl.Step {
	if r.env.CallbackBase != "" {
		return nil
	}
	for _, step := range r.env.Flow.All {
		if task := taskOf(step); task != nil && task.CallbackURL && task.Pattern == fdl.PatternWaitForCallback {
			return step
		}
	}
	return nil
}

func noCallbackBase(step, hint string) string {
	text := "step " + step + ": it maps a callback URL, and there is no address for callbacks here; map the token instead"
	if hint != "" {
		text += ", or " + hint
	}
	return text
}

// tokenText is the token of an attempt: when it was entered with earlier keys,
// that of then.
func (r *run) tokenText(task *fdl.Task, attempt int) value.Value {
	if r.left == nil || r.left.Attempt.Number != attempt || r.left.Token == nil {
		return value.String(r.env.Keys.Sign(r.state().tokenID(task, Attempt{Number: attempt})))
	}
	text, ok := r.env.Keys.SignAgain(r.left.Token.Handle)
	if !ok {
		return value.Missing()
	}
	return value.String(text)
}
