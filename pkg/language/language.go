// Package language parses definitions of all languages. It is the only place that lists them, so
// all functions and commands accept the same ones.
package language

import (
	"bytes"
	"encoding/json"
	"path"
	"strings"

	"github.com/waitless/waitless/pkg/asl"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/flow/document"
)

// NoName is the name of a file that says nothing about its flow: the flow has the name of the
// folder.
const NoName = "flow"

// NameOf returns the name that a file gives to a flow: its own without the extension, and without
// the word before it that files of flows have, ".flow" of Funcraft and ".asl" of AWS.
func NameOf(file string) string {
	name := strings.TrimSuffix(file, path.Ext(file))
	if machine, ok := strings.CutSuffix(name, ".asl"); ok {
		if machine == "machine" || machine == "statemachine" {
			return NoName
		}
		return machine
	}
	return strings.TrimSuffix(name, ".flow")
}

// Parse reads a definition, chooses its language by the text, and reports all its problems in the
// order of their positions, including findings of the checks. The flow is nil if one of them is an
// error. Parse does not panic.
func Parse(text []byte, checks ...flow.Check) (*flow.Flow, flow.Problems) {
	if asl.Is(text) {
		return asl.Parse(text, checks...)
	}
	return fdl.Parse(text, checks...)
}

// NamesMachine reports whether only state machines have such a name of a file: x.asl, x.asl.json. A
// text without the words of the language is a mistake there.
func NamesMachine(file string) bool {
	return path.Ext(strings.TrimSuffix(file, path.Ext(file))) == ".asl" || path.Ext(file) == ".asl"
}

// ParseFile is [Parse] for the text of a file.
func ParseFile(file string, text []byte, checks ...flow.Check) (*flow.Flow, flow.Problems) {
	if NamesMachine(file) {
		return asl.Parse(text, checks...)
	}
	return Parse(text, checks...)
}

// AsJSON returns the text of a state machine in YAML as JSON, and any other text as it is.
func AsJSON(text []byte) string {
	if json.Valid(text) || !asl.Is(text) {
		return string(text)
	}
	var out bytes.Buffer
	if root := (&document.Reader{}).Read(text); json.Indent(&out, root.AppendJSON(nil), "", "  ") != nil {
		return string(text)
	}
	return out.String()
}
