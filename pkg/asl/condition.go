package asl

import (
	"maps"
	"slices"
	"strings"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/flow/document"
	"github.com/waitless/waitless/pkg/internal/similar"
	"github.com/waitless/waitless/pkg/value"
)

// rule is a condition of a Choice.
type rule func(e *evaluation) (bool, error)

// chosen is the condition of a branch: the state chose its rule when it was entered.
type chosen int64

// Holds implements [flow.Condition].
func (c chosen) Holds(scope *expr.Scope) bool {
	rule, ok := scope.Lookup.Complete(scope.Self).Get(keyIndex).Int64()
	return ok && rule == int64(c)
}

// choiceWork returns the work of a Choice: the number of the rule that holds, or the number behind
// the last one for its Default.
func choiceWork(rules []rule, hasDefault bool) func(e *evaluation, v value.Value) (value.Value, error) {
	return func(e *evaluation, _ value.Value) (value.Value, error) {
		for i, holds := range rules {
			ok, err := holds(e)
			if err != nil {
				return value.Value{}, err
			}
			if ok {
				return value.ObjectFrom([]value.Member{{Key: keyIndex, Value: value.Int(int64(i))}}), nil
			}
		}
		if !hasDefault {
			return value.Value{}, &stateError{errorNoChoice, "no rule of Choices holds, and there is no Default"}
		}
		return value.ObjectFrom([]value.Member{{Key: keyIndex, Value: value.Int(int64(len(rules)))}}), nil
	}
}

// comparison is the part of an operator's name behind its type.
var comparisons = map[string]string{
	"Equals": "==", "LessThan": "<", "GreaterThan": ">", "LessThanEquals": "<=", "GreaterThanEquals": ">=",
}

// typeTests are the operators that test the type of a value.
var typeTests = map[string]func(v value.Value) bool{
	"IsNull":    func(v value.Value) bool { return v.Kind() == value.KindNull },
	"IsString":  func(v value.Value) bool { return v.Kind() == value.KindString },
	"IsNumeric": func(v value.Value) bool { return v.Kind() == value.KindNumber },
	"IsBoolean": func(v value.Value) bool { return v.Kind() == value.KindBool },
	"IsPresent": func(value.Value) bool { return true },
	"IsTimestamp": func(v value.Value) bool {
		_, ok := flow.ParseTimestamp(v)
		return ok
	},
}

// isOperand reports whether a value may stand beside an operator, by the type of the operator.
var isOperand = map[string]func(v value.Value) bool{
	"String": typeTests["IsString"], "Numeric": typeTests["IsNumeric"], "Boolean": typeTests["IsBoolean"], "Timestamp": typeTests["IsTimestamp"],
}

// comparator splits the name of an operator that compares: StringLessThanEqualsPath. It returns
// false for other names.
func comparator(name string) (kind, operator string, isPath, ok bool) {
	rest, isPath := strings.CutSuffix(name, "Path")
	for kind := range isOperand {
		if comparison, found := strings.CutPrefix(rest, kind); found && comparisons[comparison] != "" && (kind != "Boolean" || comparison == "Equals") {
			return kind, comparisons[comparison], isPath, true
		}
	}
	return "", "", false, false
}

// operators are the names of all operators.
func operators() []string {
	names := append([]string{"And", "Or", "Not", "StringMatches"}, slices.Collect(maps.Keys(typeTests))...)
	for kind := range isOperand {
		for comparison := range comparisons {
			if _, _, _, ok := comparator(kind + comparison); ok {
				names = append(names, kind+comparison, kind+comparison+"Path")
			}
		}
	}
	slices.Sort(names)
	return names
}

// rule reads a rule of a Choice, or one inside of And, Or or Not. Besides are the fields that a
// rule of the list has beside its condition.
func (p *parser) rule(n *document.Node, besides ...string) rule {
	never := func(*evaluation) (bool, error) { return false, nil }
	if n.Kind != document.Mapping {
		p.unfit(n, "a rule", `an object like {"Variable": "$.type", "StringEquals": "a"}`)
		return never
	}
	names := operators()
	var operator *document.Entry
	for i, e := range n.Entries {
		switch {
		case e.Key == "Variable" || e.Key == "Comment" || slices.Contains(besides, e.Key):
		case !slices.Contains(names, e.Key):
			p.Problem(e.Pos, "%s: operator %q is unknown%s", p.place(), document.Shortened(e.Key), similar.MeantOrKnown(e.Key, append(names, besides...)))
			return never
		case operator != nil:
			p.Problem(e.Pos, "%s: a rule has both %q and %q; write one operator, and join several rules with And", p.place(), operator.Key, e.Key)
		default:
			operator = &n.Entries[i]
		}
	}
	if operator == nil {
		if !n.Partial {
			p.Problem(n.Pos, "%s: a rule has no operator (allowed: %s)", p.place(), strings.Join(names, ", "))
		}
		return never
	}
	return p.operator(n, operator)
}

// condition reads a rule with JSONata.
func (p *parser) condition(n *document.Node) rule {
	p.fields(n, "a rule", "Condition", "Next", "Assign", "Output", "Comment")
	field := p.required(n, "Condition")
	if field == nil {
		return func(*evaluation) (bool, error) { return false, nil }
	}
	t := p.template(field, "Condition")
	if t.computed == nil && t.constant.Kind() != value.KindBool {
		p.unfit(field, "Condition", `an expression like "{% $states.input.total > 10 %}"`)
	}
	return func(e *evaluation) (bool, error) {
		v, err := t.eval(e)
		v = e.lookup.Complete(v)
		if err == nil && v.Kind() != value.KindBool && len(e.lookup.Load) == 0 {
			err = e.fault("Condition is %s; allowed: true or false", value.Shown(v))
		}
		return v.IsTrue(), err
	}
}

func (p *parser) operator(n *document.Node, operator *document.Entry) rule {
	operand := operator.Value
	switch operator.Key {
	case "Not":
		inner := p.rule(operand)
		return func(e *evaluation) (bool, error) {
			ok, err := inner(e)
			return !ok, err
		}
	case "And", "Or":
		var inner []rule
		for _, item := range p.list(operand, operator.Key, "rules") {
			inner = append(inner, p.rule(item))
		}
		return joined(inner, operator.Key == "And")
	}
	variable := p.pathOf(n.Get("Variable"), "Variable")
	if n.Get("Variable") == nil {
		p.Problem(n.Pos, "%s: a rule with %s has no Variable; write a path like \"$.type\"", p.place(), operator.Key)
	}
	if test, ok := typeTests[operator.Key]; ok {
		if operand.Scalar.Kind() != value.KindBool {
			p.unfit(operand, operator.Key, "true or false")
		}
		return typed(variable, test, operand.Scalar.IsTrue(), operator.Key == "IsPresent")
	}
	if operator.Key == "StringMatches" {
		pattern, ok := operand.Text()
		if !ok {
			p.unfit(operand, operator.Key, `a text, in which "*" stands for any characters`)
		}
		return compared(variable, nil, func(v, _ value.Value) bool { return v.Kind() == value.KindString && wildcard(pattern, v.Text()) })
	}
	return p.comparing(variable, operator)
}

func (p *parser) comparing(variable *path, operator *document.Entry) rule {
	kind, comparison, isPath, _ := comparator(operator.Key)
	fits := isOperand[kind]
	var other expression
	if isPath {
		other = p.pathOf(operator.Value, operator.Key)
	} else {
		if !fits(operator.Value.Scalar) {
			p.unfit(operator.Value, operator.Key, map[string]string{
				"String": "a text", "Numeric": "a number", "Boolean": "true or false", "Timestamp": "an instant like 2026-01-31T10:00:00Z (RFC 3339)",
			}[kind])
		}
		other = constant{operator.Value.Scalar}
	}
	return compared(variable, other, func(v, w value.Value) bool {
		if !fits(v) || !fits(w) {
			return false
		}
		order, ok := value.Compare(v, w)
		switch kind {
		case "Boolean":
			return v.IsTrue() == w.IsTrue()
		case "Timestamp":
			t, _ := flow.ParseTimestamp(v)
			u, _ := flow.ParseTimestamp(w)
			order, ok = t.Compare(u), true
		}
		return ok && inOrder(comparison, order)
	})
}

func joined(rules []rule, all bool) rule {
	return func(e *evaluation) (bool, error) {
		for _, inner := range rules {
			if ok, err := inner(e); err != nil || ok != all {
				return ok, err
			}
		}
		return all, nil
	}
}

// typed tests the type of a variable, or whether it has a value.
func typed(variable *path, test func(v value.Value) bool, want, presence bool) rule {
	return func(e *evaluation) (bool, error) {
		v, err := variable.eval(e)
		if err != nil {
			if presence {
				return !want, nil
			}
			return false, err
		}
		return test(e.lookup.Complete(v)) == want, nil
	}
}

// compared compares a variable with another value, which may be nil.
func compared(variable *path, other expression, holds func(v, w value.Value) bool) rule {
	return func(e *evaluation) (bool, error) {
		v, err := variable.eval(e)
		if err != nil {
			return false, err
		}
		w := value.Missing()
		if other != nil {
			if w, err = other.eval(e); err != nil {
				return false, err
			}
		}
		return holds(e.lookup.Complete(v), e.lookup.Complete(w)), nil
	}
}

// wildcard reports whether a text fits a pattern, in which "*" stands for any characters and a
// backslash stands before a "*" or a backslash.
func wildcard(pattern, text string) bool {
	var parts []string // between the stars
	var part strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\' && i+1 < len(pattern):
			i++
			part.WriteByte(pattern[i])
		case c == '*':
			parts = append(parts, part.String())
			part.Reset()
		default:
			part.WriteByte(c)
		}
	}
	last := part.String()
	if len(parts) == 0 {
		return text == last
	}
	text, ok := strings.CutPrefix(text, parts[0])
	for _, middle := range parts[1:] {
		var found bool
		if _, text, found = strings.Cut(text, middle); !found {
			return false
		}
	}
	return ok && strings.HasSuffix(text, last)
}
