package fdl

import (
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/flow/document"
)

// anyError is the resource of a fork, as far as the names of errors depend on it: a sub-flow in it
// may fail with any name.
var anyError = flow.Resource{Subflow: true}

func (p *parser) parallel(step *flow.Step, f *fields) *flow.Parallel {
	leave := p.fork(step)
	items := f.items("branches")
	if len(items) > flow.MaxBranches {
		p.Problem(f.get("branches").Pos, "branches has %d branches and the limit is %d; use foreach, or put several steps into one branch",
			len(items), flow.MaxBranches)
	}
	parallel := &flow.Parallel{}
	for _, item := range items {
		if branch := p.fields(item, "parallelBranch"); branch != nil {
			parallel.Branches = append(parallel.Branches, p.steps(branch, step))
		}
	}
	leave()
	p.failures(&parallel.Handlers, anyError, step, f)
	return parallel
}

// iterations reads how a foreach maps a collection.
func (f *fields) iterations(foreach *flow.Foreach) {
	if collection := f.get("collection"); collection != nil {
		isPath := false
		if foreach.Collection, isPath = f.parser.selfPath(collection); !isPath {
			f.unfit("collection")
		}
	}
	foreach.Item, foreach.Index = f.key("item"), f.key("index")
	if foreach.Index != "" && foreach.Index == foreach.Item {
		f.parser.Problem(f.get("index").Pos, "index %q is also the key of the item; use another key", document.Shortened(foreach.Index))
	}
}

// fork enters a step that runs others side by side and returns the function that leaves it. It
// reports the first step that is nested too deeply.
func (p *parser) fork(step *flow.Step) (leave func()) {
	if p.forks++; p.forks == flow.MaxForks+1 {
		p.Problem(step.Position, "parallel and foreach are nested more than %d deep; split the flow", flow.MaxForks)
	}
	return func() { p.forks-- }
}
