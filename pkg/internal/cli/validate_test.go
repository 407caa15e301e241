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
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/internal/bounded"
	"github.com/waitless/waitless/pkg/internal/cli/view"
)

// TestValidateShowsEveryMistake validates flows with common mistakes. Package fdl has a test of the
// same cases without the command.
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

// mistake writes the flow of a case of testdata/mistakes to a file, and returns what the command
// prints about it.
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
	remedy := "correct the places above, then: waitless validate flow.yaml\n"
	if len(archive.Files) > 2 {
		remedy = string(archive.Files[2].Data)
	}
	all := fmt.Sprintf("%swaitless: %s flow.yaml: %s\ntry: %s", reported, command, problems, remedy)
	return file, result{exit: view.ExitUsage, stderr: strings.ReplaceAll(all, "flow.yaml", file)}
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
		"slips":        {"validate", "testdata/flows/slips.yaml"},
		"invalid-json": {"validate", "testdata/flows/negative-wait.yaml", "--json"},
		"missing-json": {"validate", "testdata/flows/none.yaml", "--json"},
		"folder":       {"validate", "testdata/validate"},
		"strict":       {"validate", "testdata/flows/extended.yaml", "--strict"},
		"strict-json":  {"validate", "testdata/flows/extended.yaml", "--strict", "--json"},
		"strict-fine":  {"validate", pollingFlow, "--strict"},
		"several":      {"validate", pollingFlow, "testdata/flows/warning.yaml", "testdata/flows/negative-wait.yaml"},
		"several-json": {"validate", pollingFlow, "testdata/flows/warning.yaml", "testdata/flows/six-mistakes.yaml", "--format", "json"},
		"several-fine": {"validate", pollingFlow, "testdata/flows/warning.yaml"},
		"github":       {"validate", pollingFlow, "testdata/flows/warning.yaml", "testdata/flows/six-mistakes.yaml", "--format", "github"},
		"sarif":        {"validate", pollingFlow, "testdata/flows/warning.yaml", "testdata/flows/six-mistakes.yaml", "--format", "sarif"},
		"several-none": {"validate", "testdata/flows/none.yaml", pollingFlow, "testdata/validate", "testdata/flows/negative-wait.yaml"},
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
	for _, want := range []string{"none.yaml:1:1: no such file", broken + ":3:16: ", "not valid: 2 of 3 files"} {
		if !strings.Contains(got.stderr, want) {
			t.Errorf("not printed: %s\n%s", want, got.stderr)
		}
	}
	if got.exit != view.ExitUsage || !strings.Contains(got.stdout, "testdata/flows/pass.yaml: valid, ") {
		t.Errorf("%+v", got)
	}
	got = do(t, "validate", "none.yaml", broken, "--json")
	conforms(t, "validate", got.stdout)
	if alone := do(t, "validate", "none.yaml"); alone.exit != view.ExitUsage || strings.Contains(alone.stderr, ":1:1:") {
		t.Errorf("%+v", alone)
	}
}

// validateFolder writes a folder with a flow, and with the files that stand beside flows.
func validateFolder(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func TestValidateAcceptsFoldersAndFilesBesideFlows(t *testing.T) {
	t.Parallel()
	folder := validateFolder(t, map[string]string{
		"a.yaml": namelessFlow, "b.json": `{"type":"flow","version":"v1","steps":[{"type":"pass","name":"P"},{"type":"pass","name":"Q"}]}`,
		"waitless.yaml": "workers: 3\n", "a.test.yaml": "flow: a.yaml\ntests: [{}, {}]\n", "input.json": "{}", "notes.yaml": "a: b\n",
		"script.yaml": "answers: [{step: Q, output: {}}]\n", "old.yaml": strings.Replace(namelessFlow, "v1", "v1.0", 1),
	})
	in := func(name string) string { return filepath.Join(folder, name) }
	want := ""
	for _, line := range []string{"a.test.yaml: valid, 2 tests", "a.yaml: valid, 1 step", "b.json: valid, 2 steps", "old.yaml: valid, 1 step",
		"script.yaml: valid, a script", "waitless.yaml: valid, settings"} {
		want += in(line) + "\n"
	}
	if got := do(t, "validate", folder); got != (result{stdout: want}) {
		t.Errorf("got %+v, want %s", got, want)
	}
	each := []string{"validate", in("a.test.yaml"), in("a.yaml"), in("b.json"), in("old.yaml"), in("script.yaml"), in("waitless.yaml")}
	if got := do(t, each...); got != (result{stdout: want}) {
		t.Errorf("each: got %+v", got)
	}
	conforms(t, "validate", do(t, "validate", folder, "--json").stdout)
	wantSaid(t, do(t, "validate", validateFolder(t, map[string]string{"notes.yaml": "a: b\n"})), view.ExitUsage, "the folder has no flow", "waitless init")
}

// The name of a file of a state machine says enough: its text may be anything.
func TestValidateChecksEachFileNamedAsAMachine(t *testing.T) {
	t.Parallel()
	const good = `{"StartAt":"A","States":{"A":{"Type":"Succeed"}}}`
	for name, text := range map[string]string{
		"typo.asl.json": `{"Startat":"A","States":{"A":{"Type":"Succeed"}}}`, "object.asl.json": "{}", "empty.asl.yaml": "",
		"image.asl.yml": "\x89PNG\r\n", "states.asl": `{"States":{}}`,
	} {
		folder := validateFolder(t, map[string]string{"good.asl.json": good, name: text})
		wantSaid(t, do(t, "validate", folder), view.ExitUsage, name+":1:1: ", "not valid: 1 of 2 files", "good.asl.json: valid")
	}
	folder := validateFolder(t, map[string]string{"good.asl": good})
	wantSaid(t, do(t, "validate", folder), view.ExitSucceeded, "good.asl: valid")
}

// A folder stands for the flows below it, too, but for hidden folders and those of packages. A link
// to a folder is one.
func TestValidateLooksIntoFolders(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, name := range []string{"a", "a/deep", ".hidden", "node_modules"} {
		if err := os.MkdirAll(filepath.Join(folder, name), 0o700); err != nil {
			t.Fatal(err)
		}
		text := "version: v1\ntype: flow\nsteps: [{type: pass, name: A}]\n"
		if err := os.WriteFile(filepath.Join(folder, name, filepath.Base(name)+"-flow.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(folder, link); err != nil {
		t.Skip(err)
	}
	for _, path := range []string{folder, link} {
		want := filepath.Join(path, "a", "a-flow.yaml") + ": valid, 1 step\n" + filepath.Join(path, "a", "deep", "deep-flow.yaml") + ": valid, 1 step\n"
		if got := do(t, "validate", path); got != (result{stdout: want}) {
			t.Errorf("got %+v, want %s", got, want)
		}
	}
}

func TestTextsHaveALimit(t *testing.T) {
	t.Parallel()
	endless := strings.Repeat("a: b\n", bounded.MaxText/5+1)
	long := writeFile(t, "long.yaml", endless)
	for _, args := range [][]string{
		{"validate", "-"}, {"validate", long}, {"validate", filepath.Join(filepath.Dir(long), "waitless.yaml")}, {"run", long},
		{"run", pollingFlow, "--skip-time", "--input", "-"}, {"run", pollingFlow, "--skip-time", "--input", "@" + long},
		{"validate", pollingFlow, "--config", long}, {"test", filepath.Join(filepath.Dir(long), "a.test.yaml")},
	} {
		for _, name := range []string{"waitless.yaml", "a.test.yaml"} {
			if err := os.WriteFile(filepath.Join(filepath.Dir(long), name), []byte(endless), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		wantSaid(t, doWith(t, endless, fixedTime, args...), view.ExitUsage, "it has more than 8 MiB, the limit of a text")
	}
}

func TestValidateReportsMistakesInFilesBesideFlows(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, want string }{
		"waitless.yaml":   {"store: x\nworkrs: 3\n", `waitless.yaml:2:9: setting "workrs" is not known; did you mean "workers"?`},
		"a.test.yaml":     {"tests:\n- naem: x\n", `a.test.yaml:2:3: field "naem" is unknown; did you mean "name"?`},
		"b.test.yaml":     {"flow: none.yaml\ntests: [{}]\n", `b.test.yaml:1:1: the flow `},
		"script.yaml":     {"answers:\n- {stp: A}\n", `script.yaml:2:4: field "stp" is unknown; did you mean "step"?`},
		"c.test.yaml":     {"flow: a.yaml\ntests:\n- answers:\n  - {step: B, output: {}}\n", `c.test.yaml:4:12: the flow has no step "B"`},
		"d.test.yaml":     {"flow: a.yaml\ntests:\n- {}\n- want: {calls: {a: 1}}\n", `d.test.yaml:4:3: want: the flow has no step "a"; did you mean "A"?`},
		"e.test.yaml":     {"flow: a.yaml\ntests:\n- functions: {Ship: {output: {}}}\n", `e.test.yaml:3:3: functions: the flow has neither a function`},
		"././script.yaml": {"answers:\n- {step: a, output: {}}\n", `script.yaml:2:10: the flow has no step "a"; did you mean "A"?`},
		"./waitless.yaml": {"workrs: 3\ntasks:\n  charge: exce:foo\n", `waitless.yaml:3:11: task charge: "exce:foo" is not usable; allowed: exec:COMMAND`},
		"./script.yaml":   {"events:\n- {step: A, event: none.json}\n", `script.yaml:2:20: `},
	} {
		folder := validateFolder(t, map[string]string{"a.yaml": namelessFlow, name: tt.text})
		wantSaid(t, do(t, "validate", filepath.Join(folder, name)), view.ExitUsage, tt.want)
		wantSaid(t, do(t, "validate", folder), view.ExitUsage, tt.want, "not valid: 1 of 2 files", "a.yaml: valid, 1 step")
	}
	folder := validateFolder(t, map[string]string{"waitless.yaml": namelessFlow})
	wantSaid(t, do(t, "validate", filepath.Join(folder, "waitless.yaml")), view.ExitSucceeded, "waitless.yaml: valid, 1 step")
}

// What a script names may be a step of any flow beside it, or of the setting flows. Without one of
// these, its steps are not known.
func TestValidateAcceptsStepsOfAllFlowsOfAScript(t *testing.T) {
	t.Parallel()
	const script = "answers: [{step: Other, output: {}}]\n"
	other := writeFile(t, "other.yaml", "version: v1\ntype: flow\nsteps: [{type: succeed, name: Other}]\n")
	settings := "flows: {other: " + other + "}\n"
	for _, tt := range []struct {
		files map[string]string
		exit  int
	}{
		{map[string]string{}, view.ExitSucceeded},
		{map[string]string{"a.yaml": namelessFlow}, view.ExitUsage},
		{map[string]string{"a.yaml": namelessFlow, "waitless.yaml": settings}, view.ExitSucceeded},
		{map[string]string{"a.yaml": namelessFlow, "b.yaml": "version: v1\ntype: flow\nsteps: [{type: succeed, name: '${NAME}'}]\n"}, view.ExitSucceeded},
		{map[string]string{"a.yaml": namelessFlow, "b.yaml": "version: v1\ntype: flow\nsteps: []\n"}, view.ExitSucceeded},
	} {
		tt.files["script.yaml"] = script
		folder := validateFolder(t, tt.files)
		args := []string{"validate", filepath.Join(folder, "script.yaml")}
		if tt.files["waitless.yaml"] != "" {
			args = append(args, "--config", filepath.Join(folder, "waitless.yaml"))
		}
		if tt.files["b.yaml"] != "" {
			args = append(args, filepath.Join(folder, "a.yaml"), filepath.Join(folder, "b.yaml"), "--var", "NAME=Other")
		}
		if got := do(t, args...); strings.Contains(got.stdout, "script.yaml: valid") != (tt.exit == view.ExitSucceeded) {
			t.Errorf("%v: got %+v", tt.files, got)
		}
	}
}

// Mistakes in the file with settings hide no others.
func TestValidateReportsAllProblemsBesideThoseOfSettings(t *testing.T) {
	t.Parallel()
	folder := validateFolder(t, map[string]string{"a.yaml": strings.Replace(namelessFlow, "succeed", "wat", 1), "waitless.yaml": "workrs: 3\n"})
	flow, settings, none := filepath.Join(folder, "a.yaml"), filepath.Join(folder, "waitless.yaml"), filepath.Join(folder, "none")
	const ofSettings, ofFlow = `waitless.yaml:1:9: setting "workrs" is not known`, "a.yaml:3:16: "
	for _, tt := range []struct{ args, want []string }{
		{[]string{flow}, []string{ofSettings, ofFlow, "not valid: 2 of 2 files"}},
		{[]string{folder}, []string{ofSettings, ofFlow, "not valid: 2 of 2 files"}},
		{[]string{none}, []string{ofSettings, none + ":1:1: no such file or directory"}},
		{[]string{flow, "--json"}, []string{`"file": "` + settings, `"file": "` + flow}},
		{[]string{flow, "--var", "NAME=x"}, []string{ofSettings, ofFlow}},
	} {
		args := append([]string{"validate", "--config", settings}, tt.args...)
		got := do(t, args...)
		wantSaid(t, got, view.ExitUsage, tt.want...)
		if strings.Count(got.stdout+got.stderr, "workrs") > 1+strings.Count(got.stdout, `"valid"`) {
			t.Errorf("%q: the settings are reported twice: %+v", args, got)
		}
	}
	wantSaid(t, do(t, "run", flow, "--config", settings), view.ExitUsage, "waitless.yaml has 1 problem")
}

func TestValidateWarnsOfTwoFilesWithOneFlow(t *testing.T) {
	t.Parallel()
	folder := validateFolder(t, map[string]string{"ship.yaml": namelessFlow, "ship.flow.yml": namelessFlow, "b.yaml": namelessFlow + "name: ship\n"})
	in := func(name string) string { return filepath.Join(folder, name) }
	const warning = `:1:1: warning: flow ship is also in `
	wantSaid(t, do(t, "validate", in("ship.yaml"), in("ship.flow.yml")), view.ExitSucceeded,
		in("ship.flow.yml")+warning+in("ship.yaml")+"; give one of them another name\n")
	wantSaid(t, do(t, "validate", folder), view.ExitSucceeded, in("ship.flow.yml")+warning+in("b.yaml"), in("ship.yaml")+warning+in("b.yaml"))
	for _, args := range [][]string{{in("ship.yaml"), in("ship.yaml")}, {in("ship.yaml"), "-"}} {
		if got := doWith(t, namelessFlow+"name: ship\n", nil, append([]string{"validate"}, args...)...); strings.Contains(got.stderr, "is also in") {
			t.Errorf("%q: got %+v", args, got)
		}
	}
}

func TestValidateReadsStandardInput(t *testing.T) {
	t.Parallel()
	flow := "version: v1\ntype: flow\nsteps: [{type: succeed, name: A}]\n"
	if got, want := doWith(t, flow, nil, "validate", "-"), (result{stdout: "<stdin>: valid, 1 step\n"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	got := doWith(t, flow+"end: true\n", nil, "validate", "-", pollingFlow, "--format", "github")
	if got.exit != view.ExitUsage || !strings.HasPrefix(got.stdout, "::error file=<stdin>,line=4,col=1::field \"end\" is unknown in a flow") {
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

const namelessFlow = "version: v1\ntype: flow\nsteps: [{type: succeed, name: A}]\n"

func TestRunNamesFlowsByTheirFiles(t *testing.T) {
	t.Parallel()
	for file, name := range map[string]string{
		"trip.flow.yml": "trip", "trip.yaml": "trip", "1.yaml": "_1", "flow.v2.yaml": "flow-v2", "my flow.json": "my-flow", "flow.flow.yaml": "",
	} {
		path := writeFile(t, file, namelessFlow)
		if name == "" {
			name = filepath.Base(filepath.Dir(path))
			name = "_" + strings.TrimPrefix(name, "_") // the name of a temporary folder is a number
		}
		wantSaid(t, do(t, "run", path, "--skip-time"), view.ExitSucceeded, " "+name+"/run-")
		if got := do(t, "validate", path); got.exit != view.ExitSucceeded || got.stderr != "" {
			t.Errorf("%s: got %+v", file, got)
		}
	}
}

func TestRunRejectsFileNamesWithoutLetters(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"流程.yaml", ".flow.yml", strings.Repeat("n", flow.MaxName+1) + ".yaml"} {
		file := writeFile(t, name, namelessFlow)
		for _, command := range [][]string{{"run", file}, {"flows", "put", file}, {"start", file}} {
			wantSaid(t, do(t, command...), view.ExitUsage, "the flow has no name", "add a line like this to the flow: name: ")
		}
		wantSaid(t, do(t, "validate", file), view.ExitSucceeded, ":1:1: warning: the flow has no name", "add a line like this to the flow: name: ")
		if got := do(t, "run", writeFile(t, name, namelessFlow+"name: n\n"), "--skip-time"); got.exit != view.ExitSucceeded {
			t.Errorf("%s with a name: got %+v", name, got)
		}
	}
}

// Two files must not become one flow.
func TestRunRejectsFilesOfOneName(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "a.b.yaml", namelessFlow)
	other := filepath.Join(filepath.Dir(file), "a-b.yaml")
	for text, exit := range map[string]int{namelessFlow: view.ExitUsage, namelessFlow + "name: other\n": view.ExitSucceeded, "flows: {}\n": view.ExitSucceeded} {
		if err := os.WriteFile(other, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := do(t, "run", file, "--skip-time")
		if exit == view.ExitUsage {
			wantSaid(t, got, exit, `the flow has no name, and its file gives it the name "a-b" of the flow in a-b.yaml`, "name: NAME")
		} else if got.exit != exit {
			t.Errorf("%q beside it: got %+v", text, got)
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

// What a service would reject is rejected before: by validate and run at its place, and by the
// start of a simulated job whose params are known only then.
func TestParamsOfJobsAreChecked(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "flow.yaml", "version: v1\ntype: flow\nname: n\nsteps:\n  - type: task\n    name: Work\n    action: batch:SubmitJob\n    pattern: sync\n"+
		"    serviceParams: {jobName: a, jobQueue: b, jobDefinition: c, timeout: {attemptDurationSecond: 5}}\n")
	const want = `:9:74: serviceParams.timeout has "attemptDurationSecond", which batch:SubmitJob does not have; did you mean "attemptDurationSeconds"?`
	for _, args := range [][]string{{"validate", file}, {"run", file, "--skip-time", "--task", "batch:SubmitJob=simulated"}} {
		if got := do(t, args...); got.exit != view.ExitUsage || !strings.Contains(got.stderr, want) {
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
		if got.exit != view.ExitFailed || !strings.Contains(got.stderr+got.stdout, want) {
			t.Errorf("%s: %+v", params, got)
		}
	}
}
