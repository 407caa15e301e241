package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// stores are the columns: packages whose tests run the suites.
var stores = []struct{ name, path string }{
	{"memory", "github.com/waitless/waitless/pkg/local"},
	{"embedded", "github.com/waitless/waitless/pkg/local/disk"},
	{"DynamoDB", "github.com/waitless/waitless/pkg/aws/dynamo"},
}

// suites are the tests that run a suite in each of these packages.
var suites = []string{
	"TestLog", "TestFlows", "TestOutcomes", "TestContract", "TestCrashes", "TestInterleavings", "TestTokens", "TestResumeOutcomes",
	"TestRendezvous", "TestJobs",
}

// event is a line of go test -json.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64 // seconds
}

// report collects the results of tests, by package.
type report struct {
	ended  map[string]map[string]string
	output map[string]string // of tests that have not ended
	failed []string          // the output of failed tests and packages

	progress    io.Writer // gets a line for each package
	differences bool      // whether the table has only cases that a store did not pass
}

func newReport() *report {
	r := &report{ended: map[string]map[string]string{}, output: map[string]string{}, progress: io.Discard}
	for _, store := range stores {
		r.ended[store.path] = map[string]string{}
	}
	return r
}

func (r *report) read(in io.Reader) error {
	for lines := json.NewDecoder(in); ; {
		var e event
		switch err := lines.Decode(&e); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("the input is not from go test -json: %w", err)
		}
		r.add(e)
	}
}

func (r *report) add(e event) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "output", "build-output":
		r.output[key] += e.Output
		return
	case "fail", "build-fail":
		r.failed = append(r.failed, r.output[key])
	case "pass", "skip":
	default:
		return
	}
	delete(r.output, key)
	if e.Test == "" {
		fmt.Fprintf(r.progress, "%-4s  %s  %.0fs\n", e.Action, e.Package, e.Elapsed) //nolint:errcheck // only a display
	}
	if tests, ok := r.ended[e.Package]; ok && e.Test != "" {
		tests[e.Test] = e.Action
	}
}

// cases returns the names of all cases of the suites that any store ran.
func (r *report) cases() []string {
	all := map[string]bool{}
	for _, tests := range r.ended {
		for test := range tests {
			suite, _, isCase := strings.Cut(test, "/")
			if isCase && slices.Contains(suites, suite) {
				all[test] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// write prints the table and the output of failed tests. It returns an error if a test failed, or if a store
// did not pass a case.
func (r *report) write(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name string, cell func(path string) string) {
		for _, store := range stores {
			fmt.Fprintf(table, "%s\t", cell(store.path)) //nolint:errcheck // Flush returns it
		}
		fmt.Fprintln(table, name) //nolint:errcheck // Flush returns it
	}
	names := map[string]string{}
	for _, store := range stores {
		names[store.path] = store.name
	}
	row("case", func(path string) string { return names[path] })
	uneven, passed := 0, map[string]int{}
	for _, test := range r.cases() {
		even := true
		for _, store := range stores {
			if r.ended[store.path][test] == "pass" {
				passed[store.path]++
			} else {
				even = false
			}
		}
		if !even {
			uneven++
		}
		if !even || !r.differences {
			row(test, func(path string) string { return shown(r.ended[path][test]) })
		}
	}
	row("cases passed", func(path string) string { return fmt.Sprint(passed[path]) })
	return errors.Join(table.Flush(), r.verdict(out, uneven, len(r.cases())))
}

func shown(result string) string {
	if result == "" {
		return "not run"
	}
	return result
}

func (r *report) verdict(out io.Writer, uneven, cases int) error {
	for _, output := range r.failed {
		if _, err := io.WriteString(out, output); err != nil {
			return err
		}
	}
	switch {
	case len(r.failed) > 0:
		return fmt.Errorf("%d tests or packages failed", len(r.failed))
	case uneven > 0:
		return fmt.Errorf("%d of %d cases did not pass in every store", uneven, cases)
	case cases == 0:
		return errors.New("no case of any suite was run")
	}
	return nil
}
