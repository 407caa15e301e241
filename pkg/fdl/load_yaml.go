package fdl

import (
	"fmt"

	"go.yaml.in/yaml/v4"
)

// LoadYAML is [yaml.Load] in linear time. The library compares each key of a mapping with each
// other, and has an error for each pair; LoadYAML reports the first repeated key.
func LoadYAML(text []byte, into any, options ...yaml.Option) error {
	var document yaml.Node
	if err := yaml.Load(text, &document); err != nil {
		return err
	}
	if repeated := repeatedKey(&document); repeated != nil {
		return &yaml.LoadErrors{Errors: []*yaml.LoadError{repeated}}
	}
	return document.Load(into, append(options, yaml.WithUniqueKeys(false))...)
}

// repeatedKey returns an error for the first key that a mapping has twice, nil for none.
func repeatedKey(node *yaml.Node) *yaml.LoadError {
	lines := map[string]int{}
	for i, child := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 0 && child.Kind == yaml.ScalarNode {
			if line, ok := lines[child.Value]; ok {
				return &yaml.LoadError{
					Mark: yaml.Mark{Line: child.Line, Column: child.Column}, Message: fmt.Sprintf("mapping key %q already defined at line %d", child.Value, line),
				}
			}
			lines[child.Value] = child.Line
		}
		if repeated := repeatedKey(child); repeated != nil {
			return repeated
		}
	}
	return nil
}
