package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/fdl"
)

func (c Command) validateCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "validate FLOW",
		Short:   "Check a flow and show all its problems at once",
		Long:    "Check a flow. Each problem is one line, file:line:column: message, on standard error.\nExit code 0: valid, warnings included; 2: not.",
		Example: "  waitless validate flow.yaml",
		Args:    arguments(1, 1),
		RunE:    func(_ *cobra.Command, args []string) error { return c.validate(args[0], asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object on standard output (see: waitless help json)")
	return cmd
}

func (c Command) validate(path string, asJSON bool) error {
	file, err := c.readFlow("validate", path)
	if err != nil {
		return err
	}
	if asJSON {
		if err := c.printJSON(validation(file)); err != nil {
			return err
		}
	}
	if file.flow == nil {
		return file.invalid("validate")
	}
	if err := c.warn(file); err != nil {
		return err
	}
	if asJSON {
		return nil
	}
	return c.print(fmt.Sprintf("%s: valid, %s\n", path, count(len(file.flow.All), "step")))
}

// warn shows the problems of a flow that runs all the same.
func (c Command) warn(file flowFile) error {
	for _, line := range file.lines() {
		if _, err := fmt.Fprintln(c.Stderr, line); err != nil {
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

func validation(file flowFile) validationReport {
	r := validationReport{Schema: "waitless.validate/1", File: file.path, Valid: file.flow != nil, Problems: []problemReport{}}
	for _, p := range file.problems {
		r.Problems = append(r.Problems, reportOf(p))
	}
	return r
}

func reportOf(p fdl.Problem) problemReport {
	return problemReport{p.Line, p.Column, p.Severity.String(), p.Message}
}
