package cli

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/pflag"

	"github.com/waitless/waitless/pkg/cli/view"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/fdl/templates"
)

// templateFlags say how a flow is made out of a template.
type templateFlags struct{ vars []string }

func (t *templateFlags) register(flags *pflag.FlagSet) {
	flags.StringArrayVar(&t.vars, "var", nil, "NAME=VALUE: the value of the placeholder ${NAME}; repeat it for several (see: waitless docs templates)")
}

// template has the values of placeholders, and remembers which a flow has.
type template struct {
	values map[string]string // of the flags and of the file with settings
	given  []string          // names of the flags
	used   []string          // names of placeholders in flows
}

// template reads the flags. They take precedence over the file with settings.
func (c Command) template(flags templateFlags) (*template, error) {
	t := &template{values: maps.Clone(c.vars)}
	if t.values == nil {
		t.values = map[string]string{}
	}
	for _, text := range flags.vars {
		name, value, err := templates.ParseVar(text)
		if err == nil && slices.Contains(t.given, name) {
			err = fmt.Errorf("variable %s is given twice", name)
		}
		if err != nil {
			return nil, view.Usage("--var: "+err.Error(), "--var NAME=VALUE")
		}
		t.values[name] = value
		t.given = append(t.given, name)
	}
	return t, nil
}

// parse makes the flow of the text. Without a variable the text is the flow as it is.
func (t *template) parse(f *flowFile) {
	f.filled = templates.Filled{Text: f.text}
	if len(t.values) > 0 {
		f.filled, f.problems = templates.Fill(f.text, t.values)
		t.used = append(t.used, f.filled.Names...)
	}
	if len(f.problems) > 0 {
		return
	}
	f.text = f.filled.Text
	f.flow, f.problems = fdl.Parse(f.text)
	f.inTemplate(f.problems)
	if f.flow != nil {
		f.inTemplate(f.flow.Extensions)
	}
}

// inTemplate moves problems to where the user wrote what they are about.
func (f *flowFile) inTemplate(problems fdl.Problems) {
	for i, p := range problems {
		problems[i].Position = f.filled.Position(p.Position)
	}
}

// checkUsed rejects variables of the command line that no flow has.
func (t *template) checkUsed() error {
	for _, name := range t.given {
		if !slices.Contains(t.used, name) {
			return view.Usage(fmt.Sprintf("--var %s: the flow has no placeholder ${%s}%s", name, name, didYouMean(name, t.used)), "leave it out")
		}
	}
	return nil
}
