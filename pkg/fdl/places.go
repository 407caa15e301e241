package fdl

import (
	"strconv"

	"github.com/waitless/waitless/pkg/flow"
)

// PositionOf returns the position of a value in a YAML text. The path has names of members and
// indices of elements. If it leads to no value, PositionOf returns the position of the last value
// on the way.
func PositionOf(text []byte, path ...string) flow.Position {
	n := (&reader{}).read(text)
	if n == nil {
		return flow.Position{Line: 1, Column: 1}
	}
	for _, part := range path {
		next := n.get(part)
		if i, err := strconv.Atoi(part); err == nil && i < len(n.items) {
			next = n.items[i]
		}
		if next == nil {
			break
		}
		n = next
	}
	return n.pos
}

// placesIn returns a [flow.Task.ParamPlaces] for n: a member is at its key. A path without a value
// leads to the last value on the way.
func placesIn(n *node) func() func(path []string) flow.Position {
	if n == nil {
		return nil
	}
	return func() func(path []string) flow.Position {
		known := places{}
		return func(path []string) flow.Position { return known.of(n, path) }
	}
}

// places has the entries of mappings by their keys.
type places map[*node]map[string]entry

// entries returns the entries of n by key. It goes through a mapping once: each of its many members
// may have a mistake.
func (p places) entries(n *node) map[string]entry {
	if _, isKnown := p[n]; !isKnown {
		p[n] = map[string]entry{}
		for _, e := range n.entries {
			p[n][e.key] = e
		}
	}
	return p[n]
}

func (p places) of(n *node, path []string) flow.Position {
	at := n.pos
	for _, part := range path {
		var next *node
		if e, ok := p.entries(n)[part]; ok {
			next, at = e.value, e.pos
		}
		if i, err := strconv.Atoi(part); err == nil && i < len(n.items) {
			next, at = n.items[i], n.items[i].pos
		}
		if next == nil {
			return at
		}
		n = next
	}
	return at
}
