// Package language parses definitions of all languages. It is the only place that lists them, so
// all functions and commands accept the same ones.
package language

import (
	"github.com/waitless/waitless/pkg/asl"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
)

// Parse reads a definition, chooses its language by the text, and reports all its problems in the
// order of their positions. The flow is nil if one of them is an error. Parse does not panic.
func Parse(text []byte) (*flow.Flow, flow.Problems) {
	if asl.Is(text) {
		return asl.Parse(text)
	}
	return fdl.Parse(text)
}
