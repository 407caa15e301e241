package expr

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/waitless/waitless/pkg/value"
)

// SyntaxError reports an error in the text of a path or a condition.
type SyntaxError struct {
	Offset  int    // characters before the place
	Message string // what was found, what is allowed
}

func (e *SyntaxError) Error() string { return e.Message }

// scanner reads the text of a path or a condition.
type scanner struct {
	what string // "path" or "condition", for messages
	text string
	pos  int // bytes
}

func (s *scanner) rest() string { return s.text[s.pos:] }

func (s *scanner) done() bool { return s.pos >= len(s.text) }

// skipSpace moves past white space and returns the new position.
func (s *scanner) skipSpace() int {
	s.pos = len(s.text) - len(strings.TrimLeftFunc(s.rest(), unicode.IsSpace))
	return s.pos
}

// take moves past prefix if it is next, and reports whether it was.
func (s *scanner) take(prefix string) bool {
	if !strings.HasPrefix(s.rest(), prefix) {
		return false
	}
	s.pos += len(prefix)
	return true
}

// takeWhile moves past the characters that belong and returns them.
func (s *scanner) takeWhile(belongs func(rune) bool) string {
	rest := s.rest()
	end := strings.IndexFunc(rest, func(r rune) bool { return !belongs(r) })
	if end < 0 {
		end = len(rest)
	}
	s.pos += end
	return rest[:end]
}

// fail returns the error for the place at byte pos. Its message begins with the whole text.
func (s *scanner) fail(pos int, format string, args ...any) *SyntaxError {
	return &SyntaxError{
		Offset:  utf8.RuneCountInString(s.text[:pos]),
		Message: s.what + " " + shown(s.text) + ": " + fmt.Sprintf(format, args...),
	}
}

// shown returns text for a message: cut if it is long, "" if it is empty.
func shown(text string) string {
	const most = 100
	short := fmt.Sprintf("%.*s", most, text)
	switch {
	case text == "":
		return `""`
	case len(short) < len(text):
		return short + "..."
	}
	return text
}

// found quotes the character at byte pos for messages.
func (s *scanner) found(pos int) string {
	if pos >= len(s.text) {
		return "the end"
	}
	r, _ := utf8.DecodeRuneInString(s.text[pos:])
	return quote(string(r))
}

func quote(text string) string {
	if text == `"` {
		return `'"'`
	}
	return strconv.Quote(text)
}

// quoted reads a double-quoted text with JSON's escapes. The quote is next.
func (s *scanner) quoted() (string, error) {
	start := s.pos
	for i := start + 1; i < len(s.text); i++ {
		switch s.text[i] {
		case '\\':
			i++
		case '"':
			v, err := value.ParseJSON([]byte(s.text[start : i+1]))
			if err != nil {
				return "", s.unquotable(start, i+1)
			}
			s.pos = i + 1
			return v.Text(), nil
		}
	}
	return "", s.fail(start, "text that begins with %.20s has no closing quote", s.text[start:])
}

func (s *scanner) unquotable(start, end int) error {
	text := s.text[start:end]
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' }) {
		return s.fail(start, `text %s has a control character; it is written as an escape, like \n or \t`, shown(text))
	}
	return s.fail(start, `text %s has an escape that JSON does not know; a backslash itself is written \\`, shown(text))
}
