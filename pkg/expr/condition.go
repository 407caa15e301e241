package expr

import (
	"slices"
	"strings"
)

// Condition is the condition of a choice: comparisons (== != < <= > >= in) of
// paths, numbers, texts, booleans and lists, joined with && || ! and
// parentheses. It refers to the step's own input as $.
//
// A comparison with a missing value is false, also !=. A comparison of
// different types is false, but for !=, which is true. Anything else than a
// comparison holds only when it is the boolean true.
type Condition struct{ root operand }

// Holds reports whether the condition is true for the step input self.
func (c Condition) Holds(self Value) bool {
	return c.root.eval(&Scope{Self: self}).IsTrue()
}

// String writes c so that [ParseCondition] reads the same condition from it.
func (c Condition) String() string { return string(c.root.appendTo(nil, false)) }

// operand is a node of the condition's tree.
//
//sumtype:decl
type operand interface {
	eval(scope *Scope) Value
	// appendTo writes the operand; nested tells that it stands inside another.
	appendTo(b []byte, nested bool) []byte
}

type (
	constant struct{ value Value }
	list     struct{ elements []operand }
	negation struct{ of operand }
	joint    struct { // left && right, left || right
		operator    string
		left, right operand
	}
	comparison struct { // left == right, left in right, ...
		operator    string
		left, right operand
	}
)

func (c constant) eval(*Scope) Value { return c.value }

func (l list) eval(scope *Scope) Value {
	elements := make([]Value, len(l.elements))
	for i, e := range l.elements {
		elements[i] = e.eval(scope)
	}
	return Array(elements...)
}

func (n negation) eval(scope *Scope) Value { return Bool(!n.of.eval(scope).IsTrue()) }

func (j joint) eval(scope *Scope) Value {
	if left := j.left.eval(scope).IsTrue(); left == (j.operator == "||") {
		return Bool(left)
	}
	return Bool(j.right.eval(scope).IsTrue())
}

func (c comparison) eval(scope *Scope) Value {
	left, right := c.left.eval(scope), c.right.eval(scope)
	return Bool(!left.IsMissing() && !right.IsMissing() && compare(c.operator, left, right))
}

func compare(operator string, left, right Value) bool {
	switch operator {
	case "==":
		return Equal(left, right)
	case "!=":
		return !Equal(left, right)
	case "in":
		return right.Kind() == KindArray && slices.ContainsFunc(right.Members(), func(m Member) bool { return Equal(left, m.Value) })
	}
	order, ok := order(left, right)
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

// order compares two numbers or two texts (by code points); nothing else has
// an order.
func order(a, b Value) (int, bool) {
	switch {
	case a.Kind() == KindNumber && b.Kind() == KindNumber:
		return compareNumbers(a.Text(), b.Text()), true
	case a.Kind() == KindString && b.Kind() == KindString:
		return strings.Compare(a.Text(), b.Text()), true
	}
	return 0, false
}

// eval of a path, so that a path is an operand as it stands.
func (p Path) eval(scope *Scope) Value { return p.Eval(scope) }

func (p Path) appendTo(b []byte, _ bool) []byte { return append(b, p.String()...) }

func (c constant) appendTo(b []byte, _ bool) []byte { return c.value.AppendJSON(b) }

func (l list) appendTo(b []byte, _ bool) []byte {
	b = append(b, '[')
	for i, e := range l.elements {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = e.appendTo(b, true)
	}
	return append(b, ']')
}

func (n negation) appendTo(b []byte, _ bool) []byte { return n.of.appendTo(append(b, '!'), true) }

func (j joint) appendTo(b []byte, nested bool) []byte {
	return appendBinary(b, nested, j.left, j.operator, j.right)
}

func (c comparison) appendTo(b []byte, nested bool) []byte {
	return appendBinary(b, nested, c.left, c.operator, c.right)
}

func appendBinary(b []byte, nested bool, left operand, operator string, right operand) []byte {
	if nested {
		b = append(b, '(')
	}
	b = left.appendTo(b, true)
	b = append(append(append(b, ' '), operator...), ' ')
	b = right.appendTo(b, true)
	if nested {
		b = append(b, ')')
	}
	return b
}
