package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/internal/cli/target"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/internal/compose"
	"github.com/waitless/waitless/pkg/machine"
)

// loseValues deletes the files of large values of a store.
func loseValues(t *testing.T, store string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(store, "values", "*", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no files of large values: %v", err)
	}
	for _, file := range files {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
}

// largeInput is a file with an input that items do not hold.
func largeInput(t *testing.T) string {
	t.Helper()
	return "@" + writeFile(t, "input.json", `{"text":"`+strings.Repeat("x", 300<<10)+`"}`)
}

// awaitWorker returns when a process holds the store.
func awaitWorker(t *testing.T, env map[string]string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	opener := target.Opener{Stores: compose.Stores{}}
	for {
		_, held, err := opener.Held(ctx, env["WAITLESS_STORE"])
		if held != nil && err == nil {
			return
		}
		if engine.Sleep(ctx, 10*time.Millisecond) != nil {
			t.Fatalf("no process holds the store: %v", err)
		}
	}
}

// An execution whose large input was deleted is listed and shown with its status and the reason,
// and can be stopped. The others are not affected.
func TestAnExecutionWithoutItsLargeInputHarmsNoOther(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	env[dataLimitVariable] = "1048576"
	for name, input := range map[string]string{"large": largeInput(t), "small": "{}"} {
		run := runInBackground(t, env, callbackFlow, "--name", name, "--input", input)
		run.awaits(`tokens succeed (\S+) --output`)
		run.stop()
		if code := run.wait(); code != view.ExitInterrupted {
			t.Fatalf("exit %d", code)
		}
	}
	loseValues(t, env["WAITLESS_STORE"])
	shows := func() {
		t.Helper()
		list := doWith(t, "", env, "list")
		if list.exit != view.ExitSucceeded || strings.Count(list.stdout, " Running ") != 2 {
			t.Errorf("list: %+v", list)
		}
		for _, args := range [][]string{{"show", "callback/large"}, {"show", "callback/large", "--json"}, {"list", "--json"}, {"history", "callback/large"}} {
			wantSaid(t, doWith(t, "", env, args...), view.ExitSucceeded, "left out: read large value ", "it is missing")
		}
		wantSaid(t, doWith(t, "", env, "show", "callback/large"), view.ExitSucceeded, "Running")
		conforms(t, "execution", doWith(t, "", env, "show", "callback/large", "--json").stdout)
		list = doWith(t, "", env, "list", "--json")
		conforms(t, "executions", list.stdout)
		if n := strings.Count(list.stdout, `"leftOut": [`); n != 1 {
			t.Errorf("%d executions tell what is left out:\n%s", n, list.stdout)
		}
	}
	rejects := func(command string) {
		t.Helper()
		wantSaid(t, doWith(t, "", env, command, "callback/large"), view.ExitUsage,
			command+" callback/large: execution callback/large cannot be repeated: read large value ", "it is missing; restore it",
			"try: waitless start --flow callback --input @FILE\n")
	}
	rejects("rerun")
	shows()
	wantSaid(t, doWith(t, "", env, "run", "testdata/flows/pass.yaml", "--name", "alone"), view.ExitSucceeded, "")
	inBackground(t, env, "dev", "--listen", "127.0.0.1:0")
	awaitWorker(t, env)
	shows()
	wantSaid(t, doWith(t, "", env, "run", "testdata/flows/pass.yaml", "--name", "beside"), view.ExitSucceeded, "")
	wantSaid(t, doWith(t, "", env, "tokens", "succeed", "callback/small", "--output", `{"status":"ok"}`), view.ExitSucceeded, "")
	wantSaid(t, doWith(t, "", env, "run", callbackFlow, "--name", "small"), view.ExitSucceeded, `"s":"ok"`)
	wantSaid(t, doWith(t, "", env, "stop", "callback/large"), view.ExitSucceeded, "is being stopped")
	wantSaid(t, doWith(t, "", env, "run", "--flow", "callback", "--name", "large"), view.ExitFailed, "was stopped")
	rejects("redrive")
}

// A step whose large input was deleted fails after some tries, and the worker goes on.
func TestAStepWithoutItsLargeInputFails(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	env[dataLimitVariable] = "1048576"
	flow := writeFile(t, "work.yaml", `version: v1
type: flow
steps:
  - type: task
    name: Work
    resourceArn: acs:fc:::services/demo/functions/Work
    timeoutSeconds: 600
    inputMappings: [{target: text, source: $input.text}]
`)
	wantSaid(t, doWith(t, "", env, "start", flow, "--name", "one", "--input", largeInput(t)), view.ExitSucceeded, string(machine.StatusStarting))
	loseValues(t, env["WAITLESS_STORE"])
	wantSaid(t, doWith(t, "", env, "list"), view.ExitSucceeded, "Starting")
	begun := time.Now()
	now := func() time.Time { return begun.Add(20 * time.Since(begun)) } // tries come a second after another
	inBackgroundAt(t, now, env, "dev", "--listen", "127.0.0.1:0", "--task", "Work=exec:cat")
	awaitWorker(t, env)
	wantSaid(t, doWith(t, "", env, "run", "testdata/flows/pass.yaml", "--name", "beside"), view.ExitSucceeded, "")
	wantSaid(t, doWith(t, "", env, "run", "--flow", "work", "--name", "one"), view.ExitFailed, machine.ErrorInternal, "it is missing")
	wantSaid(t, doWith(t, "", env, "run", flow, "--name", "two", "--input", `{"text":"x"}`), view.ExitSucceeded, "")
	wantSaid(t, doWith(t, "", env, "list"), view.ExitSucceeded, "Failed")
}
