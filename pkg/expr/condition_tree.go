package expr

import (
	"slices"

	"github.com/waitless/waitless/pkg/value"
)

// Constant returns the condition that always holds, or never.
func Constant(holds bool) Condition { return Condition{operand{constant: value.Bool(holds)}} }

// IsConstant reports whether c is the condition that always holds, or never.
func (c Condition) IsConstant(holds bool) bool {
	return c.root.operator == "" && c.root.constant.IsTrue() == holds
}

// Not returns the condition that holds if c does not.
func (c Condition) Not() Condition {
	switch c.root.operator {
	case opNot:
		return Condition{c.root.operands[0]}
	case "":
		return Constant(!c.root.constant.IsTrue())
	}
	return Condition{operand{operator: opNot, operands: []operand{c.root}}}
}

// And returns the condition that holds if c and d do.
func (c Condition) And(d Condition) Condition { return join(opAnd, c, d) }

// Or returns the condition that holds if c or d does.
func (c Condition) Or(d Condition) Condition { return join(opOr, c, d) }

// join leaves out conditions that change nothing.
func join(operator string, c, d Condition) Condition {
	decides := operator == opOr
	switch {
	case c.IsConstant(decides), d.IsConstant(!decides):
		return c
	case d.IsConstant(decides), c.IsConstant(!decides):
		return d
	}
	return Condition{operand{operator: operator, operands: slices.Concat(c.root.joined(operator), d.root.joined(operator))}}
}

// joined are the operands that the operator joins: o itself if it joins none.
func (o *operand) joined(operator string) []operand {
	if o.operator == operator {
		return o.operands
	}
	return []operand{*o}
}

// Terms returns the conditions that c joins with &&: c itself if it joins none.
func (c Condition) Terms() []Condition {
	var terms []Condition
	for _, o := range c.root.joined(opAnd) {
		terms = append(terms, Condition{o})
	}
	return terms
}

// Comparison returns the parts of a condition that compares a path with a constant, in this order.
func (c Condition) Comparison() (path Path, operator string, with value.Value, ok bool) {
	if c.root.level() != levelComparison {
		return Path{}, "", value.Value{}, false
	}
	left, right := c.root.operands[0], c.root.operands[1]
	return left.path, c.root.operator, right.constant, left.operator == opPath && right.operator == ""
}

// ComparedPaths returns the parts of a condition that compares two paths.
func (c Condition) ComparedPaths() (left Path, operator string, right Path, ok bool) {
	if c.root.level() != levelComparison {
		return Path{}, "", Path{}, false
	}
	a, b := c.root.operands[0], c.root.operands[1]
	return a.path, c.root.operator, b.path, a.operator == opPath && b.operator == opPath
}

// MapPaths returns c with other paths. It reports whether replace returned true for all of them.
func (c Condition) MapPaths(replace func(Path) (Path, bool)) (Condition, bool) {
	root, ok := c.root.mapPaths(replace)
	return Condition{root}, ok
}

func (o operand) mapPaths(replace func(Path) (Path, bool)) (operand, bool) {
	all := true
	if o.operator == opPath {
		o.path, all = replace(o.path)
	}
	o.operands = slices.Clone(o.operands)
	for i, of := range o.operands {
		ok := false
		o.operands[i], ok = of.mapPaths(replace)
		all = all && ok
	}
	return o, all
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
