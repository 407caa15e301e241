package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/fdl/templates"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/internal/bounded"
	"github.com/waitless/waitless/pkg/internal/cli/target"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/internal/similar"
	"github.com/waitless/waitless/pkg/language"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/machine"
)

// shortHash is as much of a hash as people need to tell definitions apart.
func shortHash(hash string) string { return hash[:min(12, len(hash))] }

// noTarget is the value of --notify that removes the target of a flow.
const noTarget = "none"

func flowsPutCommand(c Command) *cobra.Command {
	var o remoteOptions
	var t templateFlags
	var notify machine.Notify
	cmd := helpOf("flows put", arguments(1, 1))
	o.register(cmd)
	t.register(cmd.Flags())
	registerNotify(cmd.Flags(), &notify, notifyUsage+"; none removes it")
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		file, err := c.readRunnable(cmd.Context(), args[0], t)
		if err != nil {
			return err
		}
		if err := cmp.Or(c.warn(file), c.readTarget(cmd.Context(), &notify)); err != nil {
			return err
		}
		if notify.Target == noTarget {
			notify = machine.Notify{}
		}
		place, err := c.locate(o.Place)
		if err != nil {
			return err
		}
		a, err := c.opener().OpenOrCreate(cmd.Context(), place)
		if err != nil {
			return err
		}
		defer a.Close(&err)
		flow, err := a.PutFlow(cmd.Context(), file.name(), file.text, "")
		if err == nil && cmd.Flags().Changed("notify") {
			flow, err = a.SetNotify(cmd.Context(), flow, notify)
		}
		if err != nil {
			return err
		}
		return c.out().Result(view.Result{Form: "flow", JSON: flow, Text: view.Line("%s  %s", flow.Name, shortHash(flow.Hash))}, o.json)
	}
	return cmd
}

// flowsOf is the result with the definitions.
func flowsOf(flows []rest.Flow, text string) view.Result {
	return view.Result{Form: "flows", JSON: map[string]any{"flows": append([]rest.Flow{}, flows...)}, Text: text}
}

func flowsListCommand(c Command) *cobra.Command {
	return c.remote(helpOf("flows list", arguments(0, 0)), func(ctx context.Context, a *target.Client, _ []string) (view.Result, error) {
		flows, err := a.Flows(ctx, "")
		var rows [][]string
		for _, f := range flows {
			note := f.Notify
			if f.Paused {
				note = strings.TrimSpace("paused " + note)
			}
			rows = append(rows, []string{f.Name, shortHash(f.Hash), view.LocalTime(f.CreatedTime), note})
		}
		result := flowsOf(flows, "")
		result.Rows = rows
		return result, err
	})
}

func flowsShowCommand(c Command) *cobra.Command {
	var o remoteOptions
	var hash string
	cmd := helpOf("flows show", arguments(1, 1))
	o.register(cmd)
	cmd.Flags().StringVar(&hash, "hash", "", "the definition whose hash begins so (default: the latest)")
	cmd.RunE = c.onTarget(&o, func(ctx context.Context, a *target.Client, args []string) error {
		if err := checkFlow(args[0]); err != nil {
			return err
		}
		flow, err := a.Flow(ctx, args[0], hash)
		switch {
		case err != nil:
			return flowError(ctx, a, args[0], err)
		case !o.json && !view.IsTerminal(c.Stdout):
			return c.out().Exactly(flow.Definition) // with the hash of the flow
		}
		return c.out().Result(view.Result{Form: "flow", JSON: flow, Text: flow.Definition}, o.json)
	})
	return cmd
}

func flowsCommand(c Command) *cobra.Command {
	// onFlow makes a command that changes a flow.
	onFlow := func(name string, change func(ctx context.Context, a *target.Client, flow string) (flows []rest.Flow, done string, err error)) *cobra.Command {
		return c.remote(helpOf(name, arguments(1, 1)), func(ctx context.Context, a *target.Client, args []string) (view.Result, error) {
			if err := checkFlow(args[0]); err != nil {
				return view.Result{}, err
			}
			flows, done, err := change(ctx, a, args[0])
			if err != nil {
				return view.Result{}, flowError(ctx, a, args[0], err)
			}
			return flowsOf(flows, view.Line("%s %s", args[0], done)), nil
		})
	}
	return group(helpOf("flows", nil), flowsPutCommand(c), flowsListCommand(c), flowsShowCommand(c),
		onFlow("flows pause", func(ctx context.Context, a *target.Client, name string) ([]rest.Flow, string, error) {
			flow, err := a.PauseFlow(ctx, name)
			return []rest.Flow{flow}, "is paused", err
		}),
		onFlow("flows resume", func(ctx context.Context, a *target.Client, name string) ([]rest.Flow, string, error) {
			rearmed, err := a.ResumeFlow(ctx, name)
			return []rest.Flow{{Name: name}}, "goes on, " + flow.Count(rearmed, "execution"), err
		}),
		onFlow("flows delete", func(ctx context.Context, a *target.Client, name string) ([]rest.Flow, string, error) {
			deleted, err := a.DeleteFlow(ctx, name)
			return deleted, "is deleted, " + flow.Count(len(deleted), "definition"), err
		}))
}

// flowError returns an error of the API about the named flow.
func flowError(ctx context.Context, a *target.Client, name string, err error) error {
	refused, ok := errors.AsType[*rest.Error](err)
	if !ok {
		return err
	}
	f := failureOf(err)
	switch refused.Code { //nolint:exhaustive // the others are not about the flow
	case engine.CodeNotFound:
		f.Try = "waitless flows list"
		if names, err := flowNames(ctx, a); err == nil && !slices.Contains(names, name) {
			f.Why += similar.DidYouMean(name, names)
		}
	case engine.CodeConflict:
		f.Try = "waitless list --flow NAME"
	}
	return f
}

// flowSource is the flow that start and run take: a file, or with --flow a stored definition.
type flowSource struct {
	path, stored string
	template     templateFlags
}

// arguments checks that the command line names one flow.
func (s *flowSource) arguments(cmd *cobra.Command, args []string) error {
	switch {
	case !cmd.Flags().Changed("flow"):
		return arguments(1, 1)(cmd, args)
	case len(args) > 0:
		return view.Usage(fmt.Sprintf("%s and --flow %s are two flows", args[0], s.stored), "leave out one of them")
	case len(s.template.vars) > 0 || s.template.imported != "":
		return view.Usage("--flow "+s.stored+" is a stored definition, in which values have replaced placeholders", "leave out --var and --import, or name the file")
	case strings.HasSuffix(s.stored, "@"):
		return view.Usage(fmt.Sprintf("--flow %s has no hash after the \"@\"", s.stored), "--flow "+s.name()+", or waitless flows list")
	}
	return checkFlow(s.name())
}

// name returns the name of a stored flow, without the hash.
func (s *flowSource) name() string {
	name, _, _ := strings.Cut(s.stored, "@")
	return name
}

// readSource reads the file, or the stored definition at the place.
func (c Command) readSource(ctx context.Context, source flowSource, where target.Place) (f flowFile, err error) {
	if source.stored == "" {
		return c.readRunnable(ctx, source.path, source.template)
	}
	a, err := c.opener().Open(ctx, where)
	if err != nil {
		return f, err
	}
	defer a.Close(&err)
	_, hash, _ := strings.Cut(source.stored, "@")
	flow, err := a.Flow(ctx, source.name(), hash)
	if err != nil {
		return f, flowError(ctx, a, source.name(), err)
	}
	f = flowFile{path: "--flow " + flow.Name + "@" + shortHash(flow.Hash), text: []byte(flow.Definition), stored: flow}
	if err := (&template{}).parse(&f); err != nil {
		return f, err
	}
	if f.flow == nil {
		invalid := f.invalid()
		invalid.Try = "correct the definition, then: waitless flows put FLOW"
		return f, invalid
	}
	return f, nil
}

// flowFile is a definition as it stands in a file, or in a store.
type flowFile struct {
	path     string    // as the command line names it: for a stored definition with --flow
	template string    // the path of the template that path was found in, or empty
	named    string    // the name that the template gives the flow
	others   []string  // the names of the template's flows
	stored   rest.Flow // the zero value for a file
	text     []byte
	filled   templates.Filled // the text, and where its places are in the file
	flow     *flow.Flow       // nil when it has errors
	problems flow.Problems
	content  string // what a file beside flows has, "" for a flow
}

// tryFlow is the advice after a file that cannot be read.
const tryFlow = "the path of a flow, for example flow.yaml"

// readFlow reads and checks the file; problems of the definition are no error
// here.
func readFlow(ctx context.Context, path string, t *template) (flowFile, error) {
	f := flowFile{path: path}
	var err error
	if f.text, err = bounded.ReadFile(ctx, path); err != nil {
		return f, unread(ctx, "", err, tryFlow)
	}
	return f, t.parse(&f)
}

// readValid reads a flow without errors, and the template with the variables that the flow used.
// Subflow is the name of a sub-flow that the file defines.
func (c Command) readValid(ctx context.Context, path, subflow string, flags templateFlags) (f flowFile, t *template, err error) {
	if t, err = c.template(flags); err != nil {
		return f, t, err
	}
	t.subflow = subflow
	if f, err = readFlow(ctx, path, t); err == nil && f.flow == nil {
		err = f.invalid()
	}
	return f, t, err
}

// readRunnable reads a flow that is to be put or run: it is valid and can be named.
func (c Command) readRunnable(ctx context.Context, path string, flags templateFlags) (flowFile, error) {
	f, t, err := c.readValid(ctx, path, "", flags)
	if err != nil {
		return f, err
	}
	return f, cmp.Or(t.checkUsed(), f.checkName(), f.checkNeighbors())
}

const addName = "add a line like this to the flow: name: "

// checkName rejects a flow without a name if the file's name cannot serve as one: no letter or
// digit is left of it, or it is too long.
func (f flowFile) checkName() error {
	base := f.base()
	meant := fdl.AsName(base)
	if strings.Trim(meant, "_-") == "" {
		meant = "my-flow"
	}
	if f.isNamed() || base == language.NoName || meant == fdl.AsName(base) && len(base) <= flow.MaxName {
		return nil
	}
	return view.Usage(fmt.Sprintf(
		`the flow has no name, and that of its file, %q, cannot be one; allowed: a letter or "_", then letters, digits, "_" and "-", %d characters at most`,
		base, flow.MaxName), addName+meant)
}

// checkNeighbors rejects a flow with a name that is made of its file's name and is also the name of
// another flow in the folder: the two files would become one flow.
func (f flowFile) checkNeighbors() error {
	if base := f.base(); f.isNamed() || base == language.NoName || flow.ValidName(base) {
		return nil
	}
	entries, _ := os.ReadDir(filepath.Dir(f.path)) // the file was read there
	for _, entry := range entries {
		other := flowFile{path: filepath.Join(filepath.Dir(f.path), entry.Name())}
		if entry.Name() == filepath.Base(f.path) || !isFlowName(entry.Name()) || other.name() != f.name() || !isFlow(other.path) {
			continue
		}
		text, _ := readBeside(other.path) // isFlow has read it
		if flow, _ := language.Parse(text); flow != nil && flow.Name == "" {
			return view.Usage(fmt.Sprintf("the flow has no name, and its file gives it the name %q of the flow in %s", f.name(), entry.Name()), addName+"NAME")
		}
	}
	return nil
}

// isNamed reports whether the flow, its template or its store names it.
func (f flowFile) isNamed() bool { return f.isStored() || f.flow.Name != "" || f.named != "" }

func (f flowFile) isStored() bool { return f.stored.Hash != "" }

func (f flowFile) lines() []string {
	lines := make([]string, len(f.problems))
	for i, p := range f.problems {
		lines[i] = inFlow(p, f.path)
	}
	return lines
}

// inFlow returns the line that shows a problem of the flow at a path. The name of a stored flow has
// no flag there.
func inFlow(p flow.Problem, path string) string { return p.Format(strings.TrimPrefix(path, "--flow ")) }

// invalid is the error for a definition that has errors.
func (f flowFile) invalid() *view.Failure {
	try := "correct the places above, then: waitless validate " + f.argument()
	if f.template == "" && len(templates.Find(f.text, nil)) > 0 {
		try = "waitless validate " + f.path + " --import"
	}
	return &view.Failure{Exit: view.ExitUsage, Why: flow.Count(len(f.mistakes()), "problem"), Lines: f.lines(), Try: try}
}

// argument returns the argument that names the flow on the command line.
func (f flowFile) argument() string {
	if f.template == "" {
		return f.path
	}
	return strings.TrimSuffix(f.template+" --import="+f.named, "=")
}

// name returns the name of the flow: its own name, else the name of its file, or of its folder when
// the file is just called flow. Characters that names cannot have become "-".
func (f flowFile) name() string {
	if f.isStored() {
		return f.stored.Name
	}
	if f.flow != nil && f.flow.Name != "" {
		return f.flow.Name
	}
	if f.named != "" {
		return fdl.AsName(f.named)
	}
	base := f.base()
	if base == language.NoName {
		if absolute, err := filepath.Abs(f.path); err == nil {
			base = filepath.Base(filepath.Dir(absolute))
		}
	}
	return fdl.AsName(base)
}

// base is the name that the file gives to the flow.
func (f flowFile) base() string { return language.NameOf(filepath.Base(f.path)) }

// scriptPath returns the file with the outcomes of a flow's callbacks: script.yaml beside it.
func (f flowFile) scriptPath() string { return filepath.Join(filepath.Dir(f.path), scriptFile) }

// script returns the script that reports outcomes in virtual time, or nil without one. It may name
// the steps of the flow.
func (f flowFile) script(virtual bool, steps *flow.Flow) (*local.Script, error) {
	if !virtual || f.isStored() {
		return nil, nil
	}
	text, err := readBeside(f.scriptPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	script, err := local.ParseScript(text, os.DirFS(filepath.Dir(f.path)))
	if err != nil {
		return nil, err
	}
	return script, script.CheckSteps(steps)
}
