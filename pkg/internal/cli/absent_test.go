package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/local"
)

// absentFlow puts out what is not there.
func absentFlow(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "leaves-out.yaml")
	text := "version: v1\ntype: flow\nsteps:\n" +
		"  - {type: pass, name: Look, outputMappings: [{target: id, source: $input.id}, {target: \"a\\eb\", source: $input.a}]}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestRunWarnsOfMissingSources(t *testing.T) {
	t.Parallel()
	flow, env := absentFlow(t), inStore(t)
	const warning = "warning: step Look: source $input.id of outputMappings is missing, so the target id is left out\n"
	doWith(t, "", env, "start", flow, "--name", "other")
	got := doWith(t, "", env, "run", flow, "--name", "one")
	if got.exit != view.ExitSucceeded || strings.Count(got.stderr, warning) != 1 || strings.Contains(got.stderr, "\x1b") {
		t.Errorf("want one warning of this execution, and no control character: %+v", got)
	}
	if got := doWith(t, "", env, "run", flow, "--name", "two", "--input", `{"id":null,"a":1}`); strings.Contains(got.stderr, "warning") {
		t.Errorf("a warning where nothing is missing: %+v", got)
	}
	if got := doWith(t, "", env, "run", flow, "--name", "three", "--json"); got.exit != view.ExitSucceeded || got.stderr != "" {
		t.Errorf("with --json: %+v", got)
	}
}

func TestDevLogsMissingSources(t *testing.T) {
	t.Parallel()
	d := startDev(t, program(t), inStore(t))
	flow := absentFlow(t)
	for _, name := range []string{"one", "two"} {
		d.do("start", flow, "--name", name)
		d.until(`Succeeded`, "show", "leaves-out/"+name)
	}
	d.interrupt()
	const line = `level=WARN msg="source of a mapping is missing" execution=leaves-out/one mapping="step Look: outputMappings: id <- $input.id"`
	if log := d.stderr.String(); strings.Count(log, line) != 1 || strings.Count(log, "WARN") != 2 {
		t.Errorf("want two lines, one of them %s:\n%s", line, log)
	}
}

// A text is an input of a state machine. It does not stand in place of another value.
func TestTextInputIsNotLeftOut(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	machine := writeFile(t, "m.asl.json", `{"StartAt":"A","States":{"A":{"Type":"Pass","End":true}}}`)
	wantSaid(t, doWith(t, "", env, "run", machine, "--name", "one", "--input", `"hello"`), view.ExitSucceeded, `"hello"`)
	for _, args := range [][]string{{"show", "m/one", "--json"}, {"list", "--json"}} {
		if got := doWith(t, "", env, args...); got.exit != view.ExitSucceeded || !strings.Contains(got.stdout, `"hello"`) || strings.Contains(got.stdout, "leftOut") {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

func TestProblemsOfTheAPIHaveLines(t *testing.T) {
	t.Parallel()
	f := failureOf(&rest.Error{Code: engine.CodeInvalid, Message: "f:1:1: a\nf:2:1: b"})
	if f.Why != "2 problems" || !slices.Equal(f.Lines, []string{"f:1:1: a", "f:2:1: b"}) {
		t.Errorf("%+v", f)
	}
}

func TestMissingRunnersMayBeMisspelt(t *testing.T) {
	t.Parallel()
	missing := func(name string) error {
		return &local.UnknownFunctionError{Function: name, Known: []string{"SubmitJob"}}
	}
	const want = `no runner for SubmitJobFn (did you mean "SubmitJob"?), Other; start waitless dev with --task SubmitJobFn=exec:COMMAND --task Other=exec:COMMAND`
	if got := view.WithoutRunners([]error{missing("SubmitJobFn"), missing("Other")}); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
