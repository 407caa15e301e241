package asl

import (
	"strings"

	"github.com/waitless/waitless/pkg/value"
)

// anyOf reads conditions of a filter that "||" joins.
func (s *scanner) anyOf() filter {
	test := s.allOf()
	for s.space(); s.take("||"); s.space() {
		left, right := test, s.allOf()
		test = func(e *evaluation) bool { return left(e) || right(e) }
	}
	return test
}

// allOf reads conditions of a filter that "&&" joins.
func (s *scanner) allOf() filter {
	test := s.term()
	for s.space(); s.take("&&"); s.space() {
		left, right := test, s.term()
		test = func(e *evaluation) bool { return left(e) && right(e) }
	}
	return test
}

func (s *scanner) term() filter {
	switch s.space(); {
	case s.take("!"):
		inner := s.term()
		return func(e *evaluation) bool { return !inner(e) }
	case s.take("("):
		inner := s.anyOf()
		s.expect(")")
		return inner
	}
	left := s.operand()
	s.space()
	for _, operator := range []string{"==", "!=", "<=", ">=", "<", ">"} {
		if s.take(operator) {
			right := s.operand()
			return func(e *evaluation) bool { return compares(operator, left(e), right(e)) }
		}
	}
	if s.err == nil && strings.TrimLeft(s.rest(), ")&|] ") == s.rest() {
		s.fail("allowed in a filter: ==, !=, <, <=, > and >=, joined by && and ||")
	}
	return func(e *evaluation) bool { return !left(e).IsMissing() }
}

// operand reads a path or a constant of a filter. A path without a value is missing.
func (s *scanner) operand() func(e *evaluation) value.Value {
	s.space()
	next := s.rest()
	if strings.HasPrefix(next, "@") || strings.HasPrefix(next, "$") {
		p := s.path()
		return func(e *evaluation) value.Value {
			v, err := p.eval(e)
			if err != nil {
				return value.Missing()
			}
			return e.lookup.Complete(v)
		}
	}
	constant := s.constant()
	return func(*evaluation) value.Value { return constant }
}

// constant reads a text in quotes, a number, true, false or null.
func (s *scanner) constant() value.Value {
	if next := s.rest(); strings.HasPrefix(next, "'") || strings.HasPrefix(next, `"`) {
		return value.String(s.quoted())
	}
	start := s.at
	text := s.takeWhile(func(c rune) bool { return isNameRune(c) || c == '-' || c == '+' || c == '.' })
	switch text {
	case "true", "false":
		return value.Bool(text == "true")
	case "null":
		return value.Null()
	}
	number, ok := value.Number(text)
	if !ok {
		s.at = start
		s.fail("found %q where a value belongs", s.rest())
	}
	return number
}

// compares reports whether the operator holds between two values of a filter.
func compares(operator string, a, b value.Value) bool {
	switch operator {
	case "==":
		return value.Equal(a, b)
	case "!=":
		return !value.Equal(a, b)
	}
	order, ok := value.Compare(a, b)
	return ok && inOrder(operator, order)
}

// inOrder reports whether the operator holds between two values with this order.
func inOrder(operator string, order int) bool {
	switch operator {
	case "==":
		return order == 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}
