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
