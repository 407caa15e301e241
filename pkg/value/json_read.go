package value

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// ParseJSON reads one JSON value. Number literals are kept as written. It rejects repeated keys,
// bytes that are not UTF-8 and halves of surrogate pairs with [ErrAmbiguous], because JSON readers
// differ on them. An error names the byte, counted from 1.
func ParseJSON(data []byte) (Value, error) {
	if !utf8.Valid(data) {
		for at, r := range string(data) {
			if r == utf8.RuneError && !bytes.HasPrefix(data[at:], []byte("\uFFFD")) {
				return Value{}, ambiguous("bytes that are not UTF-8", at)
			}
		}
	}
	if !json.Valid(data) {
		return Value{}, syntaxError(data)
	}
	r := reader{data: data}
	v := r.value()
	if r.err != nil {
		return Value{}, r.err
	}
	return v, nil
}

// ErrAmbiguous reports JSON that another reader may read as something else.
var ErrAmbiguous = errors.New("ambiguous JSON")

func ambiguous(what string, at int) error {
	return fmt.Errorf("%w: %s, at byte %d", ErrAmbiguous, what, at+1)
}

// syntaxError returns the error for a text that is not JSON.
func syntaxError(data []byte) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return errors.New("invalid JSON: the text is empty")
	}
	var text json.RawMessage
	err := json.Unmarshal(data, &text)
	syntax, ok := errors.AsType[*json.SyntaxError](err)
	switch {
	case !ok:
		return fmt.Errorf("invalid JSON: %w", err)
	case strings.Contains(syntax.Error(), "exceeded max depth"):
		return fmt.Errorf("invalid JSON: more than 10000 levels of arrays and objects and the limit is %d; write what is inside as a text", MaxLevels)
	}
	return fmt.Errorf("invalid JSON: %s, at byte %d", strings.Replace(syntax.Error(), "JSON input", "input", 1), syntax.Offset)
}

// reader reads valid JSON that is UTF-8.
type reader struct {
	data []byte
	at   int   // the next byte to read
	err  error // the first ambiguity
}

// next skips space and returns the byte behind it.
func (r *reader) next() byte {
	c := r.data[r.at]
	for ; c == ' ' || c == '\t' || c == '\r' || c == '\n'; c = r.data[r.at] {
		r.at++
	}
	return c
}

func (r *reader) value() Value {
	switch r.next() {
	case '{':
		members := r.members('}')
		slices.SortFunc(members, func(a, b Member) int { return strings.Compare(a.Key, b.Key) })
		for i := range len(members) - 1 {
			if key := members[i].Key; key == members[i+1].Key {
				r.ambiguous(fmt.Sprintf("the key %.40q is there twice in the object that ends", key), r.at-1)
			}
		}
		return ObjectFrom(members)
	case '[':
		return ArrayFrom(r.members(']'))
	case '"':
		return textValue(r.text())
	}
	start := r.at
	for r.at < len(r.data) && strings.IndexByte(" \t\r\n,]}", r.data[r.at]) < 0 {
		r.at++
	}
	switch literal := r.data[start:r.at]; string(literal) {
	case "null":
		return Null()
	case "true", "false":
		return Bool(literal[0] == 't')
	default:
		return Value{&node{kind: KindNumber, text: string(literal), size: len(literal)}}
	}
}

func (r *reader) ambiguous(what string, at int) {
	if r.err == nil {
		r.err = ambiguous(what, at)
	}
}

// members reads an object or an array, which ends with that bracket.
func (r *reader) members(end byte) []Member {
	var members []Member
	for r.at++; r.next() != end; {
		var m Member
		if end == '}' {
			m.Key = r.text()
			r.next()
			r.at++ // the colon
		}
		m.Value = r.value()
		members = append(members, m)
		if r.next() == ',' {
			r.at++
			r.next()
		}
	}
	r.at++
	return slices.Clip(members)
}

// text reads a text in quotes.
func (r *reader) text() string {
	start, escaped := r.at, false
	for r.at++; r.data[r.at] != '"'; r.at++ {
		if r.data[r.at] == '\\' {
			escaped = true
			r.at++
		}
	}
	r.at++
	if !escaped {
		return string(r.data[start+1 : r.at-1])
	}
	quoted, text := r.data[start:r.at], ""
	if at := halfPair(quoted); at >= 0 {
		r.ambiguous("half of a surrogate pair", start+at)
	}
	_ = json.Unmarshal(quoted, &text) // is valid
	return text
}

// halfPair returns the offset of a half of a surrogate pair in a text, -1 for none.
func halfPair(quoted []byte) int {
	for at := bytes.IndexByte(quoted, '\\'); at >= 0 && at < len(quoted); at++ {
		if quoted[at] != '\\' {
			continue
		}
		const size = len(`\u0000`)
		first, second := escapedRune(quoted[at:]), escapedRune(quoted[min(at+size, len(quoted)):])
		switch {
		case utf16.DecodeRune(first, second) != utf8.RuneError:
			at += 2*size - 1
		case utf16.IsSurrogate(first):
			return at
		default:
			at++ // the escaped character
		}
	}
	return -1
}

// escapedRune returns the code in an escape like \u00e4, 0 for other texts.
func escapedRune(text []byte) rune {
	const digits = 4
	hex, ok := bytes.CutPrefix(text, []byte(`\u`))
	if !ok || len(hex) < digits {
		return 0
	}
	code, _ := strconv.ParseUint(string(hex[:digits]), 16, 16)
	return rune(code)
}
