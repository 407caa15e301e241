package machine

import (
	"slices"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/value"
)

// UnmappedSource is a mapping whose source was missing, so that its target was left
// out. It has no value of the execution in it.
type UnmappedSource struct {
	// Step is the name of a step, empty for the flow.
	Step string
	// Mappings is the field that the mapping stands in, like "inputMappings".
	Mappings string
	Target   string
	Source   string // a path
}

// String is for logs: "step Ask: inputMappings: id <- $local.id".
func (a UnmappedSource) String() string {
	return a.Place() + ": " + a.Mappings + ": " + a.Target + " <- " + a.Source
}

// Place names what has the mapping: "step Ask", or "the flow".
func (a UnmappedSource) Place() string {
	if a.Step == "" {
		return "the flow"
	}
	return "step " + a.Step
}

// The fields that mappings stand in.
const (
	inputMappings  = "inputMappings"
	outputMappings = "outputMappings"
	errorMappings  = "errorMappings"
)

// mapped is what the mappings in a field of the step make, of the flow when it is
// nil. Those that give nothing are noted.
func (r *run) mapped(step *fdl.Step, field string, mappings expr.Mappings, scope *expr.Scope) value.Value {
	scope.Lookup = &r.lookup
	made := mappings.Eval(scope)
	if made.Len() < len(mappings) {
		r.noteUnmapped(step, field, mappings, made)
	}
	return made
}

// noteUnmapped notes each mapping once that made does not have. Of values that are
// not at hand it says nothing: all of next is made anew then.
func (r *run) noteUnmapped(step *fdl.Step, field string, mappings expr.Mappings, made value.Value) {
	for _, m := range mappings {
		path, _ := m.Source.Path()
		if !made.Get(m.Target).IsMissing() {
			continue
		}
		absent := UnmappedSource{Mappings: field, Target: m.Target, Source: path.String()}
		if step != nil {
			absent.Step = step.Name
		}
		if !slices.Contains(r.next.Unmapped, absent) {
			r.next.Unmapped = append(r.next.Unmapped, absent)
		}
	}
}
