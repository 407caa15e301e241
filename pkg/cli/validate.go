package cli

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/fdl"
)

func (c Command) validateCommand() *cobra.Command {
	var strict, asJSON bool
	cmd := &cobra.Command{
		Use:   "validate FLOW",
		Short: "Check a flow and show all its problems at once",
		Long: "Check a flow. Each problem is one line, file:line:column: message, on standard error.\n" +
			"Exit code 0: valid, warnings included; 2: not.\n\n" +
			"With --strict it also shows what other services of FDL v1 would not understand (each use of an extension), and\n" +
			"sources of mappings that are missing for sure, whose targets are left out. Any of these makes the exit code 2.",
		Example: "  waitless validate flow.yaml",
		Args:    arguments(1, 1),
		RunE:    func(_ *cobra.Command, args []string) error { return c.validate(args[0], strict, asJSON) },
	}
	cmd.Flags().BoolVar(&strict, "strict", false, "also refuse extensions of FDL, and sources of mappings that are missing for sure")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object on standard output (see: waitless help json)")
	return cmd
}

func (c Command) validate(path string, strict, asJSON bool) error {
	file, err := c.readFlow("validate", path)
	if err != nil {
		return err
	}
	if strict && file.flow != nil {
		file.problems = inOrder(append(file.problems, file.flow.Extensions...))
	}
	if asJSON {
		if err := c.printJSON(validation(file)); err != nil {
			return err
		}
	}
	if file.flow == nil {
		return file.invalid("validate")
	}
	if strict && len(file.flow.Extensions) > 0 {
		return file.notStrict()
	}
	if err := c.warn(file); err != nil {
		return err
	}
	if asJSON {
		return nil
	}
	return c.print(fmt.Sprintf("%s: valid, %s\n", path, count(len(file.flow.All), "step")))
}

// inOrder are problems in the order of their places.
func inOrder(problems fdl.Problems) fdl.Problems {
	slices.SortStableFunc(problems, func(a, b fdl.Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return problems
}

// notStrict is the error for a flow that runs here, and of which strict mode tells.
func (f flowFile) notStrict() error {
	return &failure{
		exit: ExitUsage, what: "validate --strict " + f.path, why: count(len(f.flow.Extensions), "place") + " that strict mode refuses",
		lines: f.lines(), try: "waitless validate " + f.path + ", which takes the flow as it is",
	}
}

// warn shows the problems of a flow that runs all the same.
func (c Command) warn(file flowFile) error {
	for _, line := range file.lines() {
		if _, err := fmt.Fprintln(c.Stderr, printable(line)); err != nil {
			return err
		}
	}
	return nil
}

// validationReport is the JSON of validate; schema/validate.json describes it.
type validationReport struct {
	Schema   string          `json:"schema"` // "waitless.validate/1"
	File     string          `json:"file"`
	Valid    bool            `json:"valid"`
	Problems []problemReport `json:"problems"`
}

type problemReport struct {
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Severity string `json:"severity"`
	Message  string `json:"message"`
}

// isValid: no problem that was asked for is more than a warning.
func (f flowFile) isValid() bool {
	return !slices.ContainsFunc(f.problems, func(p fdl.Problem) bool { return p.Severity != fdl.SeverityWarning })
}

func validation(file flowFile) validationReport {
	r := validationReport{Schema: "waitless.validate/1", File: file.path, Valid: file.isValid(), Problems: []problemReport{}}
	for _, p := range file.problems {
		r.Problems = append(r.Problems, reportOf(p))
	}
	return r
}

func reportOf(p fdl.Problem) problemReport {
	return problemReport{p.Line, p.Column, p.Severity.String(), p.Message}
}
