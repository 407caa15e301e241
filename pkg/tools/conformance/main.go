// Command conformance reads the output of `go test -json`. It prints each package as it ends, then
// the cases of the suites that every store runs, side by side: one row for each case, one column
// for each store. It fails if a test failed, or if a store did not pass a case.
//
//	-differences prints only the cases that a store did not pass
//
// It is for this repository and may change between releases.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

// stores are the columns: packages with tests that run the suites.
var stores = []string{"pkg/local/store", "pkg/local/disk", "pkg/aws/dynamo"}

const module = "github.com/waitless/waitless/"

// suites are the tests that run a suite in each of these packages.
var suites = []string{
	"TestLog", "TestFlows", "TestOutcomes", "TestContract", "TestCrashes", "TestInterleavings", "TestTokens", "TestResumeOutcomes",
	"TestRendezvous", "TestUnmatchedEvents", "TestJobs",
}

func main() {
	differences := flag.Bool("differences", false, "print only the cases that a store did not pass")
	flag.Parse()
	if err := run(os.Stdin, os.Stdout, *differences); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

// event is a line of go test -json.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64 // seconds
}

// report collects the results of tests.
type report struct {
	cases  map[string]map[string]string // by case and package
	output map[string]string            // of tests that have not ended
	failed string                       // the output of failed tests and packages
	hung   string                       // the tests that were under way when their packages ended
	fails  int
}

func run(in io.Reader, out io.Writer, differences bool) error {
	r := report{cases: map[string]map[string]string{}, output: map[string]string{}}
	for lines := json.NewDecoder(in); ; {
		var e event
		switch err := lines.Decode(&e); {
		case errors.Is(err, io.EOF):
			return r.write(out, differences)
		case err != nil:
			return fmt.Errorf("the input is not from go test -json: %w", err)
		}
		r.add(e, out)
	}
}

func (r *report) add(e event, progress io.Writer) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "output", "build-output":
		r.output[key] += e.Output
		return
	case "fail", "build-fail":
		r.failed += r.output[key]
		r.fails++
		if e.Test == "" {
			r.addUnfinished(e.Package)
		}
	case "pass", "skip":
	default:
		return
	}
	delete(r.output, key)
	if e.Test == "" {
		fmt.Fprintf(progress, "%-4s  %s  %.0fs\n", e.Action, e.Package, e.Elapsed) //nolint:errcheck // only a display
	}
	suite, _, isCase := strings.Cut(e.Test, "/")
	store := strings.TrimPrefix(e.Package, module)
	if !isCase || !slices.Contains(suites, suite) || !slices.Contains(stores, store) {
		return
	}
	if r.cases[e.Test] == nil {
		r.cases[e.Test] = map[string]string{}
	}
	r.cases[e.Test][store] = e.Action
}

// addUnfinished adds the output of a package's tests without a result, because their process ended.
func (r *report) addUnfinished(path string) {
	for _, key := range slices.Sorted(maps.Keys(r.output)) {
		if !strings.HasPrefix(key, path+" ") {
			continue
		}
		for text := range strings.Lines(r.output[key]) {
			if !strings.HasPrefix(text, "=== ") { // RUN, PAUSE, CONT
				r.failed += text
			}
		}
		if _, running, ok := strings.Cut(r.output[key], "running tests:\n"); ok {
			names, _, _ := strings.Cut(running, "\n\n")
			r.hung += "unfinished in " + path + ":\n" + names + "\n"
		}
		delete(r.output, key)
	}
}

// write prints the table and the output of failed tests. It returns an error if a test failed, or
// if a store did not pass a case.
func (r *report) write(out io.Writer, differences bool) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, strings.Join(stores, "\t")+"\tcase") //nolint:errcheck // Flush returns it
	uneven := 0
	for _, test := range slices.Sorted(maps.Keys(r.cases)) {
		row, passed := "", 0
		for _, store := range stores {
			result := cmp.Or(r.cases[test][store], "not run")
			row += result + "\t"
			if result == "pass" {
				passed++
			}
		}
		if passed < len(stores) {
			uneven++
		} else if differences {
			continue
		}
		fmt.Fprintln(table, row+test) //nolint:errcheck // Flush returns it
	}
	err := table.Flush()
	if err == nil {
		_, err = io.WriteString(out, r.failed+r.hung)
	}
	switch {
	case err != nil:
		return err
	case r.fails > 0:
		return fmt.Errorf("%d tests or packages failed", r.fails)
	case uneven > 0:
		return fmt.Errorf("%d of %d cases did not pass in every store", uneven, len(r.cases))
	case len(r.cases) == 0:
		return errors.New("no case of any suite was run")
	}
	return nil
}
