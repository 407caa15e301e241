package jsonata

import (
	"strconv"
	"strings"
)

// maxNesting bounds the recursion of the parser.
const maxNesting = 500

// maxParents bounds the search for the steps of parents.
const maxParents = 1000

// parser is a top-down operator-precedence parser. It builds the nodes that the evaluation walks:
// paths are flat, and parents are resolved to the steps that bind them.
type parser struct {
	lexer
	token   token
	nesting int
	labels  int
	binds   int // variables bound so far
	library map[string]*function
}

// operatorOf returns the binding power of an operator behind an operand, and its evaluation if it
// has only two operands.
func operatorOf(text string) (power int, eval func(r *run, n *node, in item, env *frame) item) {
	switch text {
	case "[", "(", "@", "#":
		return stepPower + 5, nil
	case ".":
		return stepPower, nil
	case "{":
		return signPower, nil
	case "*", "/", "%":
		return 60, (*run).arithmetic
	case "+", "-":
		return 50, (*run).arithmetic
	case "&":
		return 50, (*run).concat
	case "=", "!=":
		return 40, (*run).equality
	case "<", ">", "<=", ">=":
		return 40, (*run).comparison
	case "in":
		return 40, (*run).inclusion
	case "~>":
		return 40, (*run).applyTo
	case "^", "??", "?:":
		return 40, nil
	case "and":
		return 30, (*run).logic
	case "or":
		return 25, (*run).logic
	case "?":
		return 20, nil
	case ":=":
		return bindPower, nil
	}
	return lowestPower, nil
}

const (
	stepPower   = 75
	signPower   = 70
	bindPower   = 10
	lowestPower = 0
)

// advance reads the next token. The current one must be want, unless want is empty.
func (p *parser) advance(want string, afterOperand bool) {
	if want != "" && !p.is(want) {
		if p.token.kind == endToken {
			fail(p.token.pos, "S0203", want)
		}
		fail(p.token.pos, "S0202", want+", not "+p.shown())
	}
	p.token = p.next(afterOperand)
}

// accept skips an operator if it stands here.
func (p *parser) accept(op string) bool {
	if p.is(op) {
		p.advance("", false)
		return true
	}
	return false
}

func (p *parser) is(op string) bool { return p.token.kind == operatorToken && p.token.text == op }

// shown returns the current token for messages.
func (p *parser) shown() string {
	switch p.token.kind {
	case literalToken:
		return p.text[p.token.pos:p.at]
	case variableToken:
		return "$" + p.token.text
	case regexToken:
		return "/"
	case endToken, nameToken, operatorToken:
	}
	return p.token.text
}

// expression parses operands and the operators that bind more tightly than power.
func (p *parser) expression(power int) *node {
	if p.nesting++; p.nesting > maxNesting {
		fail(p.token.pos, "U1001", "the expression is nested more than "+strconv.Itoa(maxNesting)+" levels")
	}
	t := p.token
	opens := t.kind == operatorToken && strings.Contains("([{-|", t.text) // an operand follows
	p.advance("", !opens)
	left := p.operand(t)
	for p.token.kind == operatorToken {
		if next, _ := operatorOf(p.token.text); next <= power {
			break
		}
		t = p.token
		p.advance("", false)
		left = p.suffix(t, left)
	}
	p.nesting--
	return left
}

func (p *parser) operand(t token) *node {
	switch t.kind {
	case nameToken:
		return p.field(t)
	case variableToken:
		return &node{kind: variableNode, eval: (*run).variable, pos: t.pos, name: t.text, builtin: p.library[t.text]}
	case literalToken:
		n := &node{kind: valueNode, eval: (*run).literal, pos: t.pos, value: t.value}
		switch t.value.(type) {
		case float64:
			n.kind = numberNode
		case string:
			n.kind = stringNode
		}
		return n
	case regexToken:
		return &node{eval: (*run).literal, pos: t.pos, value: t.value}
	case endToken:
		fail(t.pos, "S0207", nil)
	case operatorToken:
	}
	return p.prefix(t)
}

func (p *parser) field(t token) *node {
	name := &node{kind: nameNode, eval: (*run).field, pos: t.pos, name: t.text}
	path := asPath(name)
	path.unbroken = true
	return path
}

func (p *parser) prefix(t token) *node {
	switch t.text {
	case "and", "or", "in":
		return p.field(t)
	case "*":
		return &node{kind: wildcardNode, eval: (*run).wildcard, pos: t.pos, name: t.text}
	case "**":
		return &node{eval: (*run).descendants, pos: t.pos, name: t.text}
	case "%":
		if p.labels++; p.labels > maxParents {
			fail(t.pos, "U1001", "the expression has too many parents")
		}
		s := &slot{label: "%" + strconv.Itoa(p.labels), level: 1}
		return &node{kind: parentNode, eval: (*run).parent, pos: t.pos, ancestor: s}
	case "-":
		return p.negation(t)
	case "(":
		return p.block(t)
	case "[":
		return p.array(t)
	case "{":
		n := &node{eval: (*run).construct, pos: t.pos, name: t.text}
		n.pairs = p.members(n)
		return n
	case "|":
		return p.transform(t)
	}
	fail(t.pos, "S0211", t.text)
	return nil
}

func (p *parser) negation(t token) *node {
	operand := p.expression(signPower)
	if f, ok := operand.value.(float64); ok && operand.kind == numberNode && len(operand.preds) == 0 && !operand.keep {
		operand.value, operand.pos = -f, t.pos
		return operand
	}
	return (&node{eval: (*run).negate, pos: t.pos, name: t.text, lhs: operand}).inherit(operand)
}

func (p *parser) block(t token) *node {
	n := &node{kind: blockNode, eval: (*run).block, pos: t.pos}
	binds := p.binds
	p.parts(";", ")", func() {
		part := p.expression(lowestPower)
		n.inherit(part)
		n.cons = n.cons || part.cons || part.kind == pathNode && part.list[0].cons
		n.list = append(n.list, part)
	})
	n.binds = p.binds > binds
	return n
}

func (p *parser) array(t token) *node {
	n := &node{kind: arrayNode, eval: (*run).array, pos: t.pos, name: t.text}
	p.parts(",", "]", func() {
		part := p.expression(lowestPower)
		if op := p.token; p.accept("..") {
			from, to := part, p.expression(lowestPower)
			part = (&node{eval: (*run).between, pos: op.pos, name: "..", lhs: from, rhs: to}).inherit(from).inherit(to)
		}
		n.inherit(part)
		n.list = append(n.list, part)
	})
	return n
}

// members parses the pairs of an object constructor of n, up to its closing brace.
func (p *parser) members(n *node) (pairs []pair) {
	p.parts(",", "}", func() {
		key := p.expression(lowestPower)
		p.advance(":", false)
		member := p.expression(lowestPower)
		n.inherit(key).inherit(member)
		pairs = append(pairs, pair{key, member})
	})
	return pairs
}

// parts parses the parts up to the closing operator, which a separator divides.
func (p *parser) parts(separator, end string, part func()) {
	for !p.is(end) {
		if part(); !p.accept(separator) {
			break
		}
	}
	p.advance(end, true)
}

func (p *parser) transform(t token) *node {
	n := &node{eval: (*run).transform, pos: t.pos, name: t.text}
	n.lhs = p.expression(lowestPower)
	p.advance("|", false)
	n.rhs = p.expression(lowestPower)
	if p.accept(",") {
		n.third = p.expression(lowestPower)
	}
	p.advance("|", true)
	return n
}

// suffix parses the rest of an operation behind its left operand and its operator.
func (p *parser) suffix(t token, left *node) *node {
	switch t.text {
	case ".":
		return p.join(t, left, p.expression(stepPower))
	case "[":
		return p.predicate(t, left)
	case "{":
		if left.grouped {
			fail(t.pos, "S0210", nil)
		}
		var parts node // parents in a grouping are those of the path's steps
		left.group, left.grouped, left.unbroken = p.members(&parts), true, false
		return left
	case "(":
		return p.call(t, left)
	case "^":
		return p.orderBy(t, left)
	case "@", "#":
		return p.bindStep(t, left)
	case "?":
		n := &node{kind: conditionNode, eval: (*run).condition, pos: t.pos, lhs: left, rhs: p.expression(lowestPower)}
		if p.accept(":") {
			n.third = p.expression(lowestPower)
		}
		return n.inherit(left).inherit(n.rhs).inherit(n.third)
	case "?:", "??":
		n := &node{kind: conditionNode, eval: (*run).fallback, pos: t.pos, name: t.text, lhs: left, rhs: left, third: p.expression(lowestPower)}
		return n.inherit(left).inherit(n.third)
	case ":=":
		if left.kind != variableNode || len(left.preds) > 0 {
			fail(t.pos, "S0212", nil)
		}
		p.binds++
		n := &node{eval: (*run).bind, pos: t.pos, name: left.name, rhs: p.expression(bindPower - 1)}
		return n.inherit(n.rhs)
	}
	power, eval := operatorOf(t.text)
	n := &node{eval: eval, pos: t.pos, name: t.text, lhs: left, rhs: p.expression(power)}
	if t.text == "~>" {
		n.keep = n.lhs.keep || n.rhs.keep
	}
	return n.inherit(left).inherit(n.rhs)
}

// join makes a path of two.
func (p *parser) join(t token, left, right *node) *node {
	path, added := asPath(left), []*node{left, right}
	if right.kind == pathNode {
		added = append(added[:1], right.list...)
		path.list = append(path.list, right.list...)
		path.unbroken = path.unbroken && right.unbroken
		if right.grouped {
			path.group, path.grouped = right.group, true
		}
	} else {
		right.stagePredicates()
		path.list = append(path.list, right)
		path.unbroken = false
	}
	path.keep = path.keep || right.keep
	for _, step := range added {
		if step.kind == numberNode || step.kind == valueNode {
			fail(t.pos, "S0213", nil)
		}
		if step.kind == stringNode {
			step.kind, step.eval = nameNode, (*run).field
			step.name, _ = step.value.(string)
		}
	}
	for _, end := range []*node{path.list[0], path.lastStep()} {
		end.cons = end.cons || end.kind == arrayNode
	}
	path.resolveParents()
	return path
}

func (p *parser) predicate(t token, left *node) *node {
	step := left.lastStep()
	if p.is("]") {
		p.advance("]", true)
		left.keep, left.unbroken = true, false
		return left
	}
	filter := p.expression(lowestPower)
	p.advance("]", true)
	if step.grouped || left.grouped {
		fail(t.pos, "S0209", nil)
	}
	for _, s := range filter.seeking {
		if s.level == 1 {
			step.seek(s)
		} else {
			s.level--
		}
	}
	step.inherit(filter)
	left.unbroken = false
	if left.kind == pathNode {
		step.stages = append(step.stages, stage{filter: filter})
	} else {
		step.preds = append(step.preds, filter)
	}
	return left
}

func (p *parser) bindStep(t token, left *node) *node {
	if p.token.kind != variableToken {
		fail(p.token.pos, "S0214", t.text)
	}
	name := p.token.text
	p.advance("", true)
	if step := left.lastStep(); t.text == "@" {
		if len(step.stages) > 0 || len(step.preds) > 0 {
			fail(t.pos, "S0215", nil)
		}
		if step.kind == sortNode {
			fail(t.pos, "S0216", nil)
		}
		step.focus, step.tuple, left.unbroken = name, true, false
		return left
	}
	path := asPath(left)
	step := path.lastStep()
	step.stagePredicates()
	if len(step.stages) == 0 {
		step.index = name
	} else {
		step.stages = append(step.stages, stage{index: name})
	}
	step.tuple, path.unbroken = true, false
	return path
}

func (p *parser) orderBy(t token, left *node) *node {
	step := &node{kind: sortNode, pos: t.pos, name: t.text}
	p.advance("(", false)
	for more := true; more; more = p.accept(",") {
		descending := p.accept(">")
		if !descending {
			p.accept("<")
		}
		by := p.expression(lowestPower)
		step.inherit(by)
		step.terms = append(step.terms, term{by, descending})
	}
	p.advance(")", true)
	path := asPath(left)
	path.list, path.unbroken = append(path.list, step), false
	path.resolveParents()
	return path
}

func (p *parser) call(t token, left *node) *node {
	n := &node{kind: callNode, eval: (*run).callNode, pos: t.pos, name: left.name, lhs: left}
	p.parts(",", ")", func() {
		if op := p.token; p.accept("?") {
			n.kind, n.eval = otherNode, (*run).partial
			n.list = append(n.list, &node{kind: placeholderNode, pos: op.pos})
		} else {
			part := p.expression(lowestPower)
			n.inherit(part)
			n.list = append(n.list, part)
		}
	})
	if name, ok := left.plainName(); ok {
		n.name = name
		if name == "function" || name == "λ" {
			return p.lambda(n)
		}
	}
	return n
}

// plainName returns the name that a path consists of.
func (n *node) plainName() (string, bool) {
	if n.kind != pathNode || len(n.list) > 1 || !n.unbroken {
		return "", false
	}
	return n.list[0].name, true
}

// lambda parses the signature and the body of a function.
func (p *parser) lambda(n *node) *node {
	fn := &node{eval: (*run).lambda, pos: n.lhs.pos, name: "function"}
	for _, arg := range n.list {
		if arg.kind != variableNode || len(arg.preds) > 0 {
			fail(arg.pos, "S0208", arg.name)
		}
		fn.params = append(fn.params, arg.name)
	}
	if start := p.token.pos; p.is("<") {
		end := closing(p.text, start)
		if end < 0 {
			fail(start, "S0203", ">")
		}
		p.at = end + 1
		fn.sig = parseSignature(start, p.text[start:p.at])
		p.advance("", true)
	}
	p.advance("{", false)
	fn.rhs = p.expression(lowestPower)
	p.advance("}", true)
	fn.rhs.optimizeTail()
	return fn
}
