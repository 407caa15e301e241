package value

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// ParseJSON reads one JSON value. Number literals are kept as written. It rejects repeated keys,
// bytes that are not UTF-8 and halves of surrogate pairs with [ErrAmbiguous], because JSON readers
// differ on them. An error names the byte, counted from 1.
func ParseJSON(data []byte) (Value, error) {
	if at := invalidUTF8(data); at >= 0 {
		return Value{}, ambiguous("bytes that are not UTF-8", at)
	}
	r := reader{data: data}
	r.space()
	v, err := r.value(1)
	switch r.space(); {
	case errors.Is(err, ErrAmbiguous):
		return Value{}, err
	case err != nil || r.at < len(data):
		return Value{}, syntaxError(data)
	}
	return v, nil
}

// ErrAmbiguous reports JSON that another reader may read as something else.
var ErrAmbiguous = errors.New("ambiguous JSON")

func ambiguous(what string, at int) error {
	return fmt.Errorf("%w: %s, at byte %d", ErrAmbiguous, what, at+1)
}

// invalidUTF8 returns the offset of the first byte that is not UTF-8, -1 for none.
func invalidUTF8(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	at := 0
	for {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size <= 1 {
			return at
		}
		at += size
	}
}

// syntaxError returns the error of encoding/json for a text that is not JSON.
func syntaxError(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	var decoded any
	if err := d.Decode(&decoded); err != nil {
		return jsonError(err, len(data))
	}
	more := bytes.TrimLeft(data[d.InputOffset():], " \t\r\n")
	return fmt.Errorf("invalid JSON: more text after the value, at byte %d", len(data)-len(more)+1)
}

// readLevels is how many levels encoding/json reads.
const readLevels = 10_000

func jsonError(err error, size int) error {
	syntax, ok := errors.AsType[*json.SyntaxError](err)
	if ok && strings.Contains(syntax.Error(), "exceeded max depth") {
		return fmt.Errorf("invalid JSON: more than %d levels of arrays and objects and the limit is %d; write what is inside as a text", readLevels, MaxLevels)
	}
	if ok {
		return fmt.Errorf("invalid JSON: %w, at byte %d", syntax, syntax.Offset)
	}
	if errors.Is(err, io.EOF) {
		return errors.New("invalid JSON: the text is empty")
	}
	return fmt.Errorf("invalid JSON: the text ends too early, at byte %d", size)
}

// JSON returns v as compact JSON with the members of objects sorted by key. A missing value is
// null.
func (v Value) JSON() string {
	return string(v.AppendJSON(make([]byte, 0, max(v.Size(), len("null")))))
}

// String is [Value.JSON], so that a value prints readably.
func (v Value) String() string { return v.JSON() }

// MarshalJSON lets a Value stand in structures that encoding/json renders.
func (v Value) MarshalJSON() ([]byte, error) { return []byte(v.JSON()), nil }

// UnmarshalJSON is [ParseJSON] for structures that encoding/json reads. It does not see repeated
// keys of the structure itself.
func (v *Value) UnmarshalJSON(data []byte) (err error) {
	*v, err = ParseJSON(data)
	return err
}

// AppendJSON appends v to b as [Value.JSON] renders it.
func (v Value) AppendJSON(b []byte) []byte {
	switch v.Kind() {
	case KindMissing:
		return append(b, "null"...)
	case KindString:
		return appendString(b, v.Text())
	case KindArray:
		return appendMembers(b, v.Members(), '[', ']')
	case KindObject:
		return appendMembers(b, v.Members(), '{', '}')
	case KindNull, KindBool, KindNumber:
	}
	return append(b, v.Text()...)
}

func appendMembers(b []byte, members []Member, open, end byte) []byte {
	b = append(b, open)
	for i, m := range members {
		if i > 0 {
			b = append(b, ',')
		}
		if open == '{' {
			b = append(appendString(b, m.Key), ':')
		}
		b = m.Value.AppendJSON(b)
	}
	return append(b, end)
}

func appendString(b []byte, s string) []byte {
	if isPlain(s) {
		return append(append(append(b, '"'), s...), '"')
	}
	return append(b, escaped(s)...)
}

// stringSize is the length of s as a JSON string.
func stringSize(s string) int {
	if isPlain(s) {
		return len(s) + len(`""`)
	}
	return len(escaped(s))
}

// isPlain reports whether s needs no escape, as nearly all texts in a flow.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// escaped returns s as a JSON string. It does not escape "<", ">" and "&": a value is data, not
// HTML.
func escaped(s string) string {
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return strings.TrimSuffix(out.String(), "\n")
}
