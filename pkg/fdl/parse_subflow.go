package fdl

import (
	"slices"
	"strings"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/internal/similar"
	"github.com/waitless/waitless/pkg/value"
)

// StartExecution is the action that starts a sub-flow.
const StartExecution = "fnf:StartExecution"

// subflowParams checks the parameters of a sub-flow's start and returns them with their defaults. n
// may be nil.
func (p *parser) subflowParams(n *node, resource flow.Resource) value.Value {
	params := value.Object(value.Member{Key: flow.ParamInput, Value: value.String("$")})
	if resource.Flow != "" {
		params = value.Merge(params, value.Object(value.Member{Key: flow.ParamFlowName, Value: value.String(resource.Flow)}))
	}
	if n == nil || n.kind != nodeMapping {
		return params
	}
	allowed := []string{flow.ParamInput, flow.ParamExecutionName}
	if resource.Flow == "" {
		allowed = append(allowed, flow.ParamFlowName)
		misspelt := func(e entry) bool { return similar.Closest(e.key, allowed) == flow.ParamFlowName }
		if !slices.ContainsFunc(n.entries, misspelt) {
			p.problem(n.pos, `serviceParams has no "FlowName", which the action %s starts`, StartExecution)
		}
	}
	for _, e := range n.entries {
		p.subflowParam(e, resource, allowed)
	}
	return params
}

// subflowParam checks a parameter. A value that begins with "$" is a path; the selected value is
// checked when the step runs.
func (p *parser) subflowParam(e entry, resource flow.Resource, allowed []string) {
	text, isText := e.value.text()
	isPath := isText && strings.HasPrefix(text, "$")
	object, _ := value.ParseJSON([]byte(text))
	switch {
	case e.key == flow.ParamFlowName && resource.Flow != "":
		p.problem(e.pos, `serviceParams has "FlowName", which resourceArn names; remove it, or write "action: %s" instead of resourceArn`, StartExecution)
	case e.key == "CallbackFnFTaskToken":
		p.problem(e.pos, `serviceParams has "CallbackFnFTaskToken", which this release does not pass on; write "pattern: sync" to wait for the end of the sub-flow`)
	case e.key != flow.ParamInput && e.key != flow.ParamExecutionName && e.key != flow.ParamFlowName:
		p.problem(e.pos, "field %q is unknown in serviceParams of a sub-flow%s (allowed: %s)",
			shortened(e.key), p.didYouMean(e.key, allowed), strings.Join(allowed, ", "))
	case isPath:
	case e.key == flow.ParamInput && e.value.kind != nodeMapping && object.Kind() != value.KindObject:
		p.unfit(e.value, flow.ParamInput, "a mapping, a path like $ or $.key, or an object as JSON text")
	case e.key != flow.ParamInput && (!isText || !flow.ValidName(text)):
		p.unfit(e.value, e.key, `a path like $.key, or a name: a letter or "_", then letters, digits, "_" and "-", 128 characters at most`)
	case e.key == flow.ParamExecutionName:
		p.warn(e.value.pos, "ExecutionName is always %q, so only one execution can start the sub-flow; map a name that differs, or remove ExecutionName", text)
	}
}
