package expr

import (
	"strings"
	"unicode"

	"github.com/waitless/waitless/pkg/value"
)

// maxNesting bounds the depth of parentheses and negations, so that a text cannot exhaust the
// stack.
const maxNesting = 100

// ParseCondition reads a condition. Errors are of type [*SyntaxError].
func ParseCondition(text string) (Condition, error) {
	p := &conditionParser{scanner: scanner{what: "condition", text: text}}
	start := p.skipSpace()
	root, err := p.or()
	if err != nil {
		return Condition{}, err
	}
	if p.skipSpace(); !p.done() {
		return Condition{}, p.unexpected(anOperator)
	}
	if err := p.checkTruth(start, root); err != nil {
		return Condition{}, err
	}
	return Condition{root}, nil
}

// checkTruth rejects a constant that is neither true nor false in place of a condition. $.s == "a"
// || "b" is a common mistake for $.s in ["a", "b"].
func (p *conditionParser) checkTruth(start int, o operand) error {
	var kind value.Kind
	switch o := o.(type) {
	case constant:
		kind = o.value.Kind()
	case list:
		kind = value.KindArray
	case Path, negation, joint, comparison:
		return nil
	}
	if kind == value.KindBool {
		return nil
	}
	return p.fail(start, `%s is %s, neither true nor false; compare it, for instance $.status == "success" or $.status in ["success", "done"]`,
		shown(string(o.appendTo(nil))), kind)
}

// conditionParser is a recursive descent parser with a method for each level of precedence: or,
// and, comparison, unary, primary.
type conditionParser struct {
	scanner
	depth int
}

func (p *conditionParser) or() (operand, error) { return p.joined("||", p.and) }

func (p *conditionParser) and() (operand, error) { return p.joined("&&", p.comparison) }

func (p *conditionParser) joined(operator string, next func() (operand, error)) (operand, error) {
	var operands []operand
	for {
		start := p.skipSpace()
		o, err := next()
		if err != nil {
			return nil, err
		}
		p.skipSpace()
		more := p.take(operator)
		if !more && len(operands) == 0 {
			return o, nil
		}
		if err := p.checkTruth(start, o); err != nil {
			return nil, err
		}
		operands = append(operands, o)
		if !more {
			return joint{operator, operands}, nil
		}
	}
}

func (p *conditionParser) comparison() (operand, error) {
	left, err := p.unary()
	if err != nil {
		return nil, err
	}
	operator := p.comparisonOperator()
	if operator == "" {
		return left, nil
	}
	right, err := p.unary()
	if err != nil {
		return nil, err
	}
	at := p.skipSpace()
	if again := p.comparisonOperator(); again != "" {
		return nil, p.fail(at, "found %q after a comparison; join two comparisons with &&", again)
	}
	return comparison{operator, left, right}, nil
}

// comparisonOperator reads an operator if one is next. Longer operators are tried first.
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
		p.pos += len("in")
		return "in"
	}
	return ""
}

// word returns the next word without moving past it.
func (p *conditionParser) word() string {
	ahead := p.scanner
	return ahead.takeWhile(isKeyRune)
}

func (p *conditionParser) unary() (operand, error) {
	p.skipSpace()
	if !p.take("!") {
		return p.primary()
	}
	start := p.skipSpace()
	var of operand
	err := p.nested(func() (err error) {
		of, err = p.unary()
		return err
	})
	if err != nil {
		return nil, err
	}
	return negation{of}, p.checkTruth(start, of)
}

func (p *conditionParser) nested(parse func() error) error {
	if p.depth++; p.depth > maxNesting {
		return p.fail(p.pos, "nested more than %d deep; split it over several choices", maxNesting)
	}
	defer func() { p.depth-- }()
	return parse()
}

func (p *conditionParser) primary() (operand, error) {
	p.skipSpace()
	if p.done() {
		return nil, p.unexpected(aValue)
	}
	switch c := p.text[p.pos]; {
	case c == '(':
		return p.parentheses()
	case c == '[':
		return p.list()
	case c == '$':
		return scanPath(&p.scanner, []Root{RootSelf})
	case c == '"':
		text, err := p.quoted()
		return constant{value.String(text)}, err
	case c == '`':
		return p.backQuoted()
	case c == '-' || (c >= '0' && c <= '9'):
		return p.number()
	}
	return p.boolean()
}

func (p *conditionParser) parentheses() (inner operand, err error) {
	p.take("(")
	err = p.nested(func() error {
		inner, err = p.or()
		return err
	})
	if err != nil {
		return nil, err
	}
	if p.skipSpace(); !p.take(")") {
		return nil, p.unexpected(`")"`)
	}
	return inner, nil
}

func (p *conditionParser) list() (operand, error) {
	p.take("[")
	var elements []operand
	for p.skipSpace(); !p.take("]"); p.skipSpace() {
		if len(elements) > 0 && !p.take(",") {
			return nil, p.unexpected(`"," or "]"`)
		}
		err := p.nested(func() error {
			element, err := p.unary()
			elements = append(elements, element)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return list{elements}, nil
}

func (p *conditionParser) backQuoted() (operand, error) {
	start := p.pos
	content, _, closed := strings.Cut(p.text[start+1:], "`")
	if !closed {
		return nil, p.fail(start, "text that begins with %.20s has no closing back-quote", p.text[start:])
	}
	p.pos += len(content) + len("``")
	return constant{value.String(content)}, nil
}

func (p *conditionParser) number() (operand, error) {
	start := p.pos
	text := p.takeWhile(func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("+-._", r)
	})
	v, ok := value.Number(text)
	if !ok {
		return nil, p.fail(start, "%s is not a number; numbers are decimal, like 3, -1, 0.5 or 1e6", text)
	}
	return constant{v}, nil
}

func (p *conditionParser) boolean() (operand, error) {
	switch word := p.word(); word {
	case "true", "false":
		p.pos += len(word)
		return constant{value.Bool(word == "true")}, nil
	}
	return nil, p.unexpected(aValue)
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

// remedies say what to write instead of operators and words of other languages. The keys are in
// lower case.
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

// unexpected returns the error for a word or sign that is not allowed here.
func (p *conditionParser) unexpected(allowed string) error {
	word := p.word()
	found := p.foundWord(word)
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
	return p.fail(p.pos, "found %s where %s belongs%s", found, allowed, remedy)
}

// foundWord returns what is next: a word, a sign of several characters, or one character.
func (p *conditionParser) foundWord(word string) string {
	if word != "" {
		return word
	}
	for _, sign := range []string{"==", "!=", "<=", ">=", "&&", "||", "=>", "=<", "<>"} {
		if strings.HasPrefix(p.rest(), sign) {
			return sign
		}
	}
	for _, r := range p.rest() {
		return string(r)
	}
	return ""
}
