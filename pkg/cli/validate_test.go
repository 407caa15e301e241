package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/waitless/waitless/pkg/fdl"
)

// TestValidateShowsEveryMistake validates flows with common mistakes. Package fdl has a test of the same cases without
// the command.
func TestValidateShowsEveryMistake(t *testing.T) {
	t.Parallel()
	cases, err := filepath.Glob("testdata/mistakes/*.txt")
	if err != nil || len(cases) < 30 {
		t.Fatalf("found %d mistakes, want at least 30 (%v)", len(cases), err)
	}
	for _, name := range cases {
		name = strings.TrimSuffix(filepath.Base(name), ".txt")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, want := mistake(t, name, "validate")
			if got := do(t, "validate", file); got != want {
				t.Errorf("got:\n%+v\nwant:\n%+v", got, want)
			}
		})
	}
}

// mistake writes the flow of a case of testdata/mistakes to a file, and returns what the command prints about it.
func mistake(t *testing.T, name, command string) (file string, want result) {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/mistakes/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	flow, reported := string(archive.Files[0].Data), string(archive.Files[1].Data)
	file = writeFile(t, "flow.yaml", flow)
	problems := "1 problem"
	if n := strings.Count(reported, "\n"); n > 1 {
		problems = fmt.Sprintf("%d problems", n)
	}
	all := fmt.Sprintf("%swaitless: %s flow.yaml: %s\ntry: correct the places above, then: waitless validate flow.yaml\n", reported, command, problems)
	return file, result{exit: ExitUsage, stderr: strings.ReplaceAll(all, "flow.yaml", file)}
}

func TestRunRefusesMistakes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"six-at-once", "document-empty", "json-not-closed", "wait-too-long"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, want := mistake(t, name, "run")
			if got := do(t, "run", file, "--skip-time"); got != want {
				t.Errorf("got:\n%+v\nwant:\n%+v", got, want)
			}
		})
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"valid":        {"validate", pollingFlow},
		"valid-json":   {"validate", pollingFlow, "--json"},
		"warning":      {"validate", "testdata/flows/warning.yaml"},
		"warning-json": {"validate", "testdata/flows/warning.yaml", "--json"},
		"invalid-json": {"validate", "testdata/flows/negative-wait.yaml", "--json"},
		"missing-json": {"validate", "testdata/flows/none.yaml", "--json"},
		"folder":       {"validate", "testdata/flows"},
		"strict":       {"validate", "testdata/flows/extended.yaml", "--strict"},
		"strict-json":  {"validate", "testdata/flows/extended.yaml", "--strict", "--json"},
		"strict-fine":  {"validate", pollingFlow, "--strict"},
		"several":      {"validate", pollingFlow, "testdata/flows/warning.yaml", "testdata/flows/negative-wait.yaml"},
		"several-json": {"validate", pollingFlow, "testdata/flows/warning.yaml", "testdata/flows/six-mistakes.yaml", "--format", "json"},
		"several-fine": {"validate", pollingFlow, "testdata/flows/warning.yaml"},
		"github":       {"validate", pollingFlow, "testdata/flows/warning.yaml", "testdata/flows/six-mistakes.yaml", "--format", "github"},
		"sarif":        {"validate", pollingFlow, "testdata/flows/warning.yaml", "testdata/flows/six-mistakes.yaml", "--format", "sarif"},
		"several-none": {"validate", "testdata/flows/none.yaml", pollingFlow, "testdata/flows", "testdata/flows/negative-wait.yaml"},
		"stdin":        {"validate", "-"},
		"not-strict":   {"validate", "testdata/flows/extended.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := do(t, args...)
			golden(t, "validate/"+name+".txt", got.transcript(args...))
			if strings.HasSuffix(name, "-json") && got.stdout != "" {
				conforms(t, "validate", got.stdout)
			}
		})
	}
}

// A file that cannot be read hides no problem of the others.
func TestValidateReadsAllFiles(t *testing.T) {
	t.Parallel()
	broken := filepath.Join(t.TempDir(), "broken.yaml")
	if err := os.WriteFile(broken, []byte("version: v1\ntype: flow\nsteps: [{type: pas, name: P}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := do(t, "validate", "none.yaml", "testdata/flows/pass.yaml", broken)
	for _, want := range []string{"none.yaml:1:1: no such file", broken + ":3:16: ", "not valid: 2 of 3 flows"} {
		if !strings.Contains(got.stderr, want) {
			t.Errorf("not printed: %s\n%s", want, got.stderr)
		}
	}
	if got.exit != ExitUsage || !strings.Contains(got.stdout, "testdata/flows/pass.yaml: valid, ") {
		t.Errorf("%+v", got)
	}
	got = do(t, "validate", "none.yaml", broken, "--json")
	conforms(t, "validate", got.stdout)
	if alone := do(t, "validate", "none.yaml"); alone.exit != ExitUsage || strings.Contains(alone.stderr, ":1:1:") {
		t.Errorf("%+v", alone)
	}
}

func TestValidateReadsStandardInput(t *testing.T) {
	t.Parallel()
	flow := "version: v1\ntype: flow\nsteps: [{type: succeed, name: A}]\n"
	if got, want := doWith(t, flow, nil, "validate", "-"), (result{stdout: "<stdin>: valid, 1 step\n"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	got := doWith(t, flow+"end: true\n", nil, "validate", "-", pollingFlow, "--format", "github")
	if got.exit != ExitUsage || !strings.HasPrefix(got.stdout, "::error file=<stdin>,line=4,col=1::field \"end\" is unknown in a flow") {
		t.Errorf("got %+v", got)
	}
}

func TestValidateFormatsEscape(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "a b,c%.yaml", "version: v1\ntype: flow\nsteps: [{type: succeed, name: 50%}]\n")
	got := do(t, "validate", file, "--format", "github")
	if !strings.Contains(got.stdout, "/a b%2Cc%25.yaml,line=3,col=") || !strings.Contains(got.stdout, `"50%25"`) {
		t.Errorf("got %+v", got)
	}
	if got := do(t, "validate", file, "--format", "sarif"); !strings.Contains(got.stdout, `/a%20b,c%25.yaml"`) {
		t.Errorf("got %+v", got)
	}
}

func TestSchemaIsOfTheParser(t *testing.T) {
	t.Parallel()
	if got := do(t, "schema"); got != (result{stdout: string(fdl.Schema())}) {
		t.Errorf("got %+v", got)
	}
}

// Files of other names must not become one flow.
func TestRunRefusesFileNames(t *testing.T) {
	t.Parallel()
	const flow = "version: v1\ntype: flow\nsteps: [{type: succeed, name: A}]\n"
	for name, meant := range map[string]string{"1.yaml": "_1", "flow.v2.yaml": "flow-v2", "流程.yaml": "_-"} {
		file := writeFile(t, name, flow)
		for _, command := range [][]string{{"run", file}, {"flows", "put", file}, {"start", file}} {
			if got := do(t, command...); got.exit != ExitUsage || !strings.Contains(got.stderr, "the flow has no name") ||
				!strings.Contains(got.stderr, "name: "+meant+"\n") {
				t.Errorf("%s: got %+v", name, got)
			}
		}
		if got := do(t, "run", writeFile(t, name, flow+"name: n\n"), "--skip-time"); got.exit != ExitSucceeded {
			t.Errorf("%s with a name: got %+v", name, got)
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	if got := do(t, "version"); got.exit != 0 || got.stderr != "" || !strings.HasPrefix(got.stdout, "waitless ") {
		t.Errorf("got %+v", got)
	}
	if got := do(t, "--version"); got != do(t, "version") {
		t.Errorf("--version: %+v", got)
	}
	got := do(t, "version", "--json")
	conforms(t, "version", got.stdout)
	var v versionReport
	if err := json.Unmarshal([]byte(got.stdout), &v); err != nil || v.Version == "" {
		t.Errorf("got %q: %v", got.stdout, err)
	}
}

// What a service would reject is rejected before: by validate and run at its place, and by the start of a simulated job whose params
// are known only then.
func TestParamsOfJobsAreChecked(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "flow.yaml", "version: v1\ntype: flow\nname: n\nsteps:\n  - type: task\n    name: Work\n    action: batch:SubmitJob\n    pattern: sync\n"+
		"    serviceParams: {jobName: a, jobQueue: b, jobDefinition: c, timeout: {attemptDurationSecond: 5}}\n")
	const want = `:9:74: serviceParams.timeout has "attemptDurationSecond", which batch:SubmitJob does not have; did you mean "attemptDurationSeconds"?`
	for _, args := range [][]string{{"validate", file}, {"run", file, "--skip-time", "--task", "batch:SubmitJob=simulated"}} {
		if got := do(t, args...); got.exit != ExitUsage || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: %+v", args, got)
		}
	}
	called := writeFile(t, "called.yaml", "version: v1\ntype: flow\nname: n\nsteps:\n"+
		"  - {type: task, name: A, resourceArn: 'acs:fc:::services/s/functions/StartJob'}\n")
	for params, want := range map[string]string{
		`{"jobName":"a","jobQueue":"b","jobDefinition":"c","jobQeue":"d"}`: "" +
			`InvalidArgument: params has "jobQeue", which batch:SubmitJob does not have; did you mean "jobQueue"?`,
		`{"jobName":"a","jobDefinition":"c"}`: "InvalidArgument: params.JobQueue is missing",
	} {
		got := do(t, "run", called, "--skip-time", "--task", "batch:SubmitJob=simulated", "--input", `{"kind":"batch-job","params":`+params+`}`)
		if got.exit != ExitFailed || !strings.Contains(got.stderr+got.stdout, want) {
			t.Errorf("%s: %+v", params, got)
		}
	}
}
