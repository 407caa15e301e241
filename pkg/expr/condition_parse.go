package expr

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/waitless/waitless/pkg/value"
)

// maxNesting bounds the depth of parentheses and negations, so that a text cannot exhaust the
// stack.
const maxNesting = 100

// ParseCondition reads a condition. Errors are of type [*SyntaxError].
func ParseCondition(text string) (Condition, error) {
	p := &conditionParser{scanner: scanner{what: "condition", text: text}}
	start := p.skipSpace()
	root := p.or()
	if p.skipSpace(); !p.done() {
		p.unexpected(anOperator)
	}
	p.checkTruth(start, root)
	if p.err != nil {
		return Condition{}, p.err
	}
	return Condition{root}, nil
}

// checkTruth rejects a constant that is neither true nor false in place of a condition. $.s == "a"
// || "b" is a common mistake for $.s in ["a", "b"].
func (p *conditionParser) checkTruth(start int, o operand) {
	kind := o.constant.Kind()
	if o.operator == opList {
		kind = value.KindArray
	}
	if kind != value.KindMissing && kind != value.KindBool {
		p.fail(start, `%s is %s, neither true nor false; compare it, for instance $.status == "success" or $.status in ["success", "done"]`,
			shown(string(o.appendTo(nil))), kind)
	}
}

// conditionParser is a recursive descent parser with a method for each level of precedence: or,
// and, comparison, unary, primary.
type conditionParser struct {
	scanner

	depth int
}

func (p *conditionParser) or() operand { return p.joined(opOr, p.and) }

func (p *conditionParser) and() operand { return p.joined(opAnd, p.comparison) }

func (p *conditionParser) joined(operator string, next func() operand) operand {
	var operands []operand
	for more := true; more; {
		start := p.skipSpace()
		o := next()
		p.skipSpace()
		if more = p.take(operator); !more && operands == nil {
			return o
		}
		p.checkTruth(start, o)
		operands = append(operands, o)
	}
	return operand{operator: operator, operands: operands}
}

func (p *conditionParser) comparison() operand {
	left := p.unary()
	operator := p.comparisonOperator()
	if operator == "" {
		return left
	}
	right := p.unary()
	at := p.skipSpace()
	if again := p.comparisonOperator(); again != "" {
		p.fail(at, "found %q after a comparison; join two comparisons with &&", again)
	}
	return operand{operator: operator, operands: []operand{left, right}}
}

// comparisonOperator reads the next operator, if there is one. Longer operators are tried first.
func (p *conditionParser) comparisonOperator() string {
	if p.skipSpace(); strings.HasPrefix(p.rest(), "<>") {
		return "" // another language's !=, not a < without its right side
	}
	for _, operator := range []string{"==", "!=", "<=", ">=", "<", ">"} {
		if p.take(operator) {
			return operator
		}
	}
	if p.word() == "in" {
		p.take("in")
		return "in"
	}
	return ""
}

// word returns the next word without moving past it.
func (p *conditionParser) word() string {
	ahead := p.scanner
	return ahead.takeWhile(isKeyRune)
}

func (p *conditionParser) unary() operand {
	p.skipSpace()
	if !p.take("!") {
		return p.primary()
	}
	start := p.skipSpace()
	of := p.nested(p.unary)
	p.checkTruth(start, of)
	return operand{operator: opNot, operands: []operand{of}}
}

func (p *conditionParser) nested(parse func() operand) operand {
	if p.depth++; p.depth > maxNesting {
		p.fail(p.pos, "nested more than %d deep; split it over several choices", maxNesting)
		return operand{}
	}
	defer func() { p.depth-- }()
	return parse()
}

func (p *conditionParser) primary() operand {
	p.skipSpace()
	start, word := p.pos, p.word()
	switch {
	case p.take("("):
		inner := p.nested(p.or)
		if p.skipSpace(); !p.take(")") {
			p.unexpected(`")"`)
		}
		return inner
	case p.take("["):
		list := operand{operator: opList}
		for p.skipSpace(); p.err == nil && !p.take("]"); p.skipSpace() {
			if len(list.operands) > 0 && !p.take(",") {
				p.unexpected(`"," or "]"`)
			}
			list.operands = append(list.operands, p.nested(p.unary))
		}
		return list
	case p.next('$'):
		return operand{operator: opPath, path: p.path([]Root{RootSelf})}
	case p.next('"'):
		return operand{constant: value.String(p.quoted())}
	case p.take("`"):
		text := p.takeWhile(func(r rune) bool { return r != '`' })
		if !p.take("`") {
			p.fail(start, "text that begins with %.20s has no closing back-quote", p.text[start:])
		}
		return operand{constant: value.String(text)}
	case p.next('-'), !p.done() && p.text[p.pos] >= '0' && p.text[p.pos] <= '9':
		text := p.takeWhile(func(r rune) bool {
			return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("+-._", r)
		})
		v, ok := value.Number(text)
		if !ok {
			p.fail(start, "%s is not a number; numbers are decimal, like 3, -1, 0.5 or 1e6", text)
		}
		return operand{constant: v}
	case word == "true", word == "false":
		p.take(word)
		return operand{constant: value.Bool(word == "true")}
	}
	p.unexpected(aValue)
	return operand{}
}

// The values and operators that are allowed, for messages.
const (
	aValue     = `a value (a path like $.key, "text", a number, true, false or a list)`
	anOperator = `an operator (== != < <= > >= in && ||) or the end`
)

const (
	noNull    = `there is no null: a comparison with a missing value is false, and $.key == $.key is true if key exists`
	noCompute = `conditions do not compute`
	not       = `"not" is written ! before a value or parentheses, as in !($.key in [1, 2])`
)

// remedies suggest the right form for operators and words of other languages. The keys are in lower
// case.
var remedies = map[string]string{
	"=":         `"equals" is written ==`,
	"=>":        `"at least" is written >=`,
	"=<":        `"at most" is written <=`,
	"<>":        `"different" is written !=`,
	"'":         `a text stands in double quotes`,
	"&":         `"and" is written &&`,
	"|":         `"or" is written ||`,
	"and":       `"and" is written &&`,
	"or":        `"or" is written ||`,
	"!":         not,
	"not":       not,
	"null":      noNull,
	"nil":       noNull,
	"none":      noNull,
	"undefined": noNull,
	"true":      `it is written true`,
	"false":     `it is written false`,
	"+":         noCompute,
	"-":         noCompute,
	"*":         noCompute,
	"/":         noCompute,
	"%":         noCompute,
}

// unexpected reports a word or sign that is not allowed here.
func (p *conditionParser) unexpected(allowed string) {
	word, ahead := p.word(), p.scanner
	found := word + ahead.takeWhile(func(r rune) bool { return word == "" && strings.ContainsRune("=<>!&|", r) })
	if found == "" {
		_, size := utf8.DecodeRuneInString(p.rest())
		found = p.rest()[:size]
	}
	remedy := remedies[strings.ToLower(found)]
	if remedy == "" && word != "" && allowed == aValue {
		remedy = `a text is written "` + word + `", a member of the step's input $.` + word
	}
	if remedy != "" {
		remedy = "; " + remedy
	}
	if found = quote(found); p.done() {
		found = "the end"
	}
	p.fail(p.pos, "found %s where %s belongs%s", found, allowed, remedy)
}
