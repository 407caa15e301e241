package fdl

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/waitless/waitless/pkg/flow/document"
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
	schemas  map[string]*document.Node // of the fields
}

// elements are the elements of the schema.
var elements = sync.OnceValue(func() []element {
	root := (&document.Reader{}).Read(schema)
	definitions := root.Get("definitions")
	all := []element{elementFrom("flow", root, definitions)}
	for _, e := range definitions.Entries {
		if e.Value.Get("title") != nil {
			all = append(all, elementFrom(e.Key, e.Value, definitions))
		}
	}
	return all
})

func elementFrom(name string, n, definitions *document.Node) element {
	e := element{name: name, title: n.Get("title").Scalar.Text(), required: n.Get("required").Texts(), schemas: map[string]*document.Node{}}
	for _, field := range n.Get("properties").Entries {
		schema := field.Value
		if shared := schema.Get("$ref"); shared != nil {
			referred := *definitions.Get(strings.TrimPrefix(shared.Scalar.Text(), "#/definitions/"))
			referred.Entries = slices.Concat(referred.Entries, schema.Entries)
			schema = &referred
		}
		e.keys = append(e.keys, field.Key)
		e.schemas[field.Key] = schema
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
	return e.schemas[field].Get("description").Scalar.Text()
}

// names returns the texts that a field may have, nil if the schema does not list them.
func (e element) names(field string) []string {
	if only := e.schemas[field].Get("const"); only != nil {
		return []string{only.Scalar.Text()}
	}
	if either := e.schemas[field].Get("anyOf"); either != nil {
		return either.Items[0].Get("enum").Texts()
	}
	return e.schemas[field].Get("enum").Texts()
}

// limit returns a number in the schema of a field.
func (e element) limit(field, name string) int64 {
	limit, _ := e.schemas[field].Get(name).Value().Int64()
	return limit
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
