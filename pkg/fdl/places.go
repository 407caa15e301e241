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
		known := map[*node]map[string]entry{} // by key, once for each mapping: each of its many members may have a mistake
		return func(path []string) flow.Position {
			n, at := n, n.pos
			for _, part := range path {
				if known[n] == nil {
					known[n] = map[string]entry{}
					for _, e := range n.entries {
						known[n][e.key] = e
					}
				}
				var next *node
				if e, ok := known[n][part]; ok {
					next, at = e.value, e.pos
				}
				if i, err := strconv.Atoi(part); err == nil && i < len(n.items) {
					next, at = n.items[i], n.items[i].pos
				}
				if next == nil {
					break
				}
				n = next
			}
			return at
		}
	}
}
