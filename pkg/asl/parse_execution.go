package asl

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/flow/document"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// startOperation starts an execution of a machine or a flow, as a sub-flow.
const startOperation = "states:startExecution"

// syncAsJSON ends the resource of a start with a result that has the output as JSON.
const syncAsJSON = ".sync:2"

// The parameters of a start.
const (
	paramMachine = "StateMachineArn"
	paramName    = "Name"
	paramInput   = "Input"
)

// execution reads a task that starts an execution.
func (p *parser) execution(task *flow.Task, d *data, field *document.Node, suffix string, n *document.Node) {
	text, _ := field.Text()
	p.operation(task, text, startOperation, n)
	task.Resource = flow.Resource{Text: text, Subflow: true}
	task.Integration += suffix
	task.Start = startParams
	task.Begun = func(work, response value.Value) value.Value {
		at, _ := flow.ParseTimestamp(response.Get("StartedTime")) // the engine wrote it
		return value.Object(
			value.Member{Key: "ExecutionArn", Value: value.String(executionARN(work.Get(paramMachine).Text(), response.Get("Name").Text()))},
			value.Member{Key: "StartDate", Value: value.Int(at.UnixMilli())},
		)
	}
	if params := n.Get(task.ParamsField); params != nil && params.Kind == document.Mapping {
		p.fields(params, "the "+task.ParamsField+" of "+startOperation, paramMachine, paramMachine+".$", paramName, paramName+".$", paramInput, paramInput+".$",
			"TraceHeader", "TraceHeader.$")
		machine := task.Written.Get(paramMachine)
		if machine.IsMissing() {
			p.required(params, paramMachine)
		}
		if name := machineName(machine.Text()); name != "" {
			task.Resource.Flow = name
		} else if field := params.Get(paramMachine); field != nil && machine.Text() != computed {
			p.unfit(field, paramMachine, "the ARN of a state machine")
		}
	}
	d.work = startWork
	switch suffix {
	case flow.SyncSuffix, syncAsJSON:
		task.Pattern = flow.PatternSync
		task.Ended = func(end flow.SubflowEnd) token.Outcome { return ended(end, suffix == syncAsJSON) }
	case "":
		d.result = func(f *flow.Frame) value.Value {
			return task.Begun(f.Lookup.Complete(f.Input), f.Lookup.Complete(f.Local))
		}
	}
}

// machineName returns the name of a machine for its ARN, a placeholder like "${Name}", or the name
// itself, "" for other texts. The version and the alias do not count.
func machineName(text string) string {
	if name, isPlaceholder := strings.CutPrefix(text, "${"); isPlaceholder {
		text = strings.TrimSuffix(strings.TrimSuffix(name, "}"), ".Arn")
	}
	if parts := strings.Split(text, ":"); len(parts) > 6 && parts[0] == "arn" && parts[2] == "states" && parts[5] == "stateMachine" {
		text = parts[6]
	}
	if !flow.ValidName(text) {
		return ""
	}
	return text
}

// startWork checks the parameters of a start.
func startWork(e *evaluation, v value.Value) (value.Value, error) {
	params := e.lookup.Open(v)
	machine, name := e.lookup.Complete(params.Get(paramMachine)), e.lookup.Complete(params.Get(paramName))
	switch {
	case len(e.lookup.Load) > 0:
	case machineName(machine.Text()) == "" || machine.Kind() != value.KindString:
		return v, e.fault("%s is %s; allowed: the ARN of a state machine", paramMachine, value.Shown(machine))
	case !name.IsMissing() && (name.Kind() != value.KindString || !flow.ValidExecution(name.Text())):
		return v, e.fault("%s is %s; allowed: %s", paramName, value.Shown(name), flow.ExecutionNames)
	}
	return v, nil
}

// startParams implements [flow.Task.Start].
func startParams(params value.Value) value.Value {
	members := []value.Member{{Key: flow.ParamFlowName, Value: value.String(machineName(params.Get(paramMachine).Text()))}}
	if name := params.Get(paramName); !name.IsMissing() {
		members = append(members, value.Member{Key: flow.ParamExecutionName, Value: name})
	}
	if input := params.Get(paramInput); input.Kind() != value.KindNull {
		members = append(members, value.Member{Key: flow.ParamInput, Value: input})
	}
	return value.Object(members...)
}

// executionARN returns the ARN of an execution of the machine with that ARN, or name.
func executionARN(machine, execution string) string {
	before, _, isARN := strings.Cut(machine, ":stateMachine:")
	if !isARN {
		before = "arn:aws:states::"
	}
	return before + ":execution:" + machineName(machine) + ":" + execution
}

// ended returns the description of an execution that a state waited for.
func ended(end flow.SubflowEnd, asJSON bool) token.Outcome {
	shown := func(v value.Value) value.Value {
		if asJSON {
			return v
		}
		return value.String(v.JSON())
	}
	machine := end.Work.Get(paramMachine).Text()
	input := startParams(end.Work).Get(flow.ParamInput)
	if inner, err := value.ParseJSON([]byte(input.Text())); err == nil {
		input = inner
	}
	included := value.Object(value.Member{Key: "Included", Value: value.Bool(true)})
	members := map[string]value.Value{
		"ExecutionArn": value.String(executionARN(machine, end.Execution)), "StateMachineArn": value.String(machine), "Name": value.String(end.Execution),
		"StartDate": value.Int(end.Began.UnixMilli()), "StopDate": value.Int(end.At.UnixMilli()),
		"Input": shown(cmp.Or(input, value.Object())), "InputDetails": included,
	}
	if !end.Outcome.Failed() {
		members["Status"], members["Output"], members["OutputDetails"] = value.String("SUCCEEDED"), shown(end.Outcome.Output), included
		return token.Success(objectOf(members))
	}
	statuses := map[string]string{errorStopped: "ABORTED", errorTimeout: "TIMED_OUT", "FnF.ExecutionTimeout": "TIMED_OUT"}
	members["Status"] = value.String(cmp.Or(statuses[end.Outcome.Error], "FAILED"))
	if name := end.Outcome.Error; name != errorFailed && name != errorStopped {
		members["Error"] = value.String(name)
	}
	if end.Outcome.Cause != "" {
		members["Cause"] = value.String(end.Outcome.Cause)
	}
	failure := token.Outcome{Error: errorTaskFailed, Cause: objectOf(members).JSON()}
	for cause := end.Outcome.Cause; failure.Cut().Cause != failure.Cause; failure.Cause = objectOf(members).JSON() {
		delete(members, "Input") // the description stays JSON
		cause = strings.ToValidUTF8(cause[:len(cause)/2], "")
		members["Cause"] = value.String(cause)
	}
	return failure
}

// errorStopped is the error of an execution that was stopped without one.
const errorStopped = "FnF.Stopped"

func objectOf(members map[string]value.Value) value.Value {
	var list []value.Member
	for _, key := range slices.Sorted(maps.Keys(members)) {
		list = append(list, value.Member{Key: key, Value: members[key]})
	}
	return value.Object(list...)
}
