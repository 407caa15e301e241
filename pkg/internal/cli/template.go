package cli

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/waitless/waitless/pkg/fdl/templates"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/internal/bounded"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/internal/similar"
	"github.com/waitless/waitless/pkg/language"
)

// templateFlags say how a flow is made out of a template.
type templateFlags struct {
	vars     []string
	imported string // the name of a flow, theOnlyFlow, or empty if the file is a flow
}

// theOnlyFlow is the value of --import without a name.
const theOnlyFlow = "*"

func (t *templateFlags) register(flags *pflag.FlagSet) {
	flags.StringArrayVar(&t.vars, "var", nil,
		"NAME=VALUE: the value of the placeholder ${NAME}; repeat it for several (see: waitless docs templates)")
	flags.StringVar(&t.imported, "import", "",
		"read a flow from a template of SAM, CloudFormation, ROS, Funcraft or Serverless Devs, or one with !Ref; --import=NAME if there are several")
	flags.Lookup("import").NoOptDefVal = theOnlyFlow
}

// template has the values of placeholders, and remembers which a flow has.
type template struct {
	values map[string]string // of the flags and of the file with settings
	given  []string          // names of the flags
	used   []string          // names of placeholders in flows
	// imported is the flow to import, as of [templateFlags].
	imported string
	// subflow is the sub-flow that the file defines, empty for the flow that starts first. Of a
	// template it is the flow with this name, or else the only one.
	subflow string
	note    func(format string, args ...any)
	checks  []flow.Check // of the command
}

// template reads the flags. They take precedence over the file with settings.
func (c Command) template(flags templateFlags) (*template, error) {
	t := &template{values: maps.Clone(c.vars), imported: flags.imported, note: c.out().Note, checks: []flow.Check{c.checkFlow}}
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
func (t *template) parse(f *flowFile) error {
	f.filled = templates.Filled{Text: f.text}
	switch {
	case t.imported != "":
		if err := t.importInto(f); err != nil {
			return err
		}
	case len(t.values) > 0:
		f.filled, f.problems = templates.Fill(f.text, t.values)
	}
	t.used = append(t.used, f.filled.Names...)
	if len(f.problems) > 0 {
		return nil
	}
	f.text = f.filled.Text
	f.flow, f.problems = language.ParseFile(f.path, f.text, t.checks...)
	if !f.isStored() { // a stored flow had values for its placeholders
		f.warnOfUnfilled()
	}
	f.problems = inOrder(append(f.problems, f.selfWarnings()...))
	f.inTemplate(f.problems)
	if f.flow != nil {
		f.inTemplate(f.flow.Extensions)
	}
	return nil
}

// warnOfUnfilled warns of placeholders without values. A machine may name a function by a
// placeholder, another problem of the line may name the placeholder, or suggest a path instead, and
// a source that is a placeholder is meant to be a constant.
func (f *flowFile) warnOfUnfilled() {
	var functions []string
	if f.flow != nil && f.flow.IsMachine {
		for _, task := range f.flow.Tasks() {
			functions = append(functions, task.Resource.Function)
		}
	}
	for _, u := range f.filled.Unfilled() {
		placeholder, _, _ := strings.Cut(u.Message, "}")
		_, name, _ := strings.Cut(placeholder, "{")
		isTold := func(p flow.Problem) bool {
			return p.Line == u.Line && (strings.Contains(p.Message, placeholder) || strings.Contains(p.Message, `did you mean "$`+name))
		}
		if slices.Contains(functions, strings.TrimSuffix(name, ".Arn")) || slices.ContainsFunc(f.problems, isTold) {
			continue
		}
		f.problems = append(slices.DeleteFunc(f.problems, func(p flow.Problem) bool {
			return p.Line == u.Line && strings.Contains(p.Message, `source text "${`+name+`}" is a constant`)
		}), u)
	}
	f.problems = inOrder(f.problems)
}

// importInto reads the chosen flow out of a template, and notes the source that it read.
func (t *template) importInto(f *flowFile) error {
	flows := templates.Find(f.text, t.values)
	flow, err := t.choose(flows)
	if err != nil {
		return err
	}
	text, where := f.text, ""
	f.template, f.named = f.path, flow.Name
	for _, one := range flows {
		f.others = append(f.others, one.Name)
	}
	if flow.File != "" {
		f.path = filepath.Join(filepath.Dir(f.path), filepath.FromSlash(flow.File))
		if text, err = readBelow(filepath.Dir(f.template), flow.File); err != nil {
			return view.Usage("the definition of flow "+flow.Name+" is in "+flow.File+": "+view.Reason(err), "correct the path in "+f.template)
		}
		where = " in " + f.path
	}
	f.filled, f.problems = flow.Import(text, t.values)
	if flow.Kind != "" {
		t.note("%s: read flow %s (%s)%s", f.template, flow.Name, flow.Kind, where)
	}
	for _, read := range f.filled.Read {
		t.note("%s: %s", f.path, read)
	}
	return nil
}

// readBelow reads a file of a folder or below it. A path or a link that leaves the folder is an
// error: the author of a template does not choose other files of this machine.
func readBelow(folder, path string) ([]byte, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // read only
	return bounded.ReadRegular(rooted{root}, filepath.FromSlash(path))
}

// rooted is a folder as a file system that names a path which leads out of it in its errors.
type rooted struct{ *os.Root }

// Open implements [fs.FS].
func (r rooted) Open(name string) (fs.File, error) { return r.Root.Open(name) }

// choose returns the flow that --import means. A file without a template is a flow.
func (t *template) choose(flows []templates.Flow) (templates.Flow, error) {
	var names, resources []string // the name of a flow may change with the values of --var
	for _, flow := range flows {
		if flow.Name == cmp.Or(t.subflow, t.imported) {
			return flow, nil
		}
		names, resources = append(names, flow.Name), append(resources, flow.ID)
	}
	byID := slices.IndexFunc(flows, func(flow templates.Flow) bool { return t.subflow == "" && flow.ID == t.imported })
	switch {
	case byID >= 0:
		return flows[byID], nil
	case t.imported != theOnlyFlow && t.subflow == "":
		return templates.Flow{}, view.Usage(fmt.Sprintf("the template has no flow %q%s", t.imported, similar.DidYouMean(t.imported, names)),
			strings.TrimPrefix(strings.Join(append([]string{""}, resources...), ", --import="), ", "))
	case len(flows) > 1:
		return templates.Flow{}, view.Usage(fmt.Sprintf("the template has %d flows: %s", len(flows), strings.Join(names, ", ")), "--import="+resources[0])
	case len(flows) == 1:
		return flows[0], nil
	}
	return templates.Flow{}, nil
}

// inOrder sorts problems by their places.
func inOrder(problems flow.Problems) flow.Problems {
	slices.SortStableFunc(problems, func(a, b flow.Problem) int { return a.Compare(b.Position) })
	return problems
}

// inTemplate moves problems to the places of their text in the template.
func (f *flowFile) inTemplate(problems flow.Problems) {
	for i, p := range problems {
		problems[i].Position = f.filled.Position(p.Position)
	}
}

// checkUsed rejects variables of the command line that no flow has.
func (t *template) checkUsed() error {
	for _, name := range t.given {
		if !slices.Contains(t.used, name) {
			return view.Usage(fmt.Sprintf("--var %s: the flow has no placeholder ${%s}%s", name, name, similar.DidYouMean(name, t.used)), "leave it out")
		}
	}
	return nil
}
