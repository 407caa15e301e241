package fdl

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/value"
)

// node is a value of the document with its position. Aliases are resolved.
type node struct {
	pos     flow.Position
	kind    nodeKind
	scalar  value.Value // nodeScalar
	quote   rune        // nodeScalar: a double or single quote, 0 when the text stands without
	entries []entry     // nodeMapping, in the order of the text
	items   []*node     // nodeSequence
	// partial says that an entry could not be read, so no field is reported as missing.
	partial bool
}

type nodeKind uint8

const (
	nodeScalar nodeKind = iota
	nodeMapping
	nodeSequence
	nodeUnreadable // its problem was reported
)

type entry struct {
	key   string
	pos   flow.Position
	value *node
}

// get returns the value of key, nil for none.
func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	return find(n.entries, key)
}

func find(entries []entry, key string) *node {
	for _, e := range entries {
		if e.key == key {
			return e.value
		}
	}
	return nil
}

// inside returns the values of a mapping or the items of a list.
func (n *node) inside() []*node {
	values := make([]*node, len(n.entries), len(n.entries)+len(n.items))
	for i, e := range n.entries {
		values[i] = e.value
	}
	return append(values, n.items...)
}

// describe returns the node for messages: `text "x"`, "a list".
func (n *node) describe() string {
	switch n.kind {
	case nodeMapping:
		return "a mapping"
	case nodeSequence:
		return "a list"
	case nodeScalar, nodeUnreadable:
	}
	switch n.scalar.Kind() {
	case value.KindString:
		return fmt.Sprintf("text %q", shortened(n.scalar.Text()))
	case value.KindNumber:
		return "number " + shortened(n.scalar.Text())
	case value.KindMissing, value.KindNull:
		return "nothing"
	case value.KindBool, value.KindArray, value.KindObject:
	}
	return n.scalar.Text()
}

// shortened cuts a long text for a message.
func shortened(text string) string {
	const most = 80
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most]) + "..."
}

// value returns the JSON value of the node.
func (n *node) value() value.Value {
	switch n.kind {
	case nodeMapping:
		members := make([]value.Member, len(n.entries))
		for i, e := range n.entries {
			members[i] = value.Member{Key: e.key, Value: e.value.value()}
		}
		return value.Object(members...)
	case nodeSequence:
		elements := make([]value.Value, len(n.items))
		for i, item := range n.items {
			elements[i] = item.value()
		}
		return value.Array(elements...)
	case nodeScalar, nodeUnreadable:
	}
	return n.scalar
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

// reader turns a document into nodes and collects its problems.
type reader struct {
	problems flow.Problems
	lines    []string
	runes    [][]rune // the characters of lines with a counted column, nil for other lines
	nodes    int
	bytes    int                 // of the scalars
	levels   int                 // lists and mappings around the node being read
	stopped  bool                // the document is too large, so the rest is not read
	inside   map[*yaml.Node]bool // anchors being followed
}

// problem reports an error.
func (r *reader) problem(at flow.Position, format string, args ...any) {
	r.problems = append(r.problems, flow.NewProblem(flow.SeverityError, at, format, args...))
}

// unreadable reports a value and returns a node in place of it.
func (r *reader) unreadable(at flow.Position, format string, args ...any) *node {
	r.problem(at, format, args...)
	return &node{pos: at, kind: nodeUnreadable}
}

// read returns the root of the document, nil for none.
func (r *reader) read(text []byte) *node {
	if len(text) > MaxSize {
		r.problem(flow.Position{Line: 1, Column: 1}, "the definition has %d bytes and the limit is %d; split the flow", len(text), MaxSize)
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
func (r *reader) stop(at flow.Position, format string, args ...any) {
	if !r.stopped {
		r.problem(at, format, args...)
	}
	r.stopped = true
}

// isText reports the first byte that is not UTF-8 and the first character that YAML rejects, or
// that only some readers take for the end of a line.
func (r *reader) isText(text []byte) bool {
	at := flow.Position{Line: 1, Column: 1}
	for i := 0; i < len(text); {
		c, size := utf8.DecodeRune(text[i:])
		if c == utf8.RuneError && size == 1 || unicode.IsControl(c) && c != '\t' && c != '\n' || strings.ContainsRune("\u2028\u2029\uFFFE\uFFFF", c) {
			r.problem(at, "the definition has the character %q; write UTF-8 text without control characters", text[i:i+size])
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
func (r *reader) within(at flow.Position) flow.Position {
	if at.Line > len(r.lines) {
		at = flow.Position{Line: len(r.lines), Column: len(r.lines[len(r.lines)-1]) + 1}
	}
	at.Column = min(at.Column, len(r.line(at.Line))+1)
	return at
}

// line returns the characters of a line. It decodes each line once: a definition on one line may
// have many problems.
func (r *reader) line(number int) []rune {
	if r.runes == nil {
		r.runes = make([][]rune, len(r.lines))
	}
	if r.runes[number-1] == nil {
		r.runes[number-1] = []rune(r.lines[number-1])
	}
	return r.runes[number-1]
}

// placeIn returns the position of the character at offset in a scalar's text, or the position of
// the scalar if the document does not have the text as it is.
func (r *reader) placeIn(n *node, offset int) flow.Position {
	raw := r.line(n.pos.Line)
	at := n.pos.Column - 1
	if n.quote != 0 {
		at++
	}
	text := []rune(n.scalar.Text())
	for _, c := range text[:min(offset, len(text))] {
		// A backslash in double quotes and a quote in single ones stand for the next character.
		if at < len(raw) && (n.quote == '"' && raw[at] == '\\' || n.quote == '\'' && raw[at] == n.quote) {
			at++
		}
		if at >= len(raw) || raw[at] != c {
			return n.pos
		}
		at++
	}
	return flow.Position{Line: n.pos.Line, Column: at + 1}
}
