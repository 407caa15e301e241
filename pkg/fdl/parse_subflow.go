package fdl

import (
	"slices"
	"strings"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/flow/document"
	"github.com/waitless/waitless/pkg/internal/similar"
	"github.com/waitless/waitless/pkg/value"
)

// StartExecution is the action that starts a sub-flow.
const StartExecution = "fnf:StartExecution"

// subflowParams checks the parameters of a sub-flow's start and returns them with their defaults. n
// may be nil.
func (p *parser) subflowParams(n *document.Node, resource flow.Resource) value.Value {
	params := value.Object(value.Member{Key: flow.ParamInput, Value: value.String("$")})
	if resource.Flow != "" {
		params = value.Merge(params, value.Object(value.Member{Key: flow.ParamFlowName, Value: value.String(resource.Flow)}))
	}
	if n == nil || n.Kind != document.Mapping {
		return params
	}
	allowed := []string{flow.ParamInput, flow.ParamExecutionName}
	if resource.Flow == "" {
		allowed = append(allowed, flow.ParamFlowName)
		misspelt := func(e document.Entry) bool { return similar.Closest(e.Key, allowed) == flow.ParamFlowName }
		if !slices.ContainsFunc(n.Entries, misspelt) {
			p.Problem(n.Pos, `serviceParams has no "FlowName", which the action %s starts`, StartExecution)
		}
	}
	for _, e := range n.Entries {
		p.subflowParam(e, resource, allowed)
	}
	return params
}

// subflowParam checks a parameter. A value that begins with "$" is a path; the selected value is
// checked when the step runs.
func (p *parser) subflowParam(e document.Entry, resource flow.Resource, allowed []string) {
	text, isText := e.Value.Text()
	isPath := isText && strings.HasPrefix(text, "$")
	object, _ := value.ParseJSON([]byte(text))
	switch {
	case e.Key == flow.ParamFlowName && resource.Flow != "":
		p.Problem(e.Pos, `serviceParams has "FlowName", which resourceArn names; remove it, or write "action: %s" instead of resourceArn`, StartExecution)
	case e.Key == "CallbackFnFTaskToken":
		p.Problem(e.Pos, `serviceParams has "CallbackFnFTaskToken", which this release does not pass on; write "pattern: sync" to wait for the end of the sub-flow`)
	case e.Key != flow.ParamInput && e.Key != flow.ParamExecutionName && e.Key != flow.ParamFlowName:
		p.Problem(e.Pos, "field %q is unknown in serviceParams of a sub-flow%s (allowed: %s)",
			document.Shortened(e.Key), p.didYouMean(e.Key, allowed), strings.Join(allowed, ", "))
	case isPath:
	case e.Key == flow.ParamInput && e.Value.Kind != document.Mapping && object.Kind() != value.KindObject:
		p.unfit(e.Value, flow.ParamInput, "a mapping, a path like $ or $.key, or an object as JSON text")
	case e.Key == flow.ParamExecutionName && (!isText || !flow.ValidExecution(text)):
		p.unfit(e.Value, e.Key, "a path like $.key, or a name: "+flow.ExecutionNames)
	case e.Key == flow.ParamFlowName && (!isText || !flow.ValidName(text)):
		p.unfit(e.Value, e.Key, `a path like $.key, or a name: a letter or "_", then letters, digits, "_" and "-", 128 characters at most`)
	case e.Key == flow.ParamExecutionName:
		p.warn(e.Value.Pos, "ExecutionName is always %q, so only one execution can start the sub-flow; map a name that differs, or remove ExecutionName", text)
	}
}
