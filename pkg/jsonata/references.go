package jsonata

// Reference is a place where an expression reads a variable, calls a function or reads its input.
type Reference struct {
	// Name is the name behind the $: of a variable or a function. It is "" for the input, which $
	// or a name alone reads, and "$" for the input wherever $$ stands.
	Name string
	// Keys are the names that select inside of the value, as far as the path has only these.
	Keys []string
	// Known says that the library has a function of this name, or that the expression binds it.
	Known bool
	// Line and Column are the position, as in [Error].
	Line, Column int
}

// References returns the places where an expression reads variables, functions or its input, in no
// order. Names that select from an item of a path are not among them. Plain says that the
// expression is one variable with names behind it, like $order.customer.id.
func (e *Expression) References() (refs []Reference, plain bool) {
	w := walker{text: e.text, bound: map[string]bool{}}
	w.walk(e.root, true)
	for i := range w.refs {
		w.refs[i].Known = w.refs[i].Known || w.bound[w.refs[i].Name]
	}
	steps := []*node{e.root}
	if e.root.kind == pathNode && e.root.isPlainStep() {
		steps = e.root.list
	}
	plain = steps[0].kind == variableNode && steps[0].name != "" && steps[0].name != "$"
	for i, step := range steps {
		plain = plain && step.isPlainStep() && (i == 0 || step.kind == nameNode)
	}
	return w.refs, plain
}

// walker collects references.
type walker struct {
	text  string
	refs  []Reference
	bound map[string]bool // the variables that the expression binds
}

// walk visits a part. Outside says that its input is the one of the whole expression.
func (w *walker) walk(n *node, outside bool) {
	if n == nil {
		return
	}
	switch {
	case n.kind == pathNode:
		if first := n.list[0]; first.kind == variableNode && first.isPlainStep() {
			w.refer(first, first.name, n.namesBehind(), outside)
		} else {
			w.walk(first, outside)
		}
		w.all(n.list[1:], false)
	case n.kind == variableNode:
		w.refer(n, n.name, nil, outside)
	case n.kind == nameNode || n.kind == wildcardNode || n.kind == parentNode || n.name == "**":
		w.refer(n, "", []string{n.name}, outside)
	default:
		outside = outside && (n.name != "|" || n.kind != otherNode) // a transform has an input of its own
		w.all(n.list, outside)
		w.walk(n.lhs, outside)
		if n.rhs != n.lhs {
			w.walk(n.rhs, outside)
		}
		w.walk(n.third, outside)
		w.pairs(n.pairs, outside)
		if n.kind == otherNode && n.lhs == nil && n.rhs != nil { // a binding, or a lambda
			w.bound[n.name] = true
		}
	}
	w.suffixes(n)
}

// suffixes visits the variables that a part binds, and its predicates, its groups and the terms of
// its order.
func (w *walker) suffixes(n *node) {
	for _, name := range append([]string{n.focus, n.index}, n.params...) {
		w.bound[name] = w.bound[name] || name != ""
	}
	w.all(n.preds, false)
	w.pairs(n.group, false)
	for _, s := range n.stages {
		w.walk(s.filter, false)
		w.bound[s.index] = w.bound[s.index] || s.index != ""
	}
	for _, t := range n.terms {
		w.walk(t.by, false)
	}
}

// namesBehind returns the names that select in the value of the first step of a path.
func (n *node) namesBehind() (names []string) {
	for _, step := range n.list[1:] {
		if step.kind != nameNode || step.focus != "" || step.index != "" || step.ancestor != nil {
			break
		}
		if names = append(names, step.name); !step.isPlainStep() {
			break
		}
	}
	return names
}

// isPlainStep reports whether a step has nothing behind its name.
func (n *node) isPlainStep() bool {
	return n.focus == "" && n.index == "" && n.ancestor == nil && len(n.stages) == 0 && len(n.preds) == 0 && !n.grouped && !n.keep
}

func (w *walker) all(parts []*node, outside bool) {
	for _, part := range parts {
		w.walk(part, outside)
	}
}

func (w *walker) pairs(pairs []pair, outside bool) {
	for _, p := range pairs {
		w.walk(p.key, outside)
		w.walk(p.value, outside)
	}
}

func (w *walker) refer(n *node, name string, keys []string, outside bool) {
	if name == "" && !outside {
		return
	}
	line, column := position(w.text, n.pos)
	w.refs = append(w.refs, Reference{Name: name, Keys: keys, Known: n.builtin != nil, Line: line, Column: column})
}
