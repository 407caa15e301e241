package fdl

import (
	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// Data are the mappings of a step, or of a flow. It implements [flow.Data]. Mappings that the
// definition does not have are nil.
type Data struct {
	Input, Output expr.Mappings
	// Errors are the output of a caught error. They read $local.error and $local.cause.
	Errors expr.Mappings
	// isFork says that the local value is a list, which nothing becomes that is not mapped.
	isFork bool
}

// DataOf returns the mappings of a step, empty ones if its flow is in another language.
func DataOf(step *flow.Step) *Data {
	if data, ok := step.Data.(*Data); ok {
		return data
	}
	return &Data{}
}

// Enter implements [flow.Data].
func (d *Data) Enter(f *flow.Frame) flow.Entry {
	switch {
	case d.Input != nil:
		return flow.Entry{Input: mapped("inputMappings", d.Input, f)}
	case f.Local.IsMissing():
		return flow.Entry{Input: f.Input}
	}
	return flow.Entry{Input: join(f.Lookup, f.Input, flow.Exit{Output: f.Local})}
}

// join implements [flow.Flow.Join]. It loads no more of both objects than their keys.
func join(lookup *value.Lookup, local value.Value, exit flow.Exit) value.Value {
	return value.Merge(lookup.Open(local), lookup.Open(exit.Output))
}

// Leave implements [flow.Data].
func (d *Data) Leave(f *flow.Frame) flow.Exit {
	exit := flow.Exit{Output: f.Local, Local: f.Local}
	switch {
	case d.Output != nil:
		exit.Output = mapped("outputMappings", d.Output, f)
	case d.isFork:
		exit.Output = value.Object()
	}
	return exit
}

// Caught implements [flow.Data].
func (d *Data) Caught(f *flow.Frame, _ int, failure token.Outcome) flow.Exit {
	if d.Errors == nil {
		return flow.Exit{Output: value.Object()}
	}
	f.Local = value.Object(
		value.Member{Key: "error", Value: value.String(failure.Error)}, value.Member{Key: "cause", Value: value.String(failure.Cause)},
	)
	return flow.Exit{Output: mapped("errorMappings", d.Errors, f)}
}

// ReadsResult implements [flow.Data].
func (d *Data) ReadsResult() bool { return d.Output.Uses(expr.RootLocal) }

// ReadsAttempt implements [flow.Data].
func (d *Data) ReadsAttempt() bool { return d.Input.Uses(expr.RootContext) }

// mapped evaluates the mappings in a field and reports each mapping with a missing source.
func mapped(field string, mappings expr.Mappings, f *flow.Frame) value.Value {
	scope := &expr.Scope{Input: f.Input, Local: f.Local, Lookup: f.Lookup}
	if mappings.Uses(expr.RootContext) {
		scope.Context = contextOf(f.Context())
	}
	made := mappings.Eval(scope)
	if made.Len() == len(mappings) {
		return made
	}
	for _, m := range mappings {
		if path, _ := m.Source.Path(); made.Get(m.Target).IsMissing() {
			f.Missing(field, m.Target, path.String())
		}
	}
	return made
}

// contextOf returns $context.
func contextOf(c flow.Context) value.Value {
	members := []value.Member{
		{Key: "flow", Value: value.Object(
			value.Member{Key: "name", Value: value.String(c.Flow)}, value.Member{Key: "id", Value: value.String(c.Hash)},
		)},
		{Key: "execution", Value: value.Object(
			value.Member{Key: "name", Value: value.String(c.Execution)}, value.Member{Key: "startedTime", Value: value.String(c.Started)},
			value.Member{Key: "input", Value: c.Input},
		)},
	}
	if c.Step.Name == "" {
		return value.Object(members...)
	}
	members = append(members, value.Member{Key: "step", Value: value.Object(
		value.Member{Key: "name", Value: value.String(c.Step.Name)}, value.Member{Key: "eventId", Value: value.Int(int64(c.Step.Event))},
	)})
	if c.Step.Key != "" {
		members = append(members, value.Member{Key: "task", Value: value.Object(
			value.Member{Key: "idempotencyKey", Value: value.String(c.Step.Key)},
			value.Member{Key: "token", Value: c.Step.Token}, value.Member{Key: "callbackUrl", Value: c.Step.CallbackURL},
		)})
	}
	return value.Object(members...)
}
