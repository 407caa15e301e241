package expr

import (
	"strings"

	"github.com/waitless/waitless/pkg/value"
)

// Template is a value in which texts that begin with "$" are paths, at any depth. The zero Template
// is missing.
type Template struct {
	path     Path     // with a root, or else
	members  []filled // of an object or a list that has a path in it, or else
	constant value.Value
}

// filled is a member of an object or an element of a list.
type filled struct {
	key   string
	value Template
}

// ParseTemplate reads a template. Its paths begin with $, the step's own input. The error, of type
// [*SyntaxError], describes the first broken path.
func ParseTemplate(v value.Value) (Template, error) {
	switch {
	case v.Kind() == value.KindString && strings.HasPrefix(v.Text(), string(RootSelf)):
		path, err := ParsePath(v.Text(), RootSelf)
		return Template{path: path}, err
	case v.Kind() != value.KindObject && v.Kind() != value.KindArray:
		return Template{constant: v}, nil
	}
	members, constant := make([]filled, v.Len()), true
	for i, m := range v.Members() {
		t, err := ParseTemplate(m.Value)
		if err != nil {
			return Template{}, err
		}
		members[i] = filled{m.Key, t}
		constant = constant && t.isConstant()
	}
	if constant {
		return Template{constant: v}, nil
	}
	return Template{members: members, constant: v}, nil
}

// IsMissing reports whether it is the zero Template.
func (t Template) IsMissing() bool { return t.isConstant() && t.constant.IsMissing() }

func (t Template) isConstant() bool { return t.path.root == "" && t.members == nil }

// Eval returns the value with the selected values in place of the paths. If a path leads nowhere, a
// member is left out and an element is null.
func (t Template) Eval(scope *Scope) value.Value {
	switch {
	case t.path.root != "":
		return t.path.Eval(scope)
	case t.members == nil:
		return t.constant
	}
	members := make([]value.Member, 0, len(t.members))
	for _, m := range t.members {
		v := m.value.Eval(scope)
		if v.IsMissing() && t.constant.Kind() == value.KindObject {
			continue
		}
		if v.IsMissing() {
			v = value.Null()
		}
		members = append(members, value.Member{Key: m.key, Value: v})
	}
	if t.constant.Kind() == value.KindArray {
		return value.ArrayFrom(members)
	}
	return value.ObjectFrom(members)
}

// Has reports whether the template has a member. The member's path may lead nowhere.
func (t Template) Has(key string) bool { return !t.constant.Get(key).IsMissing() }

// Source returns the value that the template was read from, with paths as texts.
func (t Template) Source() value.Value {
	if t.path.root != "" {
		return value.String(t.path.String())
	}
	return t.constant
}

// Path returns the path that the whole template is, and false for others.
func (t Template) Path() (p Path, ok bool) { return t.path, t.path.root != "" }
