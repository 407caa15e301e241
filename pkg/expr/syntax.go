package expr

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// SyntaxError says what is wrong with the text of a path or a condition.
type SyntaxError struct {
	Offset  int    // characters before the place
	Message string // what was found, what is allowed
}

func (e *SyntaxError) Error() string { return e.Message }

// scanner walks over the text of a path or a condition.
type scanner struct {
	text string
	pos  int // bytes
}

func (s *scanner) rest() string { return s.text[s.pos:] }

func (s *scanner) done() bool { return s.pos >= len(s.text) }

// skipSpace moves to what comes after space, and tells where that is.
func (s *scanner) skipSpace() int {
	s.pos = len(s.text) - len(strings.TrimLeftFunc(s.rest(), unicode.IsSpace))
	return s.pos
}

// take moves past prefix if the text goes on with it.
func (s *scanner) take(prefix string) bool {
	if !strings.HasPrefix(s.rest(), prefix) {
		return false
	}
	s.pos += len(prefix)
	return true
}

// takeWhile moves past the characters that belong.
func (s *scanner) takeWhile(belongs func(rune) bool) string {
	rest := s.rest()
	end := strings.IndexFunc(rest, func(r rune) bool { return !belongs(r) })
	if end < 0 {
		end = len(rest)
	}
	s.pos += end
	return rest[:end]
}

// fail builds the error for the place at byte pos.
func (s *scanner) fail(pos int, format string, args ...any) *SyntaxError {
	return &SyntaxError{
		Offset:  utf8.RuneCountInString(s.text[:min(pos, len(s.text))]),
		Message: fmt.Sprintf(format, args...),
	}
}

// found quotes what stands at byte pos, for messages.
func (s *scanner) found(pos int) string {
	if pos >= len(s.text) {
		return "the end"
	}
	r, _ := utf8.DecodeRuneInString(s.text[pos:])
	return fmt.Sprintf("%q", string(r))
}

// quoted reads a double-quoted text with JSON's escapes; the scanner stands
// before the quote.
func (s *scanner) quoted() (string, error) {
	start := s.pos
	for i := start + 1; i < len(s.text); i++ {
		switch s.text[i] {
		case '\\':
			i++
		case '"':
			v, err := ParseJSON([]byte(s.text[start : i+1]))
			if err != nil {
				return "", s.fail(start, "text %s has an escape that JSON does not know", s.text[start:i+1])
			}
			s.pos = i + 1
			return v.Text(), nil
		}
	}
	return "", s.fail(start, "text that begins with %.20s has no closing quote", s.text[start:])
}
