package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/local/disk"
)

const (
	largeTasks = 60
	largeSize  = 5 << 10
)

// largeFlow is a file with a flow of many tasks, which pass on a large input
// and bring a large answer, and of a long wait then.
func largeFlow(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	text.WriteString("version: v1\ntype: flow\nsteps:\n")
	for i := range largeTasks {
		_, _ = fmt.Fprintf(&text, `  - type: task
    name: Work%d
    resourceArn: acs:fc:::services/demo/functions/Work
    inputMappings:
      - target: big
        source: $input.big
      - target: before
        source: $input.answer
    outputMappings:
      - target: big
        source: $input.big
      - target: answer
        source: $local.answer
`, i)
	}
	text.WriteString("  - type: wait\n    name: Hour\n    duration: 3600\n")
	return writeFile(t, "large.yaml", text.String())
}

func writeFile(tb testing.TB, name, text string) string {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return file
}

// Large values are held by reference from the second log item on; nothing that
// shows them may ask for what is not there.
func TestLargeValuesAreShownWhole(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	big, answer := strings.Repeat("i", largeSize), strings.Repeat("a", largeSize)
	input := `{"big":"` + big + `"}`
	args := []string{largeFlow(t), "--name", "one", "--task", "Work=exec:cat " + writeFile(t, "answer.json", `{"answer":"`+answer+`"}`)}
	run := runInBackground(t, env, append(args, "--input", input)...)
	run.awaits("Hour waits until")
	showsLarge(t, env, big, answer)
	run.stop()
	if code := run.wait(); code != view.ExitInterrupted {
		t.Errorf("exit %d", code)
	}
	showsLarge(t, env, big, answer) // without a worker
	again := runInBackground(t, env, args...)
	again.awaits("Hour waits until")
	if got := doWith(t, "", env, "stop", "large/one", "--error", "Operator"); got.exit != view.ExitSucceeded {
		t.Errorf("stop: %+v", got)
	}
	if code := again.wait(); code != view.ExitFailed {
		t.Errorf("exit %d", code)
	}
	showsLarge(t, env, big, answer)
	wantItems(t, env["WAITLESS_STORE"], 100)
}

// showsLarge: what lists does not fail, and history and show have the values.
func showsLarge(t *testing.T, env map[string]string, big, answer string) {
	t.Helper()
	for _, tt := range []struct {
		args         []string
		bigs, answer int // how often they are there
	}{
		{[]string{"list"}, 0, 0},
		{[]string{"list", "--json"}, 1, 0},
		{[]string{"show", "large/one"}, 1, 0},
		{[]string{"show", "large/one", "--json"}, 1, 0},
		{[]string{"history", "large/one"}, 3 * largeTasks, 2 * largeTasks},
		{[]string{"history", "large/one", "--json"}, 3 * largeTasks, 2 * largeTasks},
	} {
		got := doWith(t, "", env, tt.args...)
		bigs, answers := strings.Count(got.stdout, big), strings.Count(got.stdout, answer)
		if got.exit != view.ExitSucceeded || bigs < tt.bigs || answers < tt.answer {
			t.Errorf("%v: exit %d, %s; the input is there %d times, the answer %d times", tt.args, got.exit, got.stderr, bigs, answers)
		}
	}
}

// wantItems: the log is as long as the test needs it.
func wantItems(t *testing.T, dir string, n uint64) {
	t.Helper()
	store, err := disk.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if latest, err := store.Latest(t.Context(), engine.NewID("large", "one")); err != nil || latest.Seq < n {
		t.Errorf("the latest item is %d, error %v; want %d at least", latest.Seq, err, n)
	}
	if err := store.Shut(); err != nil {
		t.Error(err)
	}
}

// The list of a foreach counts as $local and in the output that is mapped from it.
func TestOutputsOf10000IterationsNeedAHigherLimit(t *testing.T) {
	t.Parallel()
	const iterations = 10_000
	flow := writeFile(t, "each.yaml", `version: v1
type: flow
steps:
  - type: foreach
    name: Each
    iterationMapping: {collection: $.list, item: item}
    outputMappings: [{target: results, source: $local}]
    steps:
      - type: pass
        name: Keep
        inputMappings: [{target: item, source: $input.item}]
        outputMappings: [{target: kept, source: $input.item}]
outputMappings: [{target: results, source: $local.results}]
`)
	list := make([]string, iterations)
	for i := range list {
		list[i] = fmt.Sprintf(`"item %05d %s"`, i, strings.Repeat("x", 80))
	}
	input := writeFile(t, "input.json", `{"list":[`+strings.Join(list, ",")+`]}`)
	for limit, want := range map[string]string{
		"":        "the limit is 32768; pass on only what later steps need, and store large data elsewhere, or set WAITLESS_DATA_LIMIT, up to 6291456",
		"6291456": "",
	} {
		env := map[string]string{"WAITLESS_NOW": start, dataLimitVariable: limit, "WAITLESS_STORE": filepath.Join(t.TempDir(), "store")}
		got := doWith(t, "", env, "run", flow, "--name", "one", "--input", "@"+input, "--json")
		if failed := got.exit == view.ExitFailed; failed != (want != "") || !strings.Contains(got.stdout, want) {
			t.Errorf("limit %q: exit %d, %.500s %.500s", limit, got.exit, got.stdout, got.stderr)
		}
		var run struct {
			Output struct{ Results []struct{ Kept string } }
		}
		if err := json.Unmarshal([]byte(got.stdout), &run); want == "" && (err != nil || len(run.Output.Results) != iterations) {
			t.Errorf("%d outputs are there, error %v", len(run.Output.Results), err)
		}
	}
}
