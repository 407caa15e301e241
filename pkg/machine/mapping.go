package machine

import (
	"slices"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// UnmappedSource is a mapping whose source was missing, so that its target was left out, or the ExecutionName of
// a sub-flow. It has no value of the execution.
type UnmappedSource struct {
	// Step is the name of a step, empty for the flow.
	Step string
	// Mappings is the field that the mapping stands in, like "inputMappings", or "serviceParams".
	Mappings string
	Target   string
	Source   string // a path
}

// String is for logs: "step Ask: inputMappings: id <- $local.id".
func (a UnmappedSource) String() string {
	return a.Place() + ": " + a.Mappings + ": " + a.Target + " <- " + a.Source
}

// Place names what has the mapping: "step Ask", or "the flow".
func (a UnmappedSource) Place() string { return placeOf(a.Step) }

func placeOf(step string) string {
	if step == "" {
		return "the flow"
	}
	return "step " + step
}

// The fields that mappings stand in, and the parameters of a sub-flow.
const (
	inputMappings  = "inputMappings"
	outputMappings = "outputMappings"
	errorMappings  = "errorMappings"
	serviceParams  = "serviceParams"
)

// mapped evaluates the mappings in a field of the step, or of the flow if step is nil, and notes
// those whose source is missing.
func (r *run) mapped(step *flow.Step, field string, mappings expr.Mappings, scope *expr.Scope) value.Value {
	scope.Lookup = &r.lookup
	made := mappings.Eval(scope)
	if made.Len() < len(mappings) {
		r.noteUnmapped(step, field, mappings, made)
	}
	return made
}

// noteUnmapped notes each mapping once whose target is missing in made.
func (r *run) noteUnmapped(step *flow.Step, field string, mappings expr.Mappings, made value.Value) {
	for _, m := range mappings {
		path, _ := m.Source.Path()
		if !made.Get(m.Target).IsMissing() {
			continue
		}
		absent := UnmappedSource{Mappings: field, Target: m.Target, Source: path.String()}
		if step != nil {
			absent.Step = step.Name
		}
		r.addUnmapped(absent)
	}
}

func (r *run) addUnmapped(absent UnmappedSource) {
	if !slices.Contains(r.next.Unmapped, absent) {
		r.next.Unmapped = append(r.next.Unmapped, absent)
	}
}

// noteUnnamed notes that the ExecutionName of a sub-flow is missing in the parameters of an attempt.
func (r *run) noteUnnamed(step *flow.Step, task *flow.Task, params value.Value) {
	const name = flow.ParamExecutionName
	if task.Resource.Subflow && task.Params.Has(name) && params.Get(name).IsMissing() {
		r.addUnmapped(UnmappedSource{Step: step.Name, Mappings: serviceParams, Target: name, Source: task.Params.Source().Get(name).Text()})
	}
}

// context is $context for mappings that use it, else missing. The event is the one that enters or
// leaves the step, and the attempt that of a task.
func (r *run) context(mappings expr.Mappings, step *flow.Step, event, attempt int) value.Value {
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

// taskContext is $context.task: the key of the attempt, and the token and the callback URL of a
// task that waits for a callback.
func (r *run) taskContext(step *flow.Step, attempt int) value.Value {
	task, isTask := step.Kind.(*flow.Task)
	if !isTask {
		return value.Missing()
	}
	key := r.callOf(step, Attempt{Step: step.Index, Number: attempt}).Key()
	text := value.Missing()
	if task.Pattern == flow.PatternWaitForCallback && r.env.Keys.Check() == nil {
		text = r.tokenText(task, attempt)
	}
	return value.Object(
		value.Member{Key: "idempotencyKey", Value: value.String(key)},
		value.Member{Key: "token", Value: text}, value.Member{Key: "callbackUrl", Value: r.callbackURL(text)},
	)
}

// callbackURL is where the outcome for the token is reported, missing without an address for
// callbacks.
func (r *run) callbackURL(text value.Value) value.Value {
	if r.env.CallbackBase == "" || text.IsMissing() {
		return value.Missing()
	}
	return value.String(token.CallbackURL(r.env.CallbackBase, text.Text()))
}

// needsCallbackBase returns the first step that maps a callback URL where there is no address for
// callbacks, nil for none.
func (r *run) needsCallbackBase() *flow.Step {
	if r.env.CallbackBase != "" {
		return nil
	}
	for step, task := range r.env.Flow.Tasks() {
		if task.CallbackURL && task.Pattern == flow.PatternWaitForCallback {
			return step
		}
	}
	return nil
}

// noCallbackBase is the failure of an execution that needs a callback URL where there is no address
// for callbacks.
func noCallbackBase(step, hint string) token.Outcome {
	text := "step " + step + ": it maps a callback URL, and there is no address for callbacks here; map the token instead"
	if hint != "" {
		text += ", or " + hint
	}
	return token.Failure(ErrorInvalidArgument, text)
}

// tokenText is the token of an attempt. If an earlier key signed it, that key signs it again.
func (r *run) tokenText(task *flow.Task, attempt int) value.Value {
	if r.endedWaiting == nil || r.endedWaiting.Attempt.Number != attempt || r.endedWaiting.Token == nil {
		r.keepForTask(task)
		return value.String(r.env.Keys.Sign(r.state().tokenID(task, Attempt{Number: attempt})))
	}
	text, ok := r.env.Keys.SignAgain(r.endedWaiting.Token.Handle)
	if !ok {
		return value.Missing()
	}
	return value.String(text)
}
