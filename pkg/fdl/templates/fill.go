package templates

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/waitless/waitless/pkg/flow"
)

// Filled is a text with values in place of its placeholders.
type Filled struct {
	Text []byte
	// Names are the names of the placeholders, in the order of the text. A name may repeat.
	Names []string
	// Read describes the text that was read in place of each reference of a template.
	Read []string

	isFilled bool // placeholders have values
	edits    []edit
	outer    func(flow.Position) flow.Position // from the text to the template around it; nil for none
}

// placeholder matches a placeholder, and the escapes for its text: $${ for ${, and ${!NAME} for
// ${NAME}.
var placeholder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\$\{|\$\{!?` + name + `\}`) })

// isPseudoParameter reports whether ROS or CloudFormation defines a name. Waitless does not use
// their values, so they may have no value.
func isPseudoParameter(name string) bool {
	return strings.HasPrefix(name, "ALIYUN::") || strings.HasPrefix(name, "AWS::")
}

// Fill replaces the placeholders of a text in YAML or JSON by the values of variables. It reports
// all placeholders without a value at once. A text that cannot be read is returned as it is:
// [fdl.Parse] reports why.
func Fill(text []byte, vars map[string]string) (Filled, flow.Problems) {
	i := importing{values: vars, given: vars, text: string(text)}
	filled, problems := substitute(text, rules{pattern: placeholder(), replace: i.fill})
	filled.Names, filled.isFilled = i.names, true
	return filled, problems
}

// Unfilled warns of the placeholders of a text for which no variable is given. It returns nothing
// for a text with values, and for a template that is to be imported.
func (f Filled) Unfilled() flow.Problems {
	if f.isFilled || !placeholder().Match(f.Text) || len(Find(f.Text, nil)) > 0 {
		return nil
	}
	const isMeant = "placeholder $"
	_, problems := substitute(f.Text, rules{pattern: placeholder(), replace: func(found string) (string, string) {
		name, isName := nameIn(found)
		if !isName || isPseudoParameter(name) {
			return found, ""
		}
		return found, fmt.Sprintf("%s{%s} has no value and stays as it is; give --var %s=VALUE, or write %s below vars: in waitless.yaml",
			isMeant, name, name, name)
	}})
	problems = slices.DeleteFunc(problems, func(p flow.Problem) bool { return !strings.HasPrefix(p.Message, isMeant) })
	for n := range problems {
		problems[n].Severity = flow.SeverityWarning
	}
	return problems
}

// nameIn returns the name in a placeholder, and false for an escape.
func nameIn(found string) (name string, isName bool) {
	name = strings.TrimSuffix(strings.TrimPrefix(found, "${"), "}")
	return name, found != "$${" && !strings.HasPrefix(name, "!")
}

// valueOf returns the value of a placeholder, and whether it is known. The first map that has it
// counts.
func valueOf(found string, values ...map[string]string) (value string, known bool) {
	name, isName := nameIn(found)
	for i := 0; i < len(values) && !known; i++ {
		value, known = values[i][name]
	}
	switch {
	case found == "$${":
		return "${", true
	case !isName:
		return "${" + name[1:] + "}", true
	case known:
		return value, true
	}
	return found, isPseudoParameter(name)
}
