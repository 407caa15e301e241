package templates

import (
	"regexp"
	"strings"

	"github.com/waitless/waitless/pkg/fdl"
)

// Filled is a text with values in place of its placeholders.
type Filled struct {
	Text []byte
	// Names are those of the placeholders, in the order of the text. A name may repeat.
	Names []string

	edits []edit
}

// placeholder matches a placeholder, and what stands for the text of one: $${ for ${, and
// ${!NAME} for ${NAME}.
var placeholder = regexp.MustCompile(`\$\$\{|\$\{!?` + name + `\}`)

// pseudoParameters begin names that ROS defines. Waitless does not use what they stand for, so they
// may have no value.
const pseudoParameters = "ALIYUN::"

// Fill replaces the placeholders of a text in YAML or JSON by the values of variables. It reports
// all placeholders without a value at once. A text that cannot be read is returned as it is:
// [fdl.Parse] reports why.
func Fill(text []byte, vars map[string]string) (Filled, fdl.Problems) {
	var names []string
	filled, problems := substitute(text, rules{pattern: placeholder, replace: func(found string) (string, string) {
		inner := strings.TrimSuffix(strings.TrimPrefix(found, "${"), "}")
		literal, isLiteral := strings.CutPrefix(inner, "!")
		switch {
		case found == "$${":
			return "${", ""
		case isLiteral:
			return "${" + literal + "}", ""
		}
		names = append(names, inner)
		value, known := vars[inner]
		switch {
		case known:
			return value, ""
		case strings.HasPrefix(inner, pseudoParameters):
			return found, ""
		}
		return found, "placeholder " + found + " has no value" + fdl.DidYouMean(inner, keys(vars)) +
			" (give --var " + inner + "=VALUE, or write ${!" + inner + "} for the text " + found + ")"
	}})
	filled.Names = names
	return filled, problems
}
