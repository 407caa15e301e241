package jsonata

import "slices"

// A node is a part of a compiled expression. Its fields beyond kind, eval and pos depend on the
// kind. Nodes do not change after the compilation.
type node struct {
	kind nodeKind
	eval func(r *run, n *node, in item, env *frame) item
	pos  int

	name     string  // of a field, a variable, an operator, or the label of a parent
	value    item    // of a literal
	list     []*node // steps, items, statements, arguments
	lhs, rhs *node   // operands; procedure; body
	third    *node   // the else branch; the deletions of a transform
	pairs    []pair  // of an object constructor
	terms    []term  // of an order-by
	params   []string
	sig      *signature
	builtin  *function // the function of the library that a variable names

	// As a step of a path:
	stages       []stage
	focus, index string // variables bound by @ and #
	ancestor     *slot  // the label under which the context of the step is bound
	tuple        bool   // the step binds variables
	cons         bool   // an array constructor whose arrays are kept

	preds    []*node // predicates outside of a path
	group    []pair
	grouped  bool
	keep     bool // a single item stays an array
	tail     bool // a call in tail position
	binds    bool // a block that binds variables
	seeking  []*slot
	unbroken bool // a path whose steps are names without more
}

type nodeKind uint8

const (
	otherNode nodeKind = iota
	pathNode
	nameNode
	wildcardNode
	parentNode
	blockNode
	numberNode
	stringNode
	valueNode
	variableNode
	arrayNode
	callNode
	conditionNode
	sortNode
	placeholderNode
)

type pair struct{ key, value *node }

type term struct {
	by         *node
	descending bool
}

// A stage filters the results of a step, or binds their positions to a variable.
type stage struct {
	filter *node
	index  string
}

// A slot is a use of the parent operator that looks for its step: level counts the steps to go
// back.
type slot struct {
	label string
	level int
}

func (n *node) fail(code string, detail any) { fail(n.pos, code, detail) }

// lastStep returns the step that a suffix belongs to.
func (n *node) lastStep() *node {
	if n.kind == pathNode {
		return n.list[len(n.list)-1]
	}
	return n
}

// stagePredicates turns the predicates of an operand into stages of a step.
func (n *node) stagePredicates() {
	for _, filter := range n.preds {
		n.stages = append(n.stages, stage{filter: filter})
	}
	n.preds = nil
}

// asPath returns n, or the path that has only n.
func asPath(n *node) *node {
	if n.kind == pathNode {
		return n
	}
	path := &node{kind: pathNode, eval: (*run).path, pos: n.pos, list: []*node{n}, keep: n.keep, seeking: slices.Clip(n.seeking)}
	if n.kind == parentNode {
		path.seeking = append(path.seeking, n.ancestor)
	}
	return path
}

// inherit lets n look for the parents that a part of it looks for.
func (n *node) inherit(part *node) *node {
	if part == nil {
		return n
	}
	n.seeking = append(n.seeking, part.seeking...)
	if part.kind == parentNode {
		n.seeking = append(n.seeking, part.ancestor)
	}
	return n
}

// seek looks for the step of a parent in n.
func (n *node) seek(s *slot) {
	switch n.kind {
	case nameNode, wildcardNode:
		if s.level--; s.level > 0 {
			return
		}
		if n.ancestor == nil {
			n.ancestor = s
		} else {
			s.label = n.ancestor.label
		}
		n.tuple = true
	case parentNode:
		s.level++
	case blockNode:
		if len(n.list) > 0 {
			n.tuple = true
			n.list[len(n.list)-1].seek(s)
		}
	case pathNode:
		n.tuple, n.unbroken = true, false
		i := len(n.list) - 1
		n.list[i].seek(s)
		for i--; s.level > 0 && i >= 0; i-- {
			n.list[i].seek(s)
		}
	case otherNode, numberNode, stringNode, valueNode, variableNode, arrayNode, callNode, conditionNode, sortNode, placeholderNode:
		n.fail("S0217", n.name)
	}
}

// resolveParents finds the steps for the parents that the last step of a path looks for. Those
// that it does not find are looked for around the path.
func (n *node) resolveParents() {
	last := n.lastStep()
	slots := slices.Clip(last.seeking)
	if last.kind == parentNode {
		slots = append(slots, last.ancestor)
	}
	for _, s := range slots {
		i := len(n.list) - 2
		for s.level > 0 {
			if i < 0 {
				n.seeking = append(n.seeking, s)
				break
			}
			step := n.list[i]
			i--
			// Adjacent steps that bind their results have the same context.
			for i >= 0 && step.focus != "" && n.list[i].focus != "" {
				step = n.list[i]
				i--
			}
			step.seek(s)
		}
	}
}

// optimizeTail marks the calls at the end of a lambda's body.
func (n *node) optimizeTail() {
	if n == nil || len(n.preds) > 0 || n.grouped || n.keep {
		return
	}
	n.tail = n.kind == callNode
	if n.kind == conditionNode {
		n.rhs.optimizeTail()
		n.third.optimizeTail()
	}
	if n.kind == blockNode && len(n.list) > 0 {
		n.list[len(n.list)-1].optimizeTail()
	}
}
