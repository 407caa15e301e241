package expr

import "strings"

// Template is a value in which texts that begin with "$" are paths, at any
// depth. The zero Template is Missing.
type Template struct {
	path     Path     // with a root, or else
	members  []filled // of an object or a list that has a path in it, or else
	constant Value
}

// filled is a member of an object or an element of a list.
type filled struct {
	key   string
	value Template
}

// ParseTemplate reads a template whose paths begin with the step's own input.
// Errors are of type [*SyntaxError]; that of a path in v is the first one.
func ParseTemplate(v Value) (Template, error) {
	switch {
	case v.Kind() == KindString && strings.HasPrefix(v.Text(), string(RootSelf)):
		path, err := ParsePath(v.Text(), RootSelf)
		return Template{path: path}, err
	case v.Kind() != KindObject && v.Kind() != KindArray:
		return Template{constant: v}, nil
	}
	members, constant := make([]filled, v.Len()), true
	for i, m := range v.Members() {
		value, err := ParseTemplate(m.Value)
		if err != nil {
			return Template{}, err
		}
		members[i] = filled{m.Key, value}
		constant = constant && value.isConstant()
	}
	if constant {
		return Template{constant: v}, nil
	}
	return Template{members: members, constant: v}, nil
}

func (t Template) isConstant() bool { return t.path.root == "" && t.members == nil }

// Eval is the value with what the paths select. A member whose path leads
// nowhere is left out, an element is null.
func (t Template) Eval(scope *Scope) Value {
	switch {
	case t.path.root != "":
		return t.path.Eval(scope)
	case t.members == nil:
		return t.constant
	}
	members := make([]Member, 0, len(t.members))
	for _, m := range t.members {
		v := m.value.Eval(scope)
		if v.IsMissing() && t.constant.Kind() == KindObject {
			continue
		}
		if v.IsMissing() {
			v = Null()
		}
		members = append(members, Member{m.key, v})
	}
	if t.constant.Kind() == KindArray {
		return arrayOf(members)
	}
	return objectOf(members)
}

// Value is what the template was read from.
func (t Template) Value() Value {
	if t.path.root != "" {
		return String(t.path.String())
	}
	return t.constant
}
