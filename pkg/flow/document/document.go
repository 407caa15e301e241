package document

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/value"
)

// Node is a value of the document with its position. Aliases are resolved.
type Node struct {
	Pos     flow.Position
	Kind    Kind
	Scalar  value.Value // of a [Scalar]
	Quote   rune        // of a [Scalar]: a double or single quote, 0 when the text stands without
	Entries []Entry     // of a [Mapping], in the order of the text
	Items   []*Node     // of a [Sequence]
	// Partial says that an entry could not be read, so no field is reported as missing.
	Partial bool
}

// Kind is the kind of a [Node].
type Kind uint8

// The kinds of nodes.
const (
	Scalar Kind = iota
	Mapping
	Sequence
	Unreadable // its problem was reported
)

// Entry is a key of a mapping with its value.
type Entry struct {
	Key   string
	Pos   flow.Position
	Value *Node
}

// Get returns the value of key, nil for none.
func (n *Node) Get(key string) *Node {
	if n == nil {
		return nil
	}
	return Find(n.Entries, key)
}

// Find returns the value of key, nil for none.
func Find(entries []Entry, key string) *Node {
	for _, e := range entries {
		if e.Key == key {
			return e.Value
		}
	}
	return nil
}

// Inside returns the values of a mapping or the items of a list, none for nil.
func (n *Node) Inside() []*Node {
	if n == nil {
		return nil
	}
	values := make([]*Node, len(n.Entries), len(n.Entries)+len(n.Items))
	for i, e := range n.Entries {
		values[i] = e.Value
	}
	return append(values, n.Items...)
}

// Describe returns the node for messages: `text "x"`, "a list".
func (n *Node) Describe() string {
	switch n.Kind {
	case Mapping:
		return "a mapping"
	case Sequence:
		return "a list"
	case Scalar, Unreadable:
	}
	switch n.Scalar.Kind() {
	case value.KindString:
		return fmt.Sprintf("text %q", Shortened(n.Scalar.Text()))
	case value.KindNumber:
		return "number " + Shortened(n.Scalar.Text())
	case value.KindMissing, value.KindNull:
		return "nothing"
	case value.KindBool, value.KindArray, value.KindObject:
	}
	return n.Scalar.Text()
}

// Shortened cuts a long text for a message.
func Shortened(text string) string {
	const most = 80
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most]) + "..."
}

// Value returns the JSON value of the node.
func (n *Node) Value() value.Value {
	switch n.Kind {
	case Mapping:
		members := make([]value.Member, len(n.Entries))
		for i, e := range n.Entries {
			members[i] = value.Member{Key: e.Key, Value: e.Value.Value()}
		}
		return value.Object(members...)
	case Sequence:
		elements := make([]value.Value, len(n.Items))
		for i, item := range n.Items {
			elements[i] = item.Value()
		}
		return value.Array(elements...)
	case Scalar, Unreadable:
	}
	return n.Scalar
}

// AppendJSON appends the node as JSON. Members keep the order of the text.
func (n *Node) AppendJSON(out []byte) []byte {
	switch n.Kind {
	case Mapping:
		out = append(out, '{')
		for i, e := range n.Entries {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(out, value.String(e.Key).JSON()+":"...)
			out = e.Value.AppendJSON(out)
		}
		return append(out, '}')
	case Sequence:
		out = append(out, '[')
		for i, item := range n.Items {
			if i > 0 {
				out = append(out, ',')
			}
			out = item.AppendJSON(out)
		}
		return append(out, ']')
	case Scalar, Unreadable:
	}
	return append(out, n.Scalar.JSON()...)
}

// Text returns the text of n, and false if n is not a text.
func (n *Node) Text() (text string, ok bool) {
	if n.Kind != Scalar || n.Scalar.Kind() != value.KindString {
		return "", false
	}
	return n.Scalar.Text(), true
}

// Texts returns the texts of a list, nil for none.
func (n *Node) Texts() []string {
	if n == nil {
		return nil
	}
	texts := make([]string, len(n.Items))
	for i, item := range n.Items {
		texts[i] = item.Scalar.Text()
	}
	return texts
}

// maxNodes bounds a document after its aliases are resolved, so that a few lines that refer to each
// other cannot fill the memory.
const maxNodes = 100_000

// MaxTexts bounds the texts of a document in the same way. It is more than the texts of [MaxSize]
// bytes can have: an escape of two bytes may stand for a character of three.
const MaxTexts = 2 * MaxSize

// MaxSize is the maximum size of a definition in bytes, with which it fits into every store: an
// item of DynamoDB has at most 400 KB, keys included.
const MaxSize = 390 << 10

// maxLevels is how deeply lists and mappings may be nested. A branch of a choice takes four levels.
const maxLevels = 500

// Reader turns a document into nodes and collects its problems.
type Reader struct {
	Problems flow.Problems
	lines    []string
	runes    [][]rune // the characters of lines with a counted column, nil for other lines
	nodes    int
	bytes    int                 // of the scalars
	levels   int                 // lists and mappings around the node being read
	stopped  bool                // the document is too large, so the rest is not read
	inside   map[*yaml.Node]bool // anchors being followed
}

// Problem reports an error.
func (r *Reader) Problem(at flow.Position, format string, args ...any) {
	r.Problems = append(r.Problems, flow.NewProblem(flow.SeverityError, at, format, args...))
}

// unreadable reports a value and returns a node in place of it.
func (r *Reader) unreadable(at flow.Position, format string, args ...any) *Node {
	r.Problem(at, format, args...)
	return &Node{Pos: at, Kind: Unreadable}
}

// Read returns the root of the document, nil for none.
func (r *Reader) Read(text []byte) *Node {
	if len(text) > MaxSize {
		r.Problem(flow.Position{Line: 1, Column: 1}, "the definition has %d bytes and the limit is %d; split the flow", len(text), MaxSize)
		return nil
	}
	text = bytes.ReplaceAll(bytes.TrimPrefix(text, []byte("\uFEFF")), []byte("\r\n"), []byte("\n"))
	r.lines = strings.Split(string(text), "\n")
	if !r.isText(text) {
		return nil
	}
	root := r.readYAML(text)
	if r.stopped {
		return nil
	}
	return root
}

// stop reports that the document is too large.
func (r *Reader) stop(at flow.Position, format string, args ...any) {
	if !r.stopped {
		r.Problem(at, format, args...)
	}
	r.stopped = true
}

// isText reports the first byte that is not UTF-8 and the first character that YAML rejects, or
// that only some readers take for the end of a line.
func (r *Reader) isText(text []byte) bool {
	at := flow.Position{Line: 1, Column: 1}
	for i := 0; i < len(text); {
		c, size := utf8.DecodeRune(text[i:])
		if c == utf8.RuneError && size == 1 || unicode.IsControl(c) && c != '\t' && c != '\n' || strings.ContainsRune("\u2028\u2029\uFFFE\uFFFF", c) {
			r.Problem(at, "the definition has the character %q; write UTF-8 text without control characters", text[i:i+size])
			return false
		}
		at.Column++
		if c == '\n' {
			at = flow.Position{Line: at.Line + 1, Column: 1}
		}
		i += size
	}
	return true
}

// within moves a position beyond the text, as something missing may have, to the end of the text.
func (r *Reader) within(at flow.Position) flow.Position {
	if at.Line > len(r.lines) {
		at = flow.Position{Line: len(r.lines), Column: len(r.lines[len(r.lines)-1]) + 1}
	}
	at.Column = min(at.Column, len(r.line(at.Line))+1)
	return at
}

// line returns the characters of a line. It decodes each line once: a definition on one line may
// have many problems.
func (r *Reader) line(number int) []rune {
	if r.runes == nil {
		r.runes = make([][]rune, len(r.lines))
	}
	if r.runes[number-1] == nil {
		r.runes[number-1] = []rune(r.lines[number-1])
	}
	return r.runes[number-1]
}

// PlaceIn returns the position of the character at offset in a scalar's text, or the position of
// the scalar if the document does not have the text as it is.
func (r *Reader) PlaceIn(n *Node, offset int) flow.Position {
	raw := r.line(n.Pos.Line)
	at := n.Pos.Column - 1
	if n.Quote != 0 {
		at++
	}
	text := []rune(n.Scalar.Text())
	for _, c := range text[:min(offset, len(text))] {
		// A backslash in double quotes and a quote in single ones stand for the next character.
		isEscape := at < len(raw) && n.Quote == '"' && raw[at] == '\\'
		if isEscape || at < len(raw) && n.Quote == '\'' && raw[at] == n.Quote {
			at++
		}
		if at >= len(raw) || raw[at] != c && (!isEscape || !strings.ContainsRune("nrt", raw[at])) {
			return n.Pos
		}
		at++
	}
	return flow.Position{Line: n.Pos.Line, Column: at + 1}
}

// Places returns a [flow.Task.ParamPlaces] for n: a member is at its key, which may end with ".$".
// A path without a value leads to the last value on the way.
func (n *Node) Places() func() func(path []string) flow.Position {
	if n == nil {
		return nil
	}
	return func() func(path []string) flow.Position {
		known := map[*Node]map[string]Entry{} // by key, once for each mapping: each of its many members may have a mistake
		return func(path []string) flow.Position {
			n, at := n, n.Pos
			for _, part := range path {
				if known[n] == nil {
					known[n] = map[string]Entry{}
					for _, e := range n.Entries {
						known[n][strings.TrimSuffix(e.Key, ".$")] = e
					}
				}
				var next *Node
				if e, ok := known[n][part]; ok {
					next, at = e.Value, e.Pos
				}
				if i, err := strconv.Atoi(part); err == nil && i < len(n.Items) {
					next, at = n.Items[i], n.Items[i].Pos
				}
				if next == nil {
					break
				}
				n = next
			}
			return at
		}
	}
}
