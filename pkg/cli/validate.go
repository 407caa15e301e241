package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/cli/view"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/machine"
)

// validateOptions are the flags of validate.
type validateOptions struct {
	strict bool
	format string
}

// The values of --format.
const (
	formatText   = "text"
	formatJSON   = "json"
	formatGitHub = "github"
	formatSARIF  = "sarif"
)

var validateFormats = []string{formatText, formatJSON, formatGitHub, formatSARIF}

func validateCommand(c Command) *cobra.Command {
	var options validateOptions
	var asJSON bool
	cmd := helpOf("validate", arguments(1, math.MaxInt))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if asJSON {
			options.format = formatJSON
		}
		return c.validate(cmd.Context(), args, options)
	}
	cmd.Flags().BoolVar(&options.strict, "strict", false, "also refuse extensions of FDL, and sources of mappings that are missing for sure")
	cmd.Flags().StringVar(&options.format, "format", formatText, "how to print the problems: text, json, github or sarif")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object on standard output, as --format json (see: waitless help json)")
	return cmd
}

func (c Command) validate(ctx context.Context, paths []string, options validateOptions) error {
	if !slices.Contains(validateFormats, options.format) {
		return view.Usage(fmt.Sprintf("--format is %q%s (allowed: %s)", options.format,
			fdl.DidYouMean(options.format, validateFormats), strings.Join(validateFormats, ", ")), "waitless validate --format github FLOW")
	}
	files, err := c.readFlows(ctx, paths, options.strict)
	if err != nil {
		return err
	}
	if err := c.printProblems(files, options.format); err != nil {
		return err
	}
	return notValid(files, options)
}

func (c Command) readFlows(ctx context.Context, paths []string, strict bool) ([]flowFile, error) {
	files := make([]flowFile, len(paths))
	for i, path := range paths {
		file, err := c.readFlowOrStdin(ctx, path)
		switch {
		case err != nil && (len(paths) == 1 || ctx.Err() != nil):
			return nil, err
		case err != nil:
			file = unreadable(path, err)
		}
		if strict && file.flow != nil {
			file.problems = inOrder(append(file.problems, file.flow.Extensions...))
		}
		files[i] = file
	}
	return files, nil
}

// unreadable is a file that could not be read, among others that are checked.
func unreadable(path string, err error) flowFile {
	var f *view.Failure
	why := err.Error()
	if errors.As(err, &f) {
		why = f.Why
	}
	return flowFile{path: path, problems: fdl.Problems{{Position: fdl.Position{Line: 1, Column: 1}, Message: "cannot be read: " + why}}}
}

// stdinName is what problems call a flow that was read from standard input.
const stdinName = "<stdin>"

// readFlowOrStdin is readFlow, for which - is standard input.
func (c Command) readFlowOrStdin(ctx context.Context, path string) (flowFile, error) {
	if path != "-" {
		return readFlow(path)
	}
	text, err := c.readStdin(ctx)
	if err != nil {
		return flowFile{}, err
	}
	f := flowFile{path: stdinName, text: text}
	f.flow, f.problems = machine.Parse(text)
	return f, nil
}

// printProblems prints the result; in text only what is valid, since the error
// has the lines of the rest.
func (c Command) printProblems(files []flowFile, format string) error {
	switch format {
	case formatJSON:
		return c.out().JSON(validation(files))
	case formatGitHub:
		return c.out().Text(annotations(files))
	case formatSARIF:
		return c.out().JSON(sarifOf(files))
	}
	for _, file := range files {
		if !file.isValid() {
			continue
		}
		if err := c.warn(file); err != nil {
			return err
		}
		if err := c.out().Text(fmt.Sprintf("%s: valid, %s\n", view.Printable(file.path), view.Count(len(file.flow.All), "step"))); err != nil {
			return err
		}
	}
	return nil
}

// inOrder are problems in the order of their places.
func inOrder(problems fdl.Problems) fdl.Problems {
	slices.SortStableFunc(problems, func(a, b fdl.Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return problems
}

// notValid is the error for flows of which one is not valid, nil for others.
func notValid(files []flowFile, options validateOptions) error {
	invalid := slices.DeleteFunc(slices.Clone(files), flowFile.isValid)
	var err *view.Failure
	switch {
	case len(invalid) == 0:
		return nil
	case len(files) > 1:
		err = &view.Failure{
			Exit: ExitUsage, Why: fmt.Sprintf("not valid: %d of %d flows", len(invalid), len(files)),
			Try: "correct the places above, then validate again",
		}
		for _, file := range invalid {
			err.Lines = append(err.Lines, file.lines()...)
		}
	case invalid[0].flow == nil:
		err = invalid[0].invalid()
	default:
		err = invalid[0].notStrict()
	}
	if options.format == formatGitHub || options.format == formatSARIF {
		err.Lines = nil // they are on standard output
	}
	return err
}

// notStrict is the error for a flow that runs here, and of which strict mode tells.
func (f flowFile) notStrict() *view.Failure {
	return &view.Failure{
		Exit: ExitUsage, Why: view.Count(len(f.flow.Extensions), "place") + " that strict mode refuses",
		Lines: f.lines(), Try: "waitless validate " + f.path + ", which takes the flow as it is",
	}
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
	Schema string       `json:"schema"` // "waitless.validate/1"
	Valid  bool         `json:"valid"`
	Files  []fileReport `json:"files"`
}

// fileReport is the report of one flow.
type fileReport struct {
	File     string       `json:"file"`
	Valid    bool         `json:"valid"`
	Problems fdl.Problems `json:"problems"`
}

// isValid reports whether the flow has only warnings.
func (f flowFile) isValid() bool {
	return !slices.ContainsFunc(f.problems, func(p fdl.Problem) bool { return p.Severity != fdl.SeverityWarning })
}

func validation(files []flowFile) validationReport {
	r := validationReport{Schema: "waitless.validate/1", Valid: true}
	for _, file := range files {
		one := fileReport{File: file.path, Valid: file.isValid(), Problems: append(fdl.Problems{}, file.problems...)}
		r.Valid = r.Valid && one.Valid
		r.Files = append(r.Files, one)
	}
	return r
}
