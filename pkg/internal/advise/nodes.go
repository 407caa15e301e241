package advise

import (
	"bytes"
	"slices"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/value"
)

// nodes are the YAML nodes of steps by name.
type nodes map[string]*yaml.Node

// stepNodes reads the text of a valid flow.
func stepNodes(text []byte) nodes {
	if v, err := value.ParseJSON(text); err == nil {
		text = []byte(v.JSON()) // without the escapes that YAML does not have
	}
	var document yaml.Node
	found := nodes{}
	if yaml.Load(text, &document) == nil && len(document.Content) == 1 {
		found.collect(copied(document.Content[0]))
	}
	return found
}

// collect adds the steps in a part of the flow, except for data that look like steps.
func (n nodes) collect(part *yaml.Node) {
	if name := field(part, "name"); name != nil && field(part, "type") != nil {
		n[name.Value] = part
	}
	for _, child := range inside(part) {
		n.collect(child)
	}
}

// inside returns the parts of a list, and those of a mapping that may have steps.
func inside(part *yaml.Node) []*yaml.Node {
	if part.Kind != yaml.MappingNode {
		return part.Content
	}
	var parts []*yaml.Node
	for name, child := range fields(part) {
		if slices.Contains([]string{"steps", "choices", "default", "catch", "branches"}, name.Value) {
			parts = append(parts, child)
		}
	}
	return parts
}

// step returns a copy of the step, to be changed.
func (n nodes) step(step *flow.Step) *yaml.Node {
	if node := n[step.Name]; node != nil {
		return copied(node)
	}
	return mapping("type", scalar(step.Kind.Type()), "name", scalar(step.Name))
}

// copied is a deep copy without anchors, in which lists of texts alone may stay on one line.
func copied(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return copied(node.Alias)
	}
	other := *node
	other.Anchor, other.Content = "", nil
	for _, child := range node.Content {
		other.Content = append(other.Content, copied(child))
	}
	isBlock := slices.ContainsFunc(other.Content, func(n *yaml.Node) bool { return n.Kind != yaml.ScalarNode })
	if node.Kind == yaml.MappingNode || node.Kind == yaml.SequenceNode && isBlock {
		other.Style &^= yaml.FlowStyle
	}
	for key := range fields(&other) {
		key.Style = 0
	}
	return &other
}

// fields returns the names and values of a mapping.
func fields(node *yaml.Node) func(yield func(name, value *yaml.Node) bool) {
	return func(yield func(name, value *yaml.Node) bool) {
		if node.Kind != yaml.MappingNode {
			return
		}
		for pair := range slices.Chunk(node.Content, 2) {
			if !yield(pair[0], pair[1]) {
				return
			}
		}
	}
}

// field returns the value of a field, nil if the mapping does not have it.
func field(node *yaml.Node, name string) *yaml.Node {
	for key, child := range fields(node) {
		if key.Value == name {
			return child
		}
	}
	return nil
}

// fieldOrder is the order of a step's fields, where they are added.
var fieldOrder = []string{
	"type", "name", "action", "resourceArn", "account", "pattern", "condition", "intervalSeconds", "backoffRate", "maxAttempts", "timeoutSeconds",
	"heartbeatSeconds", "atMostOnce", "signed", "prompt", "serviceParams", "inputMappings", "outputMappings", "retry", "errorMappings", "catch", "choices",
	"default", "end",
}

// set gives a step a field. A note is a comment on it.
func set(step *yaml.Node, name string, child *yaml.Node, note string) {
	remove(step, name)
	at := 0
	for i := 0; i < len(step.Content); i += 2 {
		if slices.Index(fieldOrder, step.Content[i].Value) < slices.Index(fieldOrder, name) {
			at = i + 2
		}
	}
	step.Content = slices.Insert(step.Content, at, scalar(name), child)
	annotate(step, name, note)
}

// annotate comments on a field, behind what the user says.
func annotate(step *yaml.Node, name, note string) {
	for key, child := range fields(step) {
		at := key
		if child.Kind == yaml.ScalarNode {
			at = child
		}
		switch {
		case key.Value != name || note == "":
		case at.LineComment == "":
			at.LineComment = "# " + note
		default:
			at.LineComment += "; " + note
		}
	}
}

func remove(step *yaml.Node, names ...string) {
	var kept []*yaml.Node
	for key, child := range fields(step) {
		if !slices.Contains(names, key.Value) {
			kept = append(kept, key, child)
		}
	}
	step.Content = kept
}

// mapping has names and nodes in turn.
func mapping(members ...any) *yaml.Node {
	node := &yaml.Node{Kind: yaml.MappingNode}
	for pair := range slices.Chunk(members, 2) {
		node.Content = append(node.Content, scalar(pair[0]), pair[1].(*yaml.Node))
	}
	return node
}

func list(elements ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.SequenceNode, Content: elements}
}

// scalar is a text, a number or a boolean.
func scalar(v any) *yaml.Node {
	node := &yaml.Node{}
	_ = node.Encode(v) // no such value is invalid
	return node
}

func seconds(d time.Duration) *yaml.Node { return scalar(int(d / time.Second)) }

// mapped is an element of mappings.
func mapped(target, source string) *yaml.Node {
	return mapping("target", scalar(target), "source", scalar(source))
}

// catching is an entry of a catch that does what a branch does.
func catching(name string, branch *yaml.Node) *yaml.Node {
	errors := list(scalar(name))
	errors.Style = yaml.FlowStyle
	entry := mapping("errors", errors)
	entry.Content = append(entry.Content, branch.Content...)
	return entry
}

// elements are those of a list of the step, none if it is not there.
func elements(step *yaml.Node, name string) []*yaml.Node {
	if list := field(step, name); list != nil {
		return list.Content
	}
	return nil
}

// written is a list of steps as YAML.
func written(steps ...*yaml.Node) string {
	var out bytes.Buffer
	dumper, err := yaml.NewDumper(&out, yaml.WithV4Defaults(), yaml.WithCompactSeqIndent(false), yaml.WithLineWidth(-1))
	if err != nil || dumper.Dump(list(steps...)) != nil || dumper.Close() != nil {
		return "" // unknown causes: the nodes were read from YAML, and a buffer takes everything
	}
	return out.String()
}
