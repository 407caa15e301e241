package expr

import (
	"strings"

	"github.com/waitless/waitless/pkg/value"
)

// Text is a text in which ${PATH} stands for a value. The zero Text is empty.
type Text struct {
	parts []textPart
}

// textPart is a path with a root, or else a constant.
type textPart struct {
	path     Path
	constant string
}

const beginOfValue = "${" + string(RootSelf)

// ParseText reads a text with paths that begin with $, the step's own input: "Pay ${$.amount}?".
// Any other "${" and "$" is a part of the text. The error, of type [*SyntaxError], describes the
// first broken path.
func ParseText(text string) (Text, error) {
	s := &scanner{what: "text", text: text}
	var t Text
	for !s.done() {
		constant, _, hasValue := strings.Cut(s.rest(), beginOfValue)
		t.parts = append(t.parts, textPart{constant: constant})
		if s.pos += len(constant); !hasValue {
			break
		}
		s.take("${")
		t.parts = append(t.parts, textPart{path: s.path([]Root{RootSelf})})
		if !s.take("}") {
			s.fail(s.pos, `found %s where "}" belongs`, s.found(s.pos))
		}
	}
	if s.err != nil {
		return Text{}, s.err
	}
	return t, nil
}

// IsEmpty reports whether t is the zero Text.
func (t Text) IsEmpty() bool { return len(t.parts) == 0 }

// MissingText stands in a [Text] for a path that leads to no value.
const MissingText = "(missing)"

// Eval returns the text with the values. A text stands in it without quotes, any other value as
// JSON.
func (t Text) Eval(scope *Scope) string {
	var out strings.Builder
	for _, part := range t.parts {
		if part.path.root == "" {
			out.WriteString(part.constant)
			continue
		}
		switch v := part.path.Eval(scope); {
		case v.IsMissing():
			out.WriteString(MissingText)
		case v.Kind() == value.KindString:
			out.WriteString(v.Text())
		default:
			out.WriteString(v.JSON())
		}
	}
	return out.String()
}
