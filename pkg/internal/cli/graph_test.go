package cli

import (
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/internal/cli/view"
)

func TestGraphOfAFile(t *testing.T) {
	t.Parallel()
	const file = "../../../events/polling/flow.yaml"
	for format, want := range map[string]string{
		"text": "▼", "svg": `<svg xmlns="http://www.w3.org/2000/svg"`, "mermaid": "flowchart TD\n",
	} {
		got := do(t, "graph", file, "--format", format)
		if got.exit != view.ExitSucceeded || !strings.Contains(got.stdout, want) || strings.Contains(got.stdout, "\x1b") || got.stderr != "" {
			t.Errorf("%s: %+v", format, got)
		}
	}
	for _, tt := range []struct{ args, want string }{
		{"graph " + file + " --format svgg", `did you mean "svg"?`},
		{"graph testdata/flows/six-mistakes.yaml", "testdata/flows/six-mistakes.yaml:6:18"},
		{"graph nowhere.yaml", "nowhere.yaml"},
	} {
		if got := do(t, strings.Fields(tt.args)...); got.exit != view.ExitUsage || !strings.Contains(got.stderr, tt.want) {
			t.Errorf("%s: %+v", tt.args, got)
		}
	}
}

func TestGraphOfAnExecution(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	if got := doWith(t, "", env, "run", "testdata/flows/pass.yaml", "--name", "a"); got.exit != view.ExitSucceeded {
		t.Fatalf("%+v", got)
	}
	got := doWith(t, "", env, "graph", "pass", "--execution", "a")
	if got.exit != view.ExitSucceeded || !strings.Contains(got.stdout, "✓ ") {
		t.Errorf("%+v", got)
	}
	if shown := doWith(t, "", env, "show", "pass/a", "--graph"); !strings.HasSuffix(shown.stdout, "\n\n"+got.stdout) {
		t.Errorf("show --graph: %s\nwant the graph:\n%s", shown.stdout, got.stdout)
	}
	for _, wrong := range []struct {
		args []string
		want string
	}{
		{[]string{"graph", "flow.yaml", "--execution", "a"}, `"flow.yaml" names no flow`},
		{[]string{"graph", "pass/a"}, "try: waitless graph pass --execution a"},
	} {
		if got := doWith(t, "", env, wrong.args...); got.exit != view.ExitUsage || !strings.Contains(got.stderr, wrong.want) {
			t.Errorf("%v: %+v, want %s", wrong.args, got, wrong.want)
		}
	}
	if got := doWith(t, "", env, "graph", "pass", "--execution", "b"); got.exit != view.ExitUsage || !strings.Contains(got.stderr, `did you mean "pass/a"?`) {
		t.Errorf("%+v", got)
	}
}
