package cli

import (
	"context"
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

func flowTestCommand(c Command) *cobra.Command {
	var junit, config string
	cmd := helpOf("test", arguments(0, 1))
	registerConfig(cmd.Flags(), &config)
	cmd.Flags().StringVar(&junit, "junit", "", "also write the results to this file, as JUnit XML")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.test(cmd.Context(), append(args, ".")[0], junit)
	}
	return cmd
}

// test runs the tests in a file, or in all files below a folder.
func (c Command) test(ctx context.Context, path, junit string) error {
	cases, err := casesBelow(path)
	if err != nil {
		return view.Usage(view.Reason(err), "waitless test FOLDER, with files named *"+testFiles+"; their format: waitless docs testing")
	}
	var outcomes []flowtest.Outcome
	failed := 0
	for _, one := range cases {
		one.Kinds, one.Check = c.kinds, c.checkFlow
		o := outcomeOf(ctx, one)
		if ctx.Err() != nil {
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
		if err := writeJUnit(junit, outcomes); err != nil {
			return view.Usage(view.Reason(err), "--junit FILE")
		}
	}
	if failed > 0 {
		return &view.Failure{Exit: ExitFailed, What: "test " + path, Why: fmt.Sprintf("%d of %d tests failed", failed, len(outcomes))}
	}
	return nil
}

// casesBelow reads the cases of a file, or of the files below a folder, apart from hidden ones.
func casesBelow(path string) (all []flowtest.Case, err error) {
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
		all = append(all, cases...)
		return err
	})
	if err == nil && len(all) == 0 {
		err = errors.New(path + " has no tests")
	}
	return all, err
}

func outcomeOf(ctx context.Context, one flowtest.Case) flowtest.Outcome {
	o := flowtest.Outcome{Case: one}
	began := time.Now()
	o.Result, o.Differences, o.Err = one.Run(ctx)
	o.Took = time.Since(began)
	return o
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

func writeJUnit(path string, outcomes []flowtest.Outcome) error {
	file, err := os.Create(path) //nolint:gosec // G304: the user names the file
	if err != nil {
		return err
	}
	return errors.Join(flowtest.WriteJUnit(file, outcomes), file.Close())
}
