package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waitless/waitless/events"
	"github.com/waitless/waitless/pkg/internal/cli/view"
)

func TestTestsOfFlows(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	flow, err := os.ReadFile("../../../events/callback/flow.yaml")
	if err != nil {
		t.Fatal(err)
	}
	writeIn(t, dir, "flow.yaml", string(flow))
	writeIn(t, dir, "one.test.yaml", `tests:
- name: passes
  functions: {echo: {output: {}}}
  answers: [{step: mytask, afterSeconds: 7200, output: {status: ok}}]
  want: {output: {s: ok}, elapsedSeconds: 7200}
`)
	report := filepath.Join(dir, "report.xml")
	got := do(t, "test", dir, "--junit", report)
	want := "ok    " + dir + "/one.test.yaml: passes (2h0m0s)\n" + dir + "/flow.yaml: 1 of 1 steps and branches covered\n"
	if got.exit != view.ExitSucceeded || got.stdout != want || got.stderr != "" {
		t.Errorf("%+v, want %s", got, want)
	}
	if text, err := os.ReadFile(report); err != nil || !strings.Contains(string(text), `tests="1" failures="0" errors="0"`) {
		t.Errorf("report %s, error %v", text, err)
	}

	writeIn(t, dir, "two.test.yaml", `tests:
- name: "differs \e[31m"
  functions: {echo: {output: {}}}
  answers: [{step: mytask, output: {status: ok}}]
  want: {output: {s: no}}
- name: cannot run
  functions: {ecko: {output: {}}}
`)
	got = do(t, "test", dir, "--junit", report)
	for _, part := range []string{
		"FAIL  " + dir + "/two.test.yaml: differs", "        -   \"s\": \"no\"\n        +   \"s\": \"ok\"\n", `neither a function nor a step "ecko"`,
	} {
		if !strings.Contains(got.stdout, part) {
			t.Errorf("%s: lacks %q", got.stdout, part)
		}
	}
	if got.exit != view.ExitFailed || !strings.Contains(got.stderr, "2 of 3 tests failed") || strings.Contains(got.stdout, "\x1b") {
		t.Errorf("%+v", got)
	}
	if text, err := os.ReadFile(report); err != nil || !strings.Contains(string(text), `tests="3" failures="1" errors="1"`) {
		t.Errorf("report %s, error %v", text, err)
	}
}

// A test of a flow, or of a sub-flow, that `validate` rejects for a misspelt name of an operation,
// of its params or of a kind fails, with the place.
func TestTestsRejectMisspeltNames(t *testing.T) {
	t.Parallel()
	const begin = "version: v1\ntype: flow\nsteps:\n  - type: task\n    name: Keep\n    "
	const parent = begin + "resourceArn: acs:fnf:::flow/child\n    pattern: sync\n"
	const right = begin + "action: dynamodb:DeleteTable\n    serviceParams: {TableName: t}\n"
	for name, tt := range map[string]struct{ definition, problem string }{
		"operation":        {strings.Replace(right, "DeleteTable", "DeleteTabel", 1), `:6:13: action "dynamodb:DeleteTabel": service "dynamodb" has no operation`},
		"service":          {strings.Replace(right, "dynamodb:", "dynamo:", 1), `:6:13: action "dynamo:DeleteTable": service "dynamo" is not in the catalogue`},
		"params":           {strings.Replace(right, "TableName", "TableNam", 1), `:7:21: serviceParams has "TableNam", which dynamodb:DeleteTable does not have`},
		"params of a kind": {begin + "action: batch:SubmitJob\n    serviceParams: {JobNam: j, JobQueue: q, JobDefinition: d}\n", `:7:21: serviceParams has "JobNam"`},
		"custom kind":      {begin + "action: custom:rendr\n    serviceParams: {}\n", `:6:13: kind "custom:rendr" is not declared in kinds of `},
		"type of a param":  {strings.Replace(right, "{TableName: t}", "{TableName: 7}", 1), `:7:21: `},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := writeIn(t, dir, "child.yaml", tt.definition)
			settings := writeIn(t, dir, "waitless.yaml", "kinds: {'custom:render': {event: {source: s, detail-type: T, id: i}}}\n")
			writeIn(t, dir, "flow.yaml", parent)
			writeIn(t, dir, "alone.test.yaml", "flow: child.yaml\ntests: [{name: alone, functions: {Keep: {output: {}}}}]\n")
			writeIn(t, dir, "within.test.yaml", "subflows: {child: child.yaml}\ntests: [{name: within, functions: {Keep: {output: {}}}}]\n")
			if got := do(t, "validate", "--config", settings, file); got.exit != view.ExitUsage || !strings.Contains(got.stderr, tt.problem) {
				t.Errorf("validate: %+v; want %q", got, tt.problem)
			}
			got := do(t, "test", "--config", settings, dir)
			if got.exit != view.ExitFailed || strings.Count(got.stdout, "child"+tt.problem) != 2 {
				t.Errorf("%+v; want 2 times %q", got, tt.problem)
			}
		})
	}
}

// Each mistake of a test has a line.
func TestTestsReportAllMistakes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeIn(t, dir, "flow.yaml", "version: v1\ntype: flow\nsteps:\n- {type: pass, name: A}\n")
	writeIn(t, dir, "flow.test.yaml", "tests: [{want: {calls: {B: -1}, waits: C}}]\n")
	got := do(t, "test", dir)
	for _, line := range []string{"calls of B are -1; allowed: 0 or more", `the flow has no step "B"`, `the flow has no step "C"`} {
		if !strings.Contains(got.stdout, "\n      want: "+line) {
			t.Errorf("no line %q in\n%s", line, got.stdout)
		}
	}
}

func TestTestsThatAreNotThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "nowhere"), writeIn(t, dir, "wrong.yaml", "tests: 7")} {
		if got := do(t, "test", path); got.exit != view.ExitUsage || !strings.Contains(got.stderr, dir) {
			t.Errorf("%s: %+v", path, got)
		}
	}
}

func writeIn(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestSamplesAreTested runs the tests of the samples, which go through each step and branch.
func TestSamplesAreTested(t *testing.T) {
	t.Parallel()
	got := do(t, "test", "../../../events")
	flows := strings.Count(got.stdout, "covered\n")
	if got.exit != view.ExitSucceeded || strings.Contains(got.stdout, "not covered") || flows != len(events.Samples())+1 { // and a machine
		t.Errorf("%d of %d flows: %+v", flows, len(events.Samples())+1, got)
	}
}
