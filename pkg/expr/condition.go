package expr

import (
	"slices"

	"github.com/waitless/waitless/pkg/value"
)

// Condition is the condition of a choice: comparisons (== != < <= > >= in) of
// paths, numbers, texts, booleans and lists, joined with && || ! and
// parentheses. It refers to the step's own input as $.
//
//   - A comparison with a missing value is false, != included.
//   - A comparison of different types is false, except that != is true.
//   - A value that is not a comparison holds if it is the boolean true.
type Condition struct{ root operand }

// Holds reports whether the condition is true for the step's input, the Self of
// the scope.
func (c Condition) Holds(scope *Scope) bool { return c.root.eval(scope).IsTrue() }

// String writes c so that [ParseCondition] reads the same condition from it.
func (c Condition) String() string { return string(c.root.appendTo(nil)) }

// operand is a node of the condition's tree.
//
//sumtype:decl
type operand interface {
	eval(scope *Scope) value.Value
	level() level
	appendTo(b []byte) []byte
}

type (
	constant struct{ value value.Value }
	list     struct{ elements []operand }
	negation struct{ of operand }
	joint    struct { // a && b && ..., a || b || ...
		operator string
		operands []operand
	}
	comparison struct { // left == right, left in right, ...
		operator    string
		left, right operand
	}
)

func (c constant) eval(*Scope) value.Value { return c.value }

// eval returns Missing if an element is missing, so that no comparison with the list holds.
func (l list) eval(scope *Scope) value.Value {
	elements := make([]value.Value, len(l.elements))
	for i, e := range l.elements {
		if elements[i] = e.eval(scope); elements[i].IsMissing() {
			return value.Value{}
		}
	}
	return value.Array(elements...)
}

// has reports whether one of the elements equals v; those that are missing do
// not count.
func (l list) has(v value.Value, scope *Scope) bool {
	return slices.ContainsFunc(l.elements, func(e operand) bool { return value.Equal(v, scope.complete(e)) })
}

func (n negation) eval(scope *Scope) value.Value { return value.Bool(!n.of.eval(scope).IsTrue()) }

func (j joint) eval(scope *Scope) value.Value {
	decides := j.operator == "||"
	for _, o := range j.operands {
		if o.eval(scope).IsTrue() == decides {
			return value.Bool(decides)
		}
	}
	return value.Bool(!decides)
}

func (c comparison) eval(scope *Scope) value.Value {
	left := scope.complete(c.left)
	if left.IsMissing() {
		return value.Bool(false)
	}
	if l, ok := c.right.(list); ok && c.operator == "in" {
		return value.Bool(l.has(left, scope))
	}
	right := scope.complete(c.right)
	return value.Bool(!right.IsMissing() && compare(c.operator, left, right))
}

// complete is the value of an operand, whose content is going to be compared.
func (s *Scope) complete(o operand) value.Value { return s.Lookup.Complete(o.eval(s)) }

func compare(operator string, left, right value.Value) bool {
	switch operator {
	case "==":
		return value.Equal(left, right)
	case "!=":
		return !value.Equal(left, right)
	case "in":
		return right.Kind() == value.KindArray && slices.ContainsFunc(right.Members(), func(m value.Member) bool { return value.Equal(left, m.Value) })
	}
	order, ok := value.Compare(left, right)
	return ok && ordered(operator, order)
}

func ordered(operator string, order int) bool {
	switch operator {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}

// eval of a path, so that a path is an operand as it stands.
func (p Path) eval(scope *Scope) value.Value { return p.Eval(scope) }

// level is the precedence of an operand, lowest first.
type level uint8

const (
	levelOr level = iota
	levelAnd
	levelComparison
	levelUnary
)

func (Path) level() level       { return levelUnary }
func (constant) level() level   { return levelUnary }
func (list) level() level       { return levelUnary }
func (negation) level() level   { return levelUnary }
func (comparison) level() level { return levelComparison }

func (j joint) level() level {
	if j.operator == "||" {
		return levelOr
	}
	return levelAnd
}

// appendOperand writes o, in parentheses if it binds weaker than least. There
// are never more of them than in the text that o was read from, so what prints
// is never nested too deep to be read again.
func appendOperand(b []byte, o operand, least level) []byte {
	if o.level() >= least {
		return o.appendTo(b)
	}
	return append(o.appendTo(append(b, '(')), ')')
}

func appendOperands(b []byte, operands []operand, separator string, least level) []byte {
	for i, o := range operands {
		if i > 0 {
			b = append(b, separator...)
		}
		b = appendOperand(b, o, least)
	}
	return b
}

func (p Path) appendTo(b []byte) []byte { return append(b, p.String()...) }

func (c constant) appendTo(b []byte) []byte { return c.value.AppendJSON(b) }

func (l list) appendTo(b []byte) []byte {
	return append(appendOperands(append(b, '['), l.elements, ", ", levelUnary), ']')
}

func (n negation) appendTo(b []byte) []byte { return appendOperand(append(b, '!'), n.of, levelUnary) }

func (j joint) appendTo(b []byte) []byte {
	return appendOperands(b, j.operands, " "+j.operator+" ", j.level())
}

func (c comparison) appendTo(b []byte) []byte {
	return appendOperands(b, []operand{c.left, c.right}, " "+c.operator+" ", levelUnary)
}
