package fdl

import "fmt"

func (p *parser) parallel(step *Step, f fields) *Parallel {
	defer p.fork(step)()
	parallel := &Parallel{}
	n := f.required("branches")
	if n == nil {
		return parallel
	}
	items := p.someItems(n, "branches", "a list of branches, each with steps")
	if len(items) > MaxBranches {
		p.problem(n.pos, "branches has %d branches and the limit is %d; use foreach, or put several steps into one branch", len(items), MaxBranches)
	}
	for _, item := range items {
		if f, ok := p.fields(item, "a branch of a parallel", parallelBranchFields); ok {
			parallel.Branches = append(parallel.Branches, p.steps(f.required("steps"), step))
		}
	}
	return parallel
}

func (p *parser) foreach(step *Step, f fields) *Foreach {
	defer p.fork(step)()
	foreach := &Foreach{MaxConcurrency: p.countUpTo(f.optional("maxConcurrency"), "maxConcurrency", 1, MaxConcurrency, MaxConcurrency)}
	if n := f.optional("maxConcurrency"); n != nil {
		p.strict(n.pos, "maxConcurrency is an extension: a foreach of FDL always runs up to %d iterations at once", MaxConcurrency)
	}
	if n := f.required("iterationMapping"); n != nil {
		p.iterationMapping(foreach, n)
	}
	foreach.Steps = p.steps(f.required("steps"), step)
	return foreach
}

func (p *parser) iterationMapping(foreach *Foreach, n *node) {
	f, ok := p.fields(n, "an iterationMapping", iterationFields)
	if !ok {
		return
	}
	if collection := f.required("collection"); collection != nil {
		if foreach.Collection, ok = p.selfPath(collection); !ok {
			p.unfit(collection, "collection", "a path like $.names to a list in the step's input")
		}
	}
	foreach.Item = p.key(f.required("item"), "item")
	index := f.optional("index")
	foreach.Index = p.key(index, "index")
	if index != nil && foreach.Index != "" && foreach.Index == foreach.Item {
		p.problem(index.pos, "index %q is also the key of the item; use another key", shortened(foreach.Index))
	}
}

// key reads the key of a value in the input of an iteration.
func (p *parser) key(n *node, what string) string {
	if n == nil {
		return ""
	}
	key, ok := n.text()
	if !ok || key == "" {
		p.unfit(n, what, fmt.Sprintf("the key of the %s in the input of an iteration", what))
	}
	return key
}

// fork enters a step that runs others side by side and returns the function that leaves it. The
// first one that is too deep is a problem.
func (p *parser) fork(step *Step) (leave func()) {
	if p.forks++; p.forks == MaxForks+1 {
		p.problem(step.Position, "parallel and foreach are nested more than %d deep; split the flow", MaxForks)
	}
	return func() { p.forks-- }
}
