package expr

import (
	"slices"

	"github.com/waitless/waitless/pkg/value"
)

// Constant returns the condition that always holds, or never.
func Constant(holds bool) Condition { return Condition{constant{value.Bool(holds)}} }

// IsConstant reports whether c is the condition that always holds, or never.
func (c Condition) IsConstant(holds bool) bool {
	v, ok := c.root.(constant)
	return ok && v.value.IsTrue() == holds
}

// Not returns the condition that holds if c does not.
func (c Condition) Not() Condition {
	switch root := c.root.(type) {
	case negation:
		return Condition{root.of}
	case constant:
		return Constant(!root.value.IsTrue())
	case Path, list, joint, comparison:
	}
	return Condition{negation{c.root}}
}

// And returns the condition that holds if c and d do.
func (c Condition) And(d Condition) Condition { return join("&&", c, d) }

// Or returns the condition that holds if c or d does.
func (c Condition) Or(d Condition) Condition { return join("||", c, d) }

// join leaves out what changes nothing.
func join(operator string, c, d Condition) Condition {
	decides := operator == "||"
	switch {
	case c.IsConstant(decides), d.IsConstant(!decides):
		return c
	case d.IsConstant(decides), c.IsConstant(!decides):
		return d
	}
	return Condition{joint{operator, slices.Concat(operandsOf(c.root, operator), operandsOf(d.root, operator))}}
}

func operandsOf(o operand, operator string) []operand {
	if j, ok := o.(joint); ok && j.operator == operator {
		return j.operands
	}
	return []operand{o}
}

// Terms returns the conditions that c joins with &&: c itself if it joins none.
func (c Condition) Terms() []Condition {
	var terms []Condition
	for _, o := range operandsOf(c.root, "&&") {
		terms = append(terms, Condition{o})
	}
	return terms
}

// Comparison returns the parts of a condition that compares a path with a constant, in this order.
func (c Condition) Comparison() (path Path, operator string, with value.Value, ok bool) {
	of, _ := c.root.(comparison)
	path, isPath := of.left.(Path)
	right, isConstant := of.right.(constant)
	return path, of.operator, right.value, isPath && isConstant
}

// MapPaths returns c with other paths. It reports whether replace returned true for all of them.
func (c Condition) MapPaths(replace func(Path) (Path, bool)) (Condition, bool) {
	all := true
	root := mapPaths(c.root, func(p Path) Path {
		other, ok := replace(p)
		all = all && ok
		return other
	})
	return Condition{root}, all
}

func mapPaths(o operand, replace func(Path) Path) operand {
	each := func(operands []operand) []operand {
		mapped := make([]operand, len(operands))
		for i, o := range operands {
			mapped[i] = mapPaths(o, replace)
		}
		return mapped
	}
	switch o := o.(type) {
	case Path:
		return replace(o)
	case list:
		return list{each(o.elements)}
	case negation:
		return negation{mapPaths(o.of, replace)}
	case joint:
		return joint{o.operator, each(o.operands)}
	case comparison:
		return comparison{o.operator, mapPaths(o.left, replace), mapPaths(o.right, replace)}
	case constant:
	}
	return o
}

// Cut returns the first key of p, and p without it. It returns false if p does not begin with a
// key.
func (p Path) Cut() (key string, rest Path, ok bool) {
	if len(p.segments) == 0 || p.segments[0].kind != segmentKey {
		return "", Path{}, false
	}
	return p.segments[0].key, Path{p.root, p.segments[1:]}, true
}

// Join returns the path that leads from where p leads on as rest does from its root.
func (p Path) Join(rest Path) Path { return Path{p.root, slices.Concat(p.segments, rest.segments)} }

// On returns p with another root.
func (p Path) On(root Root) Path { return Path{root, p.segments} }
