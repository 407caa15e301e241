package value

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

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
