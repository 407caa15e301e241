package document

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v4"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/value"
)

// readYAML returns the root of a definition in YAML or JSON, nil for none.
func (r *Reader) readYAML(text []byte) *Node {
	if json.Valid(text) {
		text = escapedPair().ReplaceAllFunc(text, unescaped)
	}
	var documents []yaml.Node
	if err := yaml.Load(text, &documents, yaml.WithAllDocuments()); err != nil {
		r.yamlError(err)
		return nil
	}
	switch len(documents) {
	case 0:
		r.Problem(flow.Position{Line: 1, Column: 1}, `the definition is empty; a flow begins with "version: v1" and "type: flow"`)
		return nil
	case 1:
		r.inside = map[*yaml.Node]bool{}
		return r.fromYAML(documents[0].Content[0])
	}
	r.Problem(r.position(documents[1].Content[0]), "the definition has %d documents; write one flow a file", len(documents))
	return nil
}

// escapedPair is a character as JSON writes it and YAML does not.
var escapedPair = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}`)
})

func unescaped(pair []byte) []byte {
	var character string
	_ = json.Unmarshal(fmt.Appendf(nil, `"%s"`, pair), &character) // is valid
	return []byte(character)
}

// yamlMeanings replace messages of the library. Begin says that the position is where the broken
// value begins, not where the library noticed it.
var yamlMeanings = []struct {
	message, meaning string
	begin            bool
}{
	{"did not find expected '-' indicator", "the line is indented neither like the list before it nor like its last element", false},
	{"did not find expected key", "the line is indented neither like the mapping before it nor like its last value", false},
	{"mapping values are not allowed in this context", `found ": " inside of a value; write the value in quotes, or check the indentation`, false},
	{"could not find expected ':'", `found a key without ":"`, true},
	{"found unexpected end of stream", "found a text without its closing quote", true},
	{"found unknown escape character", `found a backslash that begins no escape; in double quotes it is written \\, or use single quotes`, false},
	{"did not find expected ',' or '}'", `found no "," or "}" where one belongs`, false},
	{"did not find expected ',' or ']'", `found no "," or "]" where one belongs`, false},
	{"found a tab character that violates indentation", "found a tab; indent with spaces", false},
	{"did not find expected node content", "found no value where one belongs", false},
}

// yamlError reports why the text cannot be read.
func (r *Reader) yamlError(err error) {
	at, message := flow.Position{Line: 1, Column: 1}, err.Error()
	if load, ok := errors.AsType[*yaml.LoadError](err); ok {
		mark := load.Mark
		message = load.Message
		for _, m := range yamlMeanings {
			if m.message != load.Message {
				continue
			}
			message = m.meaning
			if m.begin && load.ContextMark.Line > 0 {
				mark = load.ContextMark
			}
		}
		if mark.Line > 0 {
			at = r.within(flow.Position{Line: mark.Line, Column: max(mark.Column, 1)})
		}
	}
	// The meaning of some messages depends on the text at the position.
	line := []rune(r.lines[at.Line-1] + " ")
	name, isAlias := strings.CutPrefix(message, "unknown anchor '")
	switch {
	case isAlias:
		name, _, _ = strings.Cut(name, "'")
		message = fmt.Sprintf("alias *%s has no anchor &%s before it", name, name)
	case at.Column > 1 && strings.HasPrefix(string(line[at.Column-2:]), "${"):
		name, _, _ = strings.Cut(string(line[at.Column:]), "}")
		message = fmt.Sprintf("placeholder ${%s} inside of {} or [] has neither quotes nor a value; give --var %s=VALUE, or write the whole text in quotes",
			Shortened(name), Shortened(name))
	case message == "found character that cannot start any token" && line[at.Column-1] == '\t':
		message = "found a tab; indent with spaces"
	case message == "found character that cannot start any token":
		message = fmt.Sprintf("a text without quotes cannot begin with %q; write it in quotes", string(line[at.Column-1]))
	}
	r.Problem(at, "the definition is invalid: %s", message)
}

// position returns the position of y. An empty value may lie beyond the text.
func (r *Reader) position(y *yaml.Node) flow.Position {
	if y.Kind == yaml.ScalarNode && y.Value == "" {
		return r.within(flow.Position{Line: y.Line, Column: y.Column})
	}
	return flow.Position{Line: y.Line, Column: y.Column}
}

// fromYAML returns the node with everything below it. If there are too many nodes, the rest is left
// out.
func (r *Reader) fromYAML(y *yaml.Node) *Node {
	at := r.position(y)
	isNested := y.Kind == yaml.MappingNode || y.Kind == yaml.SequenceNode
	if r.nodes++; r.nodes > maxNodes {
		r.stop(at, "the definition has more than %d values, those repeated by aliases included; split the flow", maxNodes)
	}
	if isNested && r.levels == maxLevels {
		r.stop(at, "the definition has more than %d levels of lists and mappings; split the flow", maxLevels)
	}
	if r.bytes += len(y.Value); r.bytes > MaxTexts {
		r.stop(at, "the texts of the definition have more than %d bytes, those repeated by aliases included; split the flow", MaxTexts)
	}
	if r.stopped {
		return &Node{Pos: at, Kind: Unreadable}
	}
	if isNested {
		r.levels++
		defer func() { r.levels-- }()
	}
	switch {
	case y.Kind == yaml.AliasNode:
		if r.inside[y.Alias] {
			return r.unreadable(r.position(y), "alias *%s stands inside of what it repeats", y.Value)
		}
		r.inside[y.Alias] = true
		defer delete(r.inside, y.Alias)
		return r.fromYAML(y.Alias)
	case isTagged(y):
		return r.unreadable(at, "tag %s is not supported; %s", y.ShortTag(), tagMeant(y))
	case y.Kind == yaml.MappingNode:
		return r.fromMapping(y)
	case y.Kind == yaml.SequenceNode:
		n := &Node{Pos: r.position(y), Kind: Sequence}
		for _, item := range y.Content {
			n.Items = append(n.Items, r.fromYAML(item))
		}
		return n
	}
	n := &Node{Pos: r.position(y), Scalar: value.String(y.Value)}
	switch {
	case y.Style == 0:
		return r.fromPlain(y, n)
	case y.Style&yaml.DoubleQuotedStyle != 0:
		n.Quote = '"'
	case y.Style&yaml.SingleQuotedStyle != 0:
		n.Quote = '\''
	}
	return n
}

// isTagged reports whether y has another tag than !!str for a text.
func isTagged(y *yaml.Node) bool {
	return y.Style&yaml.TaggedStyle != 0 && (y.Kind != yaml.ScalarNode || y.ShortTag() != "!!str")
}

// templateTags are the tags of deployment templates. A tool replaces them before it creates the
// flow.
var templateTags = []string{"!Ref", "!GetAtt", "!Sub", "!Join", "!ImportValue", "!FindInMap", "!Select", "!Split", "!If"}

// tagMeant suggests a replacement for a tag. A condition like "!$.done" looks like one to YAML.
func tagMeant(y *yaml.Node) string {
	service, function, _ := strings.Cut(y.Value, "/")
	switch tag := y.ShortTag(); {
	case strings.HasPrefix(tag, "!!"):
		return "allowed: none, or !!str for a text"
	case tag == "!Ref" && function != "" && service != "flow":
		return fmt.Sprintf("it names a function of a template: write acs:fc:::services/%s/functions/%s, or see: waitless docs templates",
			Shortened(service), Shortened(function))
	case slices.Contains(templateTags, tag):
		return "it belongs to the template of a deployment: write the value that it stands for, or see: waitless docs templates"
	}
	return `a text that begins with "!" stands in quotes`
}

func (r *Reader) fromMapping(y *yaml.Node) *Node {
	n := &Node{Pos: r.position(y), Kind: Mapping}
	seen := map[string]flow.Position{}
	for i := 0; i+1 < len(y.Content) && !r.stopped; i += 2 {
		key, at := y.Content[i], r.position(y.Content[i])
		value := r.fromYAML(y.Content[i+1])
		switch first, repeated := seen[key.Value]; {
		case key.Kind != yaml.ScalarNode:
			r.Problem(at, "a key is not a text; allowed: text")
			n.Partial = true
		case isTagged(key):
			r.Problem(at, "tag %s is not supported; allowed: none, or !!str for a text", key.ShortTag())
			n.Partial = true
		case key.ShortTag() == "!!merge":
			r.Problem(at, `merge key "<<" is not supported; write the fields out`)
			n.Partial = true
		case repeated:
			r.Problem(at, "key %q is repeated; it stands first at %s", Shortened(key.Value), first)
		default:
			seen[key.Value] = at
			n.Entries = append(n.Entries, Entry{key.Value, at, value})
		}
	}
	return n
}

// fromPlain reads an unquoted scalar. Numbers keep their text whatever their
// size; an instant stays a text.
func (r *Reader) fromPlain(y *yaml.Node, n *Node) *Node {
	if number, ok := value.Number(y.Value); ok {
		n.Scalar = number
		return n
	}
	switch y.ShortTag() {
	case "!!null":
		n.Scalar = value.Null()
	case "!!bool":
		n.Scalar = value.Bool(strings.EqualFold(y.Value, "true"))
	case "!!int", "!!float":
		return r.unreadable(n.Pos, "number %s is not written in decimal; allowed: digits like 10, -1, 0.5 or 1e6, or a text in quotes", Shortened(y.Value))
	}
	return n
}
