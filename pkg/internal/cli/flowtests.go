package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/flowtest"
	"github.com/waitless/waitless/pkg/internal/cli/view"
)

// testFiles is how the names of files of tests end.
const testFiles = ".test.yaml"

// flowTestCommand runs the tests in a file, or in all files below a folder.
func flowTestCommand(c Command) *cobra.Command {
	var junit string
	cmd := helpOf("test", arguments(0, 1))
	registerConfig(cmd.Flags())
	cmd.Flags().StringVar(&junit, "junit", "", "also write the results to this file, as JUnit XML")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		path := append(args, ".")[0]
		cases, err := casesBelow(path)
		if err != nil {
			return view.Usage(view.Reason(err), "waitless test FOLDER, with files named *"+testFiles+"; their format: waitless docs testing")
		}
		var outcomes []flowtest.Outcome
		failed := 0
		for _, one := range cases {
			one.Kinds, one.Check = c.kinds, c.checkFlow
			o, began := flowtest.Outcome{Case: one}, time.Now()
			o.Result, o.Differences, o.Err = one.Run(cmd.Context())
			o.Took = time.Since(began)
			if cmd.Context().Err() != nil {
				return view.Interrupted("the other tests did not run")
			}
			if o.Failed() {
				failed++
			}
			outcomes = append(outcomes, o)
			if err := c.out().Text(testText(o)); err != nil {
				return err
			}
		}
		if err := c.out().Text(coverageText(outcomes)); err != nil {
			return err
		}
		if junit != "" {
			file, err := os.Create(junit) //nolint:gosec // G304: the user names the file
			if err == nil {
				err = errors.Join(flowtest.WriteJUnit(file, outcomes), file.Close())
			}
			if err != nil {
				return view.Usage(view.Reason(err), "--junit FILE")
			}
		}
		if failed > 0 {
			return &view.Failure{Exit: view.ExitFailed, What: "test " + path, Why: fmt.Sprintf("%d of %d tests failed", failed, len(outcomes))}
		}
		return nil
	}
	return cmd
}

// casesBelow reads the cases of a file, or of the files below a folder, apart from hidden ones.
func casesBelow(path string) (all []flowtest.Case, err error) {
	var problems []error
	err = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != path && strings.HasPrefix(entry.Name(), "."):
			return filepath.SkipDir
		case entry.IsDir() || name != path && !strings.HasSuffix(name, testFiles):
			return nil
		}
		cases, err := flowtest.ParseFile(name)
		all, problems = append(all, cases...), append(problems, err)
		return nil
	})
	if err = errors.Join(append(problems, err)...); err == nil && len(all) == 0 {
		err = errors.New(path + " has no tests")
	}
	return all, err
}

func testText(o flowtest.Outcome) string {
	title := view.Printable(o.File + ": " + o.Title)
	switch {
	case o.Failed():
		text, why := "FAIL  "+title+"\n", strings.Join(o.Differences, "\n")
		if o.Err != nil {
			why = o.Err.Error()
		}
		for line := range strings.Lines(why + "\n") {
			text += "      " + view.Printable(strings.TrimSuffix(line, "\n")) + "\n"
		}
		return text
	}
	return fmt.Sprintf("ok    %s (%s)\n", title, o.Elapsed)
}

// coverageText says for each flow which of its parts the tests went through.
func coverageText(outcomes []flowtest.Outcome) string {
	byFlow := map[string]flowtest.Coverage{}
	for _, o := range outcomes {
		if o.Err != nil {
			continue
		}
		byFlow[o.FlowFile] = byFlow[o.FlowFile].And(o.Covered)
		for name, covered := range o.CoveredSubflows {
			file := o.SubflowFiles[name]
			byFlow[file] = byFlow[file].And(covered)
		}
	}
	var text strings.Builder
	for _, flow := range slices.Sorted(maps.Keys(byFlow)) {
		met, all := byFlow[flow].Count()
		fmt.Fprintf(&text, "%s: %d of %d steps and branches covered\n", view.Printable(flow), met, all)
		for _, part := range byFlow[flow].Missing() {
			fmt.Fprintf(&text, "      not covered: %s\n", view.Printable(part))
		}
	}
	return text.String()
}
