package jsonata

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/waitless/waitless/pkg/value"
)

type tokenKind uint8

const (
	endToken tokenKind = iota
	nameToken
	variableToken
	literalToken
	regexToken
	operatorToken
)

type token struct {
	kind  tokenKind
	text  string // the name, or the operator
	value item   // of a literal or a regular expression
	pos   int
}

const (
	spaces = " \t\n\r\v"
	// terminators end a name.
	terminators = spaces + ".[]{}(),@#;:?+-*/%|=<>^&!~"
)

type lexer struct {
	text         string
	at           int
	instructions int // of the regular expressions so far
}

// next reads a token. A slash begins a regular expression unless an operand stands before it.
func (l *lexer) next(afterOperand bool) token {
	l.skip()
	start := l.at
	if start == len(l.text) {
		return token{kind: endToken, text: "(end)", pos: start}
	}
	switch c := l.text[start]; {
	case c == '/' && !afterOperand:
		return l.regex()
	case c == '"' || c == '\'':
		return token{kind: literalToken, value: l.quoted(c), pos: start}
	case c == '`':
		end := strings.IndexByte(l.text[start+1:], '`')
		if end < 0 {
			fail(start, "S0105", nil)
		}
		l.at += end + len("``")
		return token{kind: nameToken, text: l.text[start+1 : l.at-1], pos: start}
	case c >= '0' && c <= '9':
		number := numberForm().FindString(l.text[start:])
		f, _ := strconv.ParseFloat(number, 64) // is a number
		if math.IsInf(f, 0) {
			fail(start, "S0102", number)
		}
		l.at += len(number)
		return token{kind: literalToken, value: f, pos: start}
	}
	if op := l.operator(); op != "" {
		l.at += len(op)
		return token{kind: operatorToken, text: op, pos: start}
	}
	return l.name()
}

// skip passes over spaces and comments.
func (l *lexer) skip() {
	for l.at < len(l.text) {
		rest := l.text[l.at:]
		switch {
		case strings.IndexByte(spaces, rest[0]) >= 0:
			l.at++
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				fail(l.at, "S0106", nil)
			}
			l.at += end + len("/**/")
		default:
			return
		}
	}
}

func (l *lexer) operator() string {
	rest := l.text[l.at:]
	if len(rest) > 1 {
		switch two := rest[:2]; two {
		case "..", ":=", "!=", ">=", "<=", "**", "~>", "?:", "??":
			return two
		}
	}
	if strings.IndexByte(terminators, rest[0]) >= 0 {
		if rest[0] == '!' || rest[0] == '~' {
			fail(l.at, "S0204", rest[:1])
		}
		return rest[:1]
	}
	return ""
}

func (l *lexer) name() token {
	start, rest := l.at, l.text[l.at:]
	end := strings.IndexAny(rest, terminators)
	if end < 0 {
		end = len(rest)
	}
	l.at += end
	name := rest[:end]
	t := token{kind: nameToken, text: name, pos: start}
	switch name {
	case "and", "or", "in":
		t.kind = operatorToken
	case "true", "false":
		t.kind, t.value = literalToken, value.Bool(name == "true")
	case "null":
		t.kind, t.value = literalToken, value.Null()
	default:
		if name[0] == '$' {
			t.kind, t.text = variableToken, name[1:]
		}
	}
	return t
}

// numberForm leaves out a dot or an exponent without digits behind it: 1..3 is a range.
var numberForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?`)
})

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func (l *lexer) quoted(quote byte) string {
	start := l.at
	var out strings.Builder
	for l.at++; l.at < len(l.text); l.at++ {
		switch c := l.text[l.at]; c {
		case quote:
			l.at++
			return out.String()
		case '\\':
			l.at++
			out.WriteRune(l.escape())
		default:
			out.WriteByte(c)
		}
	}
	fail(start, "S0101", nil)
	return ""
}

// escape reads the character behind a backslash and stops at its last byte.
func (l *lexer) escape() rune {
	if l.at == len(l.text) {
		return 0 // the text has no closing quote
	}
	c := l.text[l.at]
	if c == 'u' {
		first := l.hex()
		if utf16.IsSurrogate(first) && strings.HasPrefix(l.text[l.at+1:], `\u`) {
			before := l.at
			l.at += len(`\u`)
			if both := utf16.DecodeRune(first, l.hex()); both != utf8.RuneError {
				return both
			}
			l.at = before
		}
		return first
	}
	i := strings.IndexByte(`"\/bfnrt`, c)
	if i < 0 {
		fail(l.at, "S0103", string(c))
	}
	return rune("\"\\/\b\f\n\r\t"[i])
}

// hex reads the four digits behind \u.
func (l *lexer) hex() rune {
	const size = 4
	digits := l.text[l.at+1 : min(l.at+1+size, len(l.text))]
	code, err := strconv.ParseUint(digits, 16, 16)
	if err != nil || len(digits) < size {
		fail(l.at, "S0104", nil)
	}
	l.at += size
	return rune(code)
}

// regex reads a regular expression with its flags. A slash in a class or in brackets does not end
// it.
func (l *lexer) regex() token {
	start, depth := l.at, 0
	for l.at++; l.at < len(l.text); l.at++ {
		switch l.text[l.at] {
		case '\\':
			l.at++
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case '/':
			if depth > 0 {
				continue
			}
			pattern := l.text[start+1 : l.at]
			if pattern == "" {
				fail(start, "S0301", nil)
			}
			l.at++
			flags := l.at
			for l.at < len(l.text) && (l.text[l.at] == 'i' || l.text[l.at] == 'm') {
				l.at++
			}
			return token{kind: regexToken, value: l.compile(start, pattern, l.text[flags:l.at]), pos: start}
		}
	}
	fail(start, "S0302", nil)
	return token{}
}
