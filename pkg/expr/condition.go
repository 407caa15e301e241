package expr

import (
	"slices"
	"strings"

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

// operand is a node of the condition's tree: a constant, a path, or an operator with its operands.
type operand struct {
	operator string // one of those below or of a comparison, "" for a constant
	constant value.Value
	path     Path
	operands []operand
}

// The operators that are not comparisons.
const (
	opPath = "$"
	opList = "["
	opNot  = "!"
	opAnd  = "&&"
	opOr   = "||"
)

// eval returns Missing for a list with a missing element, so that no comparison with the list
// holds.
func (o *operand) eval(scope *Scope) value.Value {
	switch o.operator {
	case "":
		return o.constant
	case opPath:
		return o.path.Eval(scope)
	case opList:
		elements := make([]value.Value, len(o.operands))
		for i := range o.operands {
			if elements[i] = o.operands[i].eval(scope); elements[i].IsMissing() {
				return value.Value{}
			}
		}
		return value.Array(elements...)
	case opNot:
		return value.Bool(!o.operands[0].eval(scope).IsTrue())
	case opAnd, opOr:
		decides := o.operator == opOr
		for i := range o.operands {
			if o.operands[i].eval(scope).IsTrue() == decides {
				return value.Bool(decides)
			}
		}
		return value.Bool(!decides)
	}
	left, with := o.operands[0].complete(scope), &o.operands[1]
	if left.IsMissing() {
		return value.Bool(false)
	}
	if o.operator == "in" && with.operator == opList { // some elements may be missing
		return value.Bool(slices.ContainsFunc(with.operands, func(of operand) bool { return value.Equal(left, of.complete(scope)) }))
	}
	right := with.complete(scope)
	return value.Bool(!right.IsMissing() && compare(o.operator, left, right))
}

// complete returns the value of an operand with the content that a comparison needs.
func (o *operand) complete(scope *Scope) value.Value { return scope.Lookup.Complete(o.eval(scope)) }

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
	if order == 0 {
		return ok && strings.HasSuffix(operator, "=")
	}
	return order < 0 == strings.HasPrefix(operator, "<")
}

// level is the precedence of an operand, lowest first.
func (o *operand) level() int {
	switch o.operator {
	case opOr:
		return levelOr
	case opAnd:
		return levelAnd
	case "", opPath, opList, opNot:
		return levelUnary
	}
	return levelComparison
}

const (
	levelOr = iota
	levelAnd
	levelComparison
	levelUnary
)

func (o *operand) appendTo(b []byte) []byte {
	switch o.operator {
	case "":
		return o.constant.AppendJSON(b)
	case opPath:
		return append(b, o.path.String()...)
	case opList:
		return append(o.appendOperands(append(b, '['), ", ", levelUnary), ']')
	case opNot:
		return o.appendOperands(append(b, '!'), "", levelUnary)
	case opAnd, opOr:
		return o.appendOperands(b, " "+o.operator+" ", o.level())
	}
	return o.appendOperands(b, " "+o.operator+" ", levelUnary)
}

// appendOperands writes the operands and puts operands that bind weaker than least in parentheses.
// It never writes more parentheses than the text of o had, so the output is never nested too deeply
// to be read again.
func (o *operand) appendOperands(b []byte, separator string, least int) []byte {
	for i, of := range o.operands {
		if i > 0 {
			b = append(b, separator...)
		}
		if of.level() >= least {
			b = of.appendTo(b)
		} else {
			b = append(of.appendTo(append(b, '(')), ')')
		}
	}
	return b
}
