package fdl

import (
	"strconv"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/flow/document"
)

// PositionOf returns the position of a value in a YAML text. The path has names of members and
// indices of elements. If it leads to no value, PositionOf returns the position of the last value
// on the way.
func PositionOf(text []byte, path ...string) flow.Position {
	n := (&document.Reader{}).Read(text)
	if n == nil {
		return flow.Position{Line: 1, Column: 1}
	}
	for _, part := range path {
		next := n.Get(part)
		if i, err := strconv.Atoi(part); err == nil && i < len(n.Items) {
			next = n.Items[i]
		}
		if next == nil {
			break
		}
		n = next
	}
	return n.Pos
}

// placesIn returns a [flow.Task.ParamPlaces] for n: a member is at its key. A path without a value
// leads to the last value on the way.
func placesIn(n *document.Node) func() func(path []string) flow.Position {
	if n == nil {
		return nil
	}
	return func() func(path []string) flow.Position {
		known := map[*document.Node]map[string]document.Entry{} // by key, once for each mapping: each of its many members may have a mistake
		return func(path []string) flow.Position {
			n, at := n, n.Pos
			for _, part := range path {
				if known[n] == nil {
					known[n] = map[string]document.Entry{}
					for _, e := range n.Entries {
						known[n][e.Key] = e
					}
				}
				var next *document.Node
				if e, ok := known[n][part]; ok {
					next, at = e.Value, e.Pos
				}
				if i, err := strconv.Atoi(part); err == nil && i < len(n.Items) {
					next, at = n.Items[i], n.Items[i].Pos
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
