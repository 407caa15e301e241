package fdl

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

//go:embed schema.json
var schema []byte

// Schema returns the JSON Schema (draft-07) of a definition, for editors. The parser reads from it
// which fields an element has and requires, and which values they have. Messages list a description
// as allowed. An x-extension says why FDL does not have the field, an x-pattern which pattern of a
// task it needs. Only [Parse] checks the text of conditions, paths and gotos.
func Schema() []byte { return slices.Clone(schema) }

// element is a mapping that the schema describes: the flow, a type of step, or a mapping inside a
// step.
type element struct {
	name     string
	title    string   // "a task step", for messages
	keys     []string // of the fields, in the order in which messages list them
	required []string
	schemas  map[string]*node // of the fields
}

// elements are the elements of the schema.
var elements = sync.OnceValue(func() []element {
	root := (&reader{}).read(schema)
	definitions := root.get("definitions")
	all := []element{elementFrom("flow", root, definitions)}
	for _, e := range definitions.entries {
		if e.value.get("title") != nil {
			all = append(all, elementFrom(e.key, e.value, definitions))
		}
	}
	return all
})

func elementFrom(name string, n, definitions *node) element {
	e := element{name: name, title: n.get("title").scalar.Text(), required: n.get("required").texts(), schemas: map[string]*node{}}
	for _, field := range n.get("properties").entries {
		schema := field.value
		if shared := schema.get("$ref"); shared != nil {
			referred := *definitions.get(strings.TrimPrefix(shared.scalar.Text(), "#/definitions/"))
			referred.entries = slices.Concat(referred.entries, schema.entries)
			schema = &referred
		}
		e.keys = append(e.keys, field.key)
		e.schemas[field.key] = schema
	}
	return e
}

// findElement returns the element with the name, which must exist.
func findElement(name string) element {
	all := elements()
	return all[slices.IndexFunc(all, func(e element) bool { return e.name == name })]
}

// allowed returns the text of a message about the allowed values of a field.
func (e element) allowed(field string) string {
	if names := e.names(field); names != nil {
		return strings.Join(names, ", ")
	}
	return e.schemas[field].get("description").scalar.Text()
}

// names returns the texts that a field may have, nil if the schema does not list them.
func (e element) names(field string) []string {
	if only := e.schemas[field].get("const"); only != nil {
		return []string{only.scalar.Text()}
	}
	if either := e.schemas[field].get("anyOf"); either != nil {
		return either.items[0].get("enum").texts()
	}
	return e.schemas[field].get("enum").texts()
}

// limit returns a number in the schema of a field.
func (e element) limit(field, name string) int64 {
	limit, _ := e.schemas[field].get(name).value().Int64()
	return limit
}

// texts returns the texts of a list, nil for none.
func (n *node) texts() []string {
	if n == nil {
		return nil
	}
	texts := make([]string, len(n.items))
	for i, item := range n.items {
		texts[i] = item.scalar.Text()
	}
	return texts
}

// stepTypes are the types of steps, which are the names of their elements.
var stepTypes = sync.OnceValue(func() []string {
	var types []string
	for _, e := range elements() {
		if e.schemas["type"] != nil && e.name != "flow" {
			types = append(types, e.name)
		}
	}
	return types
})
