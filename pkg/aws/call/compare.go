package call

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/waitless/waitless/pkg/value"
)

// Mistake is a place where params differ from the input of an operation: an unknown member, a
// missing required member, or a value of another type.
type Mistake struct {
	// Path leads to the unknown member, to the object that lacks a member, or to the wrong value:
	// names of members and indices of elements.
	Path []string
	// Unknown and Missing are the names of such members. One of Unknown, Missing and Wrong is set.
	Unknown, Missing string
	// Wrong describes the actual and the required value.
	Wrong string
	// Known are the names of the members that the object may have, if one is unknown.
	Known []string
}

// Compare compares params with the input of an operation, where "$" begins a path to a value that
// is not known yet. The case of names does not count, as in [Client.Call]. It checks only the
// nested members that the row of the operation has.
func (o Operation) Compare(params value.Value) []Mistake {
	c := comparison{}
	c.structure(shapeOf(o.Input), params, nil)
	return c.mistakes
}

// Members returns the names of the members of the input.
func (o Operation) Members() []string { return shapeOf(o.Input).names() }

func (s *shape) names() []string {
	var names []string
	for _, m := range s.members {
		names = append(names, m.name)
	}
	return names
}

type comparison struct{ mistakes []Mistake }

func (c *comparison) add(path []string, m Mistake) {
	m.Path = slices.Clone(path)
	c.mistakes = append(c.mistakes, m)
}

func (c *comparison) structure(s *shape, params value.Value, path []string) {
	given := map[string]bool{}
	for _, each := range params.Members() {
		at := append(slices.Clip(path), each.Key)
		switch m := s.find(each.Key); {
		case m != nil:
			given[m.name] = true
			if m.place != placePayload {
				c.value(m.shape, each.Value, at)
			}
		case s.kind == '{':
			c.add(at, Mistake{Unknown: each.Key, Known: s.names()})
		}
	}
	for _, m := range s.members {
		if m.required && !m.token && !given[m.name] {
			c.add(path, Mistake{Missing: m.name})
		}
	}
}

func (c *comparison) value(s *shape, v value.Value, path []string) {
	decoder := json.NewDecoder(strings.NewReader(v.JSON()))
	decoder.UseNumber()
	token, _ := decoder.Token() // the JSON of a value has one; a missing value is null
	var fits bool
	switch token {
	case json.Delim('{'):
		fits = s.kind == '{' || s.kind == '(' || s.kind == '<'
	case json.Delim('['):
		fits = s.kind == '['
	default:
		_, fits = scalar(s.kind, token)
	}
	switch {
	case s.kind == '*' || token == nil || v.Kind() == value.KindString && strings.HasPrefix(v.Text(), "$"):
	case !fits:
		c.add(path, Mistake{Wrong: "found " + nameOf(token) + ", want " + kinds[s.kind]})
	case s.kind == '{' || s.kind == '(':
		c.structure(s, v, path)
	case s.kind == '[' || s.kind == '<':
		for i, each := range v.Members() {
			key := each.Key
			if s.kind == '[' {
				key = strconv.Itoa(i)
			}
			c.value(s.item, each.Value, append(slices.Clip(path), key))
		}
	}
}

// Payload returns the name of the member of the response that is its body, "" for none.
func (o Operation) Payload() string {
	if o.Output != "" {
		if m := shapeOf(o.Output).payload(); m != nil {
			return m.name
		}
	}
	return ""
}

// Coerce returns params with a text in place of an object where the operation wants a text, and
// with the number or the boolean that a text holds where it wants that.
func (o Operation) Coerce(params value.Value) value.Value { return coerced(shapeOf(o.Input), params) }

func coerced(s *shape, v value.Value) value.Value {
	inner := slices.Clone(v.Members())
	for i, m := range inner {
		item := s.item
		if found := s.find(m.Key); found != nil && found.place != placePayload {
			item = found.shape
		}
		if item != nil {
			inner[i].Value = coerced(item, m.Value)
		}
	}
	switch kind := v.Kind(); {
	case s.kind == 's' && (kind == value.KindObject || kind == value.KindArray):
		return value.String(v.JSON())
	case kind == value.KindString && strings.IndexByte("bild", s.kind) >= 0:
		if held, err := value.ParseJSON([]byte(v.Text())); err == nil {
			return held
		}
	case kind == value.KindObject:
		return value.Object(inner...)
	case kind == value.KindArray:
		return value.ArrayFrom(inner)
	}
	return v
}

// WithNames returns a response with changed names of members. Names of entries of maps stay. The
// output has all members.
func (o Operation) WithNames(response value.Value, change func(name string) string) value.Value {
	return withNames(shapeOf(o.Output), response, change)
}

func withNames(s *shape, v value.Value, change func(string) string) value.Value {
	members := slices.Clone(v.Members())
	for i, m := range members {
		inner := s.item
		if s.kind == '{' {
			members[i].Key = change(m.Key)
			if inner = anything; s.find(m.Key) != nil {
				inner = s.find(m.Key).shape
			}
		}
		if inner != nil {
			members[i].Value = withNames(inner, m.Value, change)
		}
	}
	switch v.Kind() { //nolint:exhaustive // others have no members
	case value.KindArray:
		return value.ArrayFrom(members)
	case value.KindObject:
		return value.Object(members...)
	}
	return v
}
