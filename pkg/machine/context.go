package machine

import (
	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/token"
)

// context is $context for mappings that use it, else missing. The event is the
// one that enters or leaves the step; the attempt is that of a task.
func (r *run) context(mappings expr.Mappings, step *fdl.Step, event, attempt int) expr.Value {
	if !mappings.Uses(expr.RootContext) {
		return expr.Missing()
	}
	s := r.state()
	members := []expr.Member{
		{Key: "flow", Value: expr.Object(
			expr.Member{Key: "name", Value: expr.String(s.Flow.Name)}, expr.Member{Key: "id", Value: expr.String(s.Flow.Hash)},
		)},
		{Key: "execution", Value: expr.Object(
			expr.Member{Key: "name", Value: expr.String(s.Execution)},
			expr.Member{Key: "startedTime", Value: expr.String(s.Started.UTC().Format(TimeFormat))},
			expr.Member{Key: "input", Value: s.Input},
		)},
	}
	if step != nil {
		members = append(members, expr.Member{Key: "step", Value: expr.Object(
			expr.Member{Key: "name", Value: expr.String(step.Name)},
			expr.Member{Key: "eventId", Value: expr.Int(int64(event))},
		)}, expr.Member{Key: "task", Value: r.taskContext(step, attempt)})
	}
	return expr.Object(members...)
}

// taskContext is $context.task of a task: the key of the attempt, and when it
// waits for a callback the token and the URL for that.
func (r *run) taskContext(step *fdl.Step, attempt int) expr.Value {
	task, isTask := step.Kind.(*fdl.Task)
	if !isTask {
		return expr.Missing()
	}
	s := r.state()
	key := Call{Attempt: Attempt{Step: step.Index, Number: attempt}, Flow: s.Flow, Execution: s.Execution, Step: step.Name}.Key()
	text := expr.Missing()
	if task.Pattern == fdl.PatternWaitForCallback && r.env.Keys.Check() == nil {
		text = r.tokenText(task, attempt)
	}
	return expr.Object(
		expr.Member{Key: "idempotencyKey", Value: expr.String(key)},
		expr.Member{Key: "token", Value: text}, expr.Member{Key: "callbackUrl", Value: r.callbackURL(text)},
	)
}

// callbackURL is where the outcome for the token is reported, missing where
// nobody listens.
func (r *run) callbackURL(text expr.Value) expr.Value {
	if r.env.CallbackBase == "" || text.IsMissing() {
		return expr.Missing()
	}
	return expr.String(token.CallbackURL(r.env.CallbackBase, text.Text()))
}

// deaf is the first step whose callback would arrive nowhere, nil for none.
func (r *run) deaf() *fdl.Step {
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

// tokenText is the token of an attempt: when it was entered with earlier keys,
// that of then.
func (r *run) tokenText(task *fdl.Task, attempt int) expr.Value {
	if r.left == nil || r.left.Attempt.Number != attempt || r.left.Handle == "" {
		return expr.String(r.env.Keys.Sign(r.state().tokenID(task, Attempt{Number: attempt})))
	}
	text, ok := r.env.Keys.SignAgain(r.left.Handle)
	if !ok {
		return expr.Missing()
	}
	return expr.String(text)
}
