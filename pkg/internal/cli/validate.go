package cli

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/internal/bounded"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/internal/similar"
)

// The values of --format.
const (
	formatText   = "text"
	formatJSON   = "json"
	formatGitHub = "github"
	formatSARIF  = "sarif"
)

var validateFormats = []string{formatText, formatJSON, formatGitHub, formatSARIF}

func validateCommand(c Command) *cobra.Command {
	var format string
	var strict, asJSON bool
	var flags templateFlags

	cmd := helpOf("validate", arguments(1, math.MaxInt))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if asJSON {
			format = formatJSON
		}
		if !slices.Contains(validateFormats, format) {
			return view.Usage(fmt.Sprintf("--format is %q%s (allowed: %s)", format,
				similar.DidYouMean(format, validateFormats), strings.Join(validateFormats, ", ")), "waitless validate --format github FLOW")
		}
		files, err := c.readFlows(cmd.Context(), args, flags, strict)
		if err != nil {
			return err
		}
		if err := c.printProblems(files, format); err != nil {
			return err
		}
		return notValid(files, format)
	}
	cmd.Flags().BoolVar(&strict, "strict", false, "also refuse extensions of FDL, and sources of mappings that are missing for sure")
	cmd.Flags().StringVar(&format, "format", formatText, "how to print the problems: text, json, github or sarif")
	flags.register(cmd.Flags())
	registerConfig(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object on standard output, as --format json (see: waitless help json)")
	return cmd
}

func (c Command) readFlows(ctx context.Context, paths []string, flags templateFlags, strict bool) ([]flowFile, error) {
	t, err := c.template(flags)
	if err != nil {
		return nil, err
	}
	paths = filesBelow(paths)
	files := make([]flowFile, len(paths))
	for i, path := range paths {
		file, err := c.readFlowOrStdin(ctx, path, t)
		if err != nil {
			f := failureOf(err)
			if f.What = "validate " + path; len(paths) == 1 && len(c.problems) == 0 {
				return nil, f
			}
			file.flow, file.problems = nil, flow.Problems{{Position: flow.Position{Line: 1, Column: 1}, Message: f.Why}} // beside the problems of the others
		}
		if file.flow != nil && path != "-" {
			file.problems = inOrder(append(file.problems, file.nameWarnings(files[:i])...))
		}
		if strict && file.flow != nil {
			file.problems = inOrder(append(file.problems, file.flow.Extensions...))
		}
		files[i] = file
	}
	if len(c.problems) > 0 && !slices.ContainsFunc(paths, func(path string) bool { return isSameFile(path, c.path) }) {
		files = append(files, flowFile{path: c.path, content: "settings", problems: c.problems})
	}
	if slices.ContainsFunc(files, func(f flowFile) bool { return !f.isValid() }) {
		return files, nil // their problems may be why a variable seems to be unused
	}
	return files, t.checkUsed()
}

// selfWarnings warn of steps that start the flow itself.
func (f flowFile) selfWarnings() (warnings flow.Problems) {
	if f.flow == nil {
		return nil
	}
	for step, task := range f.flow.Tasks() {
		if task.Resource.Subflow && task.Resource.Flow == f.name() {
			warnings = append(warnings, flow.Problem{Position: step.Position, Severity: flow.SeverityWarning, Message: fmt.Sprintf(
				"step %q starts the flow itself, which starts it again, without end unless a choice before the step ends that; see: waitless docs subflow",
				step.Name)})
		}
	}
	return warnings
}

// nameWarnings warn of a flow that runs only after it gets a name, and of a flow that one of the
// files before has, too.
func (f flowFile) nameWarnings(before []flowFile) (warnings flow.Problems) {
	warn := func(text string) {
		warnings = append(warnings, flow.Problem{Position: flow.Position{Line: 1, Column: 1}, Severity: flow.SeverityWarning, Message: text})
	}
	if err := f.checkName(); err != nil {
		why := failureOf(err)
		warn(why.Why + "; " + why.Try)
	}
	for _, other := range before {
		if other.flow != nil && other.path != stdinName && other.name() == f.name() && !isSameFile(other.path, f.path) {
			warn(fmt.Sprintf("flow %s is also in %s; give one of them another name", f.name(), other.path))
			break
		}
	}
	return warnings
}

// stdinName is the name in problems of a flow that was read from standard input.
const stdinName = "<stdin>"

// readFlowOrStdin is readFlow, for which - is standard input, and which checks files beside flows,
// too.
func (c Command) readFlowOrStdin(ctx context.Context, path string, t *template) (flowFile, error) {
	if check := checkerOf(path); check != nil {
		text, err := bounded.ReadFile(ctx, path)
		if err != nil {
			return flowFile{path: path}, unread(ctx, "", err, tryFlow)
		}
		what, problems := check(c, ctx, path, text, t)
		return flowFile{path: path, content: what, problems: problems}, nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return flowFile{path: path}, view.Usage("the folder has no flow", "the path of a flow, or waitless init, which writes a sample")
	}
	if path != "-" {
		return readFlow(ctx, path, t)
	}
	text, err := c.readFile(ctx, stdinName, path, tryFlow)
	if err != nil {
		return flowFile{path: stdinName}, err
	}
	f := flowFile{path: stdinName, text: text}
	return f, t.parse(&f)
}

// printProblems prints the result. As text it prints only the valid flows, since the error has the
// lines of the others.
func (c Command) printProblems(files []flowFile, format string) error {
	switch format {
	case formatJSON:
		r := validationReport{Valid: true}
		for _, file := range files {
			one := fileReport{File: file.path, Valid: file.isValid(), Problems: append(flow.Problems{}, file.problems...)}
			r.Valid = r.Valid && one.Valid
			r.Files = append(r.Files, one)
		}
		return c.out().JSON("validate", r)
	case formatGitHub:
		// Characters with a meaning of their own in workflow commands.
		inText := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
		inPath := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
		var text strings.Builder
		for _, file := range files {
			for _, p := range file.problems {
				fmt.Fprintf(&text, "::%s file=%s,line=%d,col=%d::%s\n", levelOf(p.Severity), inPath.Replace(view.Printable(filepath.ToSlash(file.path))),
					p.Line, p.Column, inText.Replace(view.Printable(p.Message)))
			}
		}
		return c.out().Text(text.String())
	case formatSARIF:
		return c.out().JSON("", sarifOf(files))
	}
	for _, file := range files {
		if !file.isValid() {
			continue
		}
		if err := c.warn(file); err != nil {
			return err
		}
		what := file.content
		if what == "" {
			what = flow.Count(len(file.flow.All), "step")
		}
		if err := c.out().Text(fmt.Sprintf("%s: valid, %s\n", view.Printable(file.path), what)); err != nil {
			return err
		}
	}
	return nil
}

// notValid returns the error for flows if one of them is not valid, nil for others.
func notValid(files []flowFile, format string) error {
	invalid := slices.DeleteFunc(slices.Clone(files), flowFile.isValid)
	if len(invalid) == 0 {
		return nil
	}
	err := invalid[0].invalid()
	if len(files) > 1 {
		err.Why = fmt.Sprintf("not valid: %d of %d files", len(invalid), len(files))
		err.Try = "correct the places above, then validate again"
	}
	for _, file := range invalid[1:] {
		err.Lines = append(err.Lines, file.lines()...)
	}
	if format == formatGitHub || format == formatSARIF {
		err.Lines = nil // they are on standard output
	}
	return err
}

// warn shows the problems of a flow that runs all the same.
func (c Command) warn(file flowFile) error {
	for _, line := range file.lines() {
		if _, err := fmt.Fprintln(c.Stderr, view.Printable(line)); err != nil {
			return err
		}
	}
	return nil
}

// validationReport is the JSON of validate; schema/validate.json describes it.
type validationReport struct {
	Valid bool         `json:"valid"`
	Files []fileReport `json:"files"`
}

// fileReport is the report of one flow.
type fileReport struct {
	File     string        `json:"file"`
	Valid    bool          `json:"valid"`
	Problems flow.Problems `json:"problems"`
}

// isValid reports whether the flow has only warnings.
func (f flowFile) isValid() bool { return len(f.mistakes()) == 0 }

// mistakes are the problems of the flow that are more than warnings.
func (f flowFile) mistakes() flow.Problems {
	return slices.DeleteFunc(slices.Clone(f.problems), func(p flow.Problem) bool { return p.Severity == flow.SeverityWarning })
}
