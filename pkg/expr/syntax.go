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
	Message string // says which text was found and which is allowed
}

func (e *SyntaxError) Error() string { return e.Message }

// scanner reads the text of a path or a condition. After the first error it is at the end of the
// text, and its results have no meaning.
type scanner struct {
	what string // "path" or "condition", for messages
	text string
	pos  int // bytes
	err  error
}

func (s *scanner) rest() string { return s.text[s.pos:] }

func (s *scanner) done() bool { return s.pos >= len(s.text) }

// skipSpace moves past white space and returns the new position.
func (s *scanner) skipSpace() int {
	s.pos = len(s.text) - len(strings.TrimLeftFunc(s.rest(), unicode.IsSpace))
	return s.pos
}

// next reports whether c is next.
func (s *scanner) next(c byte) bool { return !s.done() && s.text[s.pos] == c }

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

// fail reports an error at byte pos. Its message begins with the whole text.
func (s *scanner) fail(pos int, format string, args ...any) {
	if s.err == nil {
		s.err = &SyntaxError{
			Offset:  utf8.RuneCountInString(s.text[:pos]),
			Message: s.what + " " + shown(s.text) + ": " + fmt.Sprintf(format, args...),
		}
	}
	s.pos = len(s.text)
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
func (s *scanner) quoted() string {
	start := s.pos
	for i := start + 1; i < len(s.text); i++ {
		switch s.text[i] {
		case '\\':
			i++
		case '"':
			s.pos = i + 1
			quoted := s.text[start:s.pos]
			v, err := value.ParseJSON([]byte(quoted))
			if err != nil {
				s.fail(start, `text %s has a control character or an unknown escape; write \n for a line break and \\ for a backslash`, shown(quoted))
			}
			return v.Text()
		}
	}
	s.fail(start, "text that begins with %.20s has no closing quote", s.text[start:])
	return ""
}
