package fdl

func (p *parser) parallel(step *Step, f *fields) *Parallel {
	defer p.fork(step)()
	items := f.items("branches")
	if len(items) > MaxBranches {
		p.problem(f.get("branches").pos, "branches has %d branches and the limit is %d; use foreach, or put several steps into one branch",
			len(items), MaxBranches)
	}
	parallel := &Parallel{}
	for _, item := range items {
		if branch := p.fields(item, "parallelBranch"); branch != nil {
			parallel.Branches = append(parallel.Branches, p.steps(branch, step))
		}
	}
	return parallel
}

func (p *parser) foreach(step *Step, f *fields) *Foreach {
	defer p.fork(step)()
	foreach := &Foreach{MaxConcurrency: int(f.whole("maxConcurrency", MaxConcurrency))}
	if n := f.get("iterationMapping"); n != nil {
		p.iterationMapping(foreach, n)
	}
	foreach.Steps = p.steps(f, step)
	return foreach
}

func (p *parser) iterationMapping(foreach *Foreach, n *node) {
	f := p.fields(n, "iterationMapping")
	if f == nil {
		return
	}
	if collection := f.get("collection"); collection != nil {
		isPath := false
		if foreach.Collection, isPath = p.selfPath(collection); !isPath {
			f.unfit("collection")
		}
	}
	foreach.Item, foreach.Index = f.key("item"), f.key("index")
	if foreach.Index != "" && foreach.Index == foreach.Item {
		p.problem(f.get("index").pos, "index %q is also the key of the item; use another key", shortened(foreach.Index))
	}
}

// fork enters a step that runs others side by side and returns the function that leaves it. The
// first one that is too deep is a problem.
func (p *parser) fork(step *Step) (leave func()) {
	if p.forks++; p.forks == MaxForks+1 {
		p.problem(step.Position, "parallel and foreach are nested more than %d deep; split the flow", MaxForks)
	}
	return func() { p.forks-- }
}
