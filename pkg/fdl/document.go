package fdl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/waitless/waitless/pkg/expr"
)

// node is a value of the document with its place: what YAML and JSON have in
// common, anchors already followed.
type node struct {
	pos     Position
	kind    nodeKind
	scalar  expr.Value // nodeScalar
	entries []entry    // nodeMapping, in the order of the text
	items   []*node    // nodeSequence
	// textColumn is the column where a scalar's text begins, 0 when the text
	// does not stand in the document character by character.
	textColumn int
}

type nodeKind uint8

const (
	nodeScalar nodeKind = iota
	nodeMapping
	nodeSequence
)

type entry struct {
	key   string
	pos   Position
	value *node
}

// describe names the node for messages: `text "x"`, "a list".
func (n *node) describe() string {
	switch n.kind {
	case nodeMapping:
		return "a mapping"
	case nodeSequence:
		return "a list"
	case nodeScalar:
	}
	switch n.scalar.Kind() {
	case expr.KindString:
		return fmt.Sprintf("text %q", n.scalar.Text())
	case expr.KindNumber:
		return "number " + n.scalar.Text()
	case expr.KindNull:
		return "nothing"
	case expr.KindMissing, expr.KindBool, expr.KindArray, expr.KindObject:
	}
	return n.scalar.Text()
}

// value is the JSON value that the node writes.
func (n *node) value() expr.Value {
	switch n.kind {
	case nodeMapping:
		members := make([]expr.Member, len(n.entries))
		for i, e := range n.entries {
			members[i] = expr.Member{Key: e.key, Value: e.value.value()}
		}
		return expr.Object(members...)
	case nodeSequence:
		elements := make([]expr.Value, len(n.items))
		for i, item := range n.items {
			elements[i] = item.value()
		}
		return expr.Array(elements...)
	case nodeScalar:
	}
	return n.scalar
}

// maxNodes bounds a document after its anchors are followed, so that a few
// lines that refer to each other cannot fill the memory.
const maxNodes = 100_000

// reader turns a document into nodes and collects what is wrong with it.
type reader struct {
	problems Problems
	lines    []string
	nodes    int
	inside   map[*yaml.Node]bool // anchors being followed
}

func (r *reader) problem(at Position, format string, args ...any) {
	r.problems = append(r.problems, Problem{Position: at, Message: fmt.Sprintf(format, args...)})
}

// read is the root of the document, nil when there is none.
func (r *reader) read(text []byte) *node {
	if at, bad := invalidCharacter(text); bad != "" {
		r.problem(at, "the definition has %s; write it as UTF-8 text", bad)
		return nil
	}
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	r.lines = strings.Split(string(text), "\n")
	if trimmed := bytes.TrimLeft(text, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(text) {
		return r.readJSON(text)
	}
	return r.readYAML(text)
}

// invalidCharacter finds the first place that is no text.
func invalidCharacter(text []byte) (at Position, bad string) {
	at = Position{1, 1}
	for i := 0; i < len(text); {
		c, size := utf8.DecodeRune(text[i:])
		switch {
		case c == utf8.RuneError && size == 1:
			return at, fmt.Sprintf("the byte 0x%02X, which is no UTF-8", text[i])
		case c < ' ' && c != '\t' && c != '\n' && c != '\r':
			return at, fmt.Sprintf("the control character U+%04X", c)
		}
		at = at.after(c)
		i += size
	}
	return at, ""
}

// after is the position after character c at p.
func (p Position) after(c rune) Position {
	if c == '\n' {
		return Position{p.Line + 1, 1}
	}
	return Position{p.Line, p.Column + 1}
}

func (r *reader) readYAML(text []byte) *node {
	documents, err := loadYAML(text)
	if err != nil {
		r.yamlError(err)
		return nil
	}
	switch len(documents) {
	case 0:
		r.problem(Position{1, 1}, "the definition is empty; a flow begins with \"version: v1\" and \"type: flow\"")
		return nil
	case 1:
		r.inside = map[*yaml.Node]bool{}
		return r.fromYAML(documents[0])
	}
	r.problem(Position{documents[1].Line, documents[1].Column}, "the definition has %d documents; write one flow a file", len(documents))
	return nil
}

// loadYAML is the root node of each document in text.
func loadYAML(text []byte) ([]*yaml.Node, error) {
	loader, err := yaml.NewLoader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	var roots []*yaml.Node
	for {
		var document yaml.Node
		if err := loader.Load(&document); errors.Is(err, io.EOF) {
			return roots, nil
		} else if err != nil {
			return nil, err
		}
		if document.Kind == yaml.DocumentNode && len(document.Content) == 1 {
			roots = append(roots, document.Content[0])
		}
	}
}

func (r *reader) yamlError(err error) {
	at, message := Position{1, 1}, err.Error()
	var load *yaml.LoadError
	if errors.As(err, &load) {
		message = load.Message
		if load.Mark.Line > 0 {
			at = Position{load.Mark.Line, max(load.Mark.Column, 1)}
		}
	}
	r.problem(at, "the definition is no YAML: %s", message)
}

// fromYAML is the node with everything below it, nil where a problem made it
// meaningless.
func (r *reader) fromYAML(y *yaml.Node) *node {
	at := Position{y.Line, y.Column}
	if r.nodes++; r.nodes > maxNodes {
		if r.nodes == maxNodes+1 {
			r.problem(at, "the definition has more than %d values after its aliases are followed; repeat less", maxNodes)
		}
		return nil
	}
	switch y.Kind {
	case yaml.AliasNode:
		return r.fromAlias(y)
	case yaml.MappingNode:
		return r.fromMapping(y)
	case yaml.SequenceNode:
		n := &node{pos: at, kind: nodeSequence}
		for _, item := range y.Content {
			if child := r.fromYAML(item); child != nil {
				n.items = append(n.items, child)
			}
		}
		return n
	default:
		return r.fromScalar(y)
	}
}

func (r *reader) fromAlias(y *yaml.Node) *node {
	if r.inside[y.Alias] {
		r.problem(Position{y.Line, y.Column}, "alias *%s stands inside of what it repeats", y.Value)
		return nil
	}
	r.inside[y.Alias] = true
	defer delete(r.inside, y.Alias)
	return r.fromYAML(y.Alias)
}

func (r *reader) fromMapping(y *yaml.Node) *node {
	n := &node{pos: Position{y.Line, y.Column}, kind: nodeMapping}
	seen := map[string]Position{}
	for i := 0; i+1 < len(y.Content); i += 2 {
		key, at := y.Content[i], Position{y.Content[i].Line, y.Content[i].Column}
		value := r.fromYAML(y.Content[i+1])
		switch first, repeated := seen[key.Value]; {
		case key.Kind != yaml.ScalarNode:
			r.problem(at, "a key is %s; keys are text", kindName(key.Kind))
			continue
		case key.ShortTag() == "!!merge":
			r.problem(at, `merge key "<<" is not supported; write the fields out`)
			continue
		case repeated:
			r.problem(at, "key %q is repeated; it stands first at %s", key.Value, first)
			continue
		}
		seen[key.Value] = at
		if value != nil {
			n.entries = append(n.entries, entry{key.Value, at, value})
		}
	}
	return n
}

func kindName(k yaml.Kind) string {
	switch k {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	default:
		return "an alias"
	}
}

func (r *reader) fromScalar(y *yaml.Node) *node {
	n := &node{pos: Position{y.Line, y.Column}, scalar: expr.String(y.Value)}
	switch {
	case y.Style&yaml.TaggedStyle != 0 && y.ShortTag() != "!!str":
		r.problem(n.pos, "tag %s is not supported; allowed: none, or !!str for a text", y.ShortTag())
	case y.Style == 0:
		n.scalar = r.plainScalar(y, n.pos)
		n.textColumn = r.standsAt(n.pos.Line, n.pos.Column, y.Value)
	case y.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		n.textColumn = r.standsAt(n.pos.Line, n.pos.Column+1, y.Value)
	}
	return n
}

// standsAt is column when text stands there character by character, so that a
// place inside of it has a column of its own, else 0.
func (r *reader) standsAt(line, column int, text string) int {
	if line < 1 || line > len(r.lines) {
		return 0
	}
	characters := []rune(r.lines[line-1])
	if column > len(characters) || !strings.HasPrefix(string(characters[column-1:]), text) {
		return 0
	}
	return column
}

// plainScalar reads an unquoted scalar. Numbers keep their text whatever their
// size; an instant stays a text.
func (r *reader) plainScalar(y *yaml.Node, at Position) expr.Value {
	if number, ok := expr.Number(y.Value); ok {
		return number
	}
	switch y.ShortTag() {
	case "!!null":
		return expr.Null()
	case "!!bool":
		return expr.Bool(strings.EqualFold(y.Value, "true"))
	case "!!int", "!!float":
		r.problem(at, "number %s is not written in decimal; allowed: digits like 10, -1, 0.5 or 1e6, or a text in quotes", y.Value)
	}
	return expr.String(y.Value)
}
