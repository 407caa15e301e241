package stack_test

import (
	"slices"
	"testing"

	"go.yaml.in/yaml/v4"
)

// Without Tracing no role may send spans, no function has the endpoint, and no execution is traced.
func TestTracesAreOffByDefault(t *testing.T) {
	t.Parallel()
	read := readTemplate(t)
	if read.Parameters["Options"].Default != "" {
		t.Errorf("options are %q by default", read.Parameters["Options"].Default)
	}
	always, ifTraced, variables := 0, 0, 0
	for _, r := range read.Resources {
		all, conditional := xrayRights(&r.Properties, false)
		always, ifTraced = always+all-conditional, ifTraced+conditional
		for _, name := range []string{"WAITLESS_TRACES", "WAITLESS_TRACE_RATIO"} {
			value := at(&r.Properties, "Environment", "Variables", name)
			if value == nil {
				continue
			}
			variables++
			if value.Tag != "!If" || value.Content[0].Value != "HasTraces" || value.Content[2].Value != "" {
				t.Errorf("%s has a value without Tracing", name)
			}
		}
	}
	if always != 0 || ifTraced != 1 || variables != 5 {
		t.Errorf("%d rights always and %d with Tracing, %d variables", always, ifTraced, variables)
	}
	sent := slices.IndexFunc(statementsOf("Interpreter", read.Resources["InterpreterRole"]), func(s statement) bool {
		return s.sid == "SendSpans" && slices.Equal(s.actions, []string{"xray:PutTraceSegments"})
	})
	if sent < 0 {
		t.Error("the interpreter may not send spans")
	}
}

// xrayRights counts the actions of X-Ray below a node, and those that are inside of the condition
// HasTraces.
func xrayRights(node *yaml.Node, isTraced bool) (all, conditional int) {
	if len(node.Value) > 5 && node.Value[:5] == "xray:" {
		if isTraced {
			return 1, 1
		}
		return 1, 0
	}
	condition := at(node, "Fn::If")
	isTraced = isTraced || condition != nil && condition.Content[0].Value == "HasTraces"
	for _, inner := range node.Content {
		a, c := xrayRights(inner, isTraced)
		all, conditional = all+a, conditional+c
	}
	return all, conditional
}
