package value

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// reader reads JSON that is UTF-8. It does not explain why a text is not JSON.
type reader struct {
	data []byte
	at   int // what is read next
}

var errNotJSON = errors.New("invalid JSON")

// next returns the next byte, 0 at the end.
func (r *reader) next() byte {
	if r.at == len(r.data) {
		return 0
	}
	return r.data[r.at]
}

// take reads c if it is next, and reports whether it was.
func (r *reader) take(c byte) bool {
	if r.next() != c || r.at == len(r.data) {
		return false
	}
	r.at++
	return true
}

func (r *reader) space() {
	for c := r.next(); c == ' ' || c == '\t' || c == '\r' || c == '\n'; c = r.next() {
		r.at++
	}
}

// value reads a value that begins here; level counts the arrays and objects around it.
func (r *reader) value(level int) (Value, error) {
	switch c := r.next(); {
	case level > readLevels && (c == '{' || c == '['):
		return Value{}, errNotJSON
	case c == '{':
		return r.object(level)
	case c == '[':
		return r.array(level)
	case c == '"':
		text, err := r.text()
		return Value{&node{kind: KindString, text: text, size: stringSize(text)}}, err
	case c == 't':
		return Bool(true), r.word("true")
	case c == 'f':
		return Bool(false), r.word("false")
	case c == 'n':
		return Null(), r.word("null")
	}
	return r.number()
}

func (r *reader) word(word string) error {
	if !strings.HasPrefix(string(r.data[r.at:min(len(r.data), r.at+len(word))]), word) {
		return errNotJSON
	}
	r.at += len(word)
	return nil
}

func (r *reader) number() (Value, error) {
	start := r.at
	for strings.IndexByte("+-.0123456789Ee", r.next()) >= 0 {
		r.at++
	}
	v, ok := Number(string(r.data[start:r.at]))
	if !ok {
		return Value{}, errNotJSON
	}
	return v, nil
}

func (r *reader) array(level int) (Value, error) {
	var members []Member
	err := r.list('[', ']', func() error {
		v, err := r.value(level + 1)
		members = append(members, Member{Value: v})
		return err
	})
	if err != nil {
		return Value{}, err
	}
	return ArrayFrom(slices.Clip(members)), nil
}

func (r *reader) object(level int) (Value, error) {
	var members []Member
	err := r.list('{', '}', func() error {
		m, err := r.member(level)
		members = append(members, m)
		return err
	})
	if err != nil {
		return Value{}, err
	}
	slices.SortFunc(members, func(a, b Member) int { return strings.Compare(a.Key, b.Key) })
	for i := range len(members) - 1 {
		if key := members[i].Key; key == members[i+1].Key {
			return Value{}, ambiguous(fmt.Sprintf("the key %.40q is there twice in the object that ends", key), r.at-1)
		}
	}
	return ObjectFrom(slices.Clip(members)), nil
}

func (r *reader) member(level int) (m Member, err error) {
	if m.Key, err = r.text(); err != nil {
		return m, err
	}
	r.space()
	if !r.take(':') {
		return m, errNotJSON
	}
	r.space()
	m.Value, err = r.value(level + 1)
	return m, err
}

// list reads the elements between open and end, separated by commas.
func (r *reader) list(open, end byte, one func() error) error {
	r.take(open)
	r.space()
	if r.take(end) {
		return nil
	}
	for {
		r.space()
		if err := one(); err != nil {
			return err
		}
		r.space()
		switch {
		case r.take(end):
			return nil
		case !r.take(','):
			return errNotJSON
		}
	}
}

// text reads a string in quotes.
func (r *reader) text() (string, error) {
	if !r.take('"') {
		return "", errNotJSON
	}
	start := r.at
	for c := r.next(); c >= ' ' && c != '"' && c != '\\'; c = r.next() {
		r.at++
	}
	if r.next() == '"' { // nearly all are without an escape
		r.at++
		return string(r.data[start : r.at-1]), nil
	}
	text := append([]byte(nil), r.data[start:r.at]...)
	for !r.take('"') {
		var err error
		if text, err = r.character(text); err != nil {
			return "", err
		}
	}
	return string(text), nil
}

// character appends the next byte or escape of a string.
func (r *reader) character(text []byte) ([]byte, error) {
	switch c := r.next(); {
	case c < ' ':
		return nil, errNotJSON
	case c != '\\':
		r.at++
		return append(text, c), nil
	}
	r.at++
	if r.take('u') {
		return r.unicode(text)
	}
	const escapes, meant = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	i := strings.IndexByte(escapes, r.next())
	if i < 0 {
		return nil, errNotJSON
	}
	r.at++
	return append(text, meant[i]), nil
}

// unicode appends the character behind a \u, which may be a pair.
func (r *reader) unicode(text []byte) ([]byte, error) {
	start := r.at - len(`\u`)
	first, ok := r.hex()
	if !ok {
		return nil, errNotJSON
	}
	if !utf16.IsSurrogate(first) {
		return utf8.AppendRune(text, first), nil
	}
	if !r.take('\\') || !r.take('u') {
		return nil, halfPair(start)
	}
	second, ok := r.hex()
	if !ok {
		return nil, errNotJSON
	}
	pair := utf16.DecodeRune(first, second)
	if pair == utf8.RuneError {
		return nil, halfPair(start)
	}
	return utf8.AppendRune(text, pair), nil
}

func halfPair(at int) error { return ambiguous("half of a surrogate pair", at) }

// hex reads four hexadecimal digits.
func (r *reader) hex() (rune, bool) {
	const digits = 4
	if r.at+digits > len(r.data) || strings.ContainsAny(string(r.data[r.at:r.at+digits]), "+-_") {
		return 0, false
	}
	code, err := strconv.ParseUint(string(r.data[r.at:r.at+digits]), 16, 16)
	r.at += digits
	return rune(code), err == nil
}
