package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/internal/cli/view"
)

// subflowFolder has a flow ask, which waits for a callback, and flows that start it.
func subflowFolder(t *testing.T) (file func(name string) string, sub string) {
	t.Helper()
	const head, start = "version: v1\ntype: flow\nname: ", "{type: task, name: Sub, resourceArn: acs:fnf:::flow/ask"
	folder := t.TempDir()
	file = func(name string) string { return filepath.Join(folder, name+".yaml") }
	for name, steps := range map[string]string{
		"ask":   "{type: task, name: Ask, resourceArn: acs:fc:::services/s/functions/echo, pattern: waitForCallback}",
		"other": "{type: task, name: Ask, resourceArn: acs:fc:::services/s/functions/unknown}",
		"waits": start + ", pattern: sync}",
		"legs": "{type: parallel, name: Legs, branches: [{steps: [" + start + ", pattern: sync}]}," +
			" {steps: [{type: wait, name: W, duration: 600}]}]}",
		"hurries": start + ", pattern: sync, timeoutSeconds: 1}",
		"starts":  start + "}",
		"retries": "{type: task, name: Sub, resourceArn: acs:fnf:::flow/broken, pattern: sync, serviceParams: {ExecutionName: $.name}," +
			" retry: [{errors: [NoMoney], intervalSeconds: 1, maxAttempts: 1}]}",
		"any":    "{type: task, name: Any, action: 'fnf:StartExecution', pattern: sync, serviceParams: {FlowName: $.flow, Input: {}}}",
		"outer":  "{type: task, name: Outer, resourceArn: acs:fnf:::flow/waits, pattern: sync}",
		"broken": "{type: fail, name: F, error: NoMoney, cause: the account is empty}",
		"fails": "{type: parallel, name: Both, branches: [{steps: [" + start + ", pattern: sync}]}," +
			" {steps: [{type: wait, name: W, duration: 1}, {type: fail, name: F, error: Boom}]}]}",
	} {
		if err := os.WriteFile(file(name), []byte(head+name+"\nsteps: ["+steps+"]\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return file, "ask=" + file("ask")
}

// wantSaid fails the test unless a run left with the exit code and a text.
func wantSaid(t *testing.T, got result, exit int, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if got.exit != exit || !strings.Contains(got.stdout+got.stderr, text) {
			t.Errorf("exit %d, want %d with %q:\n%s%s", got.exit, exit, text, got.stdout, got.stderr)
		}
	}
}

func TestRunStopsTheSubflowsOfAFailedParent(t *testing.T) {
	t.Parallel()
	file, sub := subflowFolder(t)
	env := inStore(t)
	wantSaid(t, doWith(t, "", env, "run", file("fails"), "--subflow", sub), view.ExitFailed, "failed with Boom")
	got := doWith(t, "", env, "list", "--flow", "ask")
	wantSaid(t, got, view.ExitSucceeded, "  Stopped  ")
}

func TestRunSaysWhichSubflowAsksAndFails(t *testing.T) {
	t.Parallel()
	file, sub := subflowFolder(t)
	env := inStore(t)
	run := runInBackground(t, env, file("waits"), "--subflow", sub, "--name", "one")
	place := run.awaits(`waitless tokens succeed '(ask/one-[0-9a-f]{32})/Ask' --output`)
	wantSaid(t, doWith(t, "", env, "tokens", "fail", place, "--error", "Nope", "--cause", "no money"), view.ExitSucceeded, "failed with Nope")
	run.awaits("waitless: waits/one: failed with Nope in step Sub; that is the error of sub-flow " + place + "\ntry: waitless history " + place)
	if code := run.wait(); code != view.ExitFailed {
		t.Errorf("exit %d", code)
	}
}

// An execution without a token of its own names the sub-flow that it waits for, and the command for
// that.
func TestTokensOfASubflow(t *testing.T) {
	t.Parallel()
	file, sub := subflowFolder(t)
	env := inStore(t)
	for _, flow := range []string{"waits", "legs"} {
		run := runInBackground(t, env, file(flow), "--subflow", sub, "--name", "one")
		place := run.awaits(`waitless tokens succeed '(ask/one-[0-9a-f]{32})/Ask' --output`)
		waits := map[string]string{
			"waits": "Sub waits for sub-flow " + place, "legs": "Legs waits for its branches or iterations: ",
		}[flow]
		for _, command := range []string{"url", "show"} {
			got := doWith(t, "", env, "tokens", command, flow+"/one")
			wantSaid(t, got, view.ExitUsage, flow+"/one waits for no callback: "+waits, "for sub-flow "+place, "try: waitless tokens "+command+" "+place+"\n")
		}
		got := doWith(t, "", env, "tokens", "succeed", flow+"/one")
		wantSaid(t, got, view.ExitUsage, "name an execution that it waits for: "+place, "try: waitless tokens succeed "+place+"\n")
		if strings.Contains(got.stderr, "(lanes)") {
			t.Errorf("an inner word: %s", got.stderr)
		}
		wantSaid(t, doWith(t, "", env, "tokens", "list", flow+"/one"), 0, place)
		wantSaid(t, doWith(t, "", env, "show", flow+"/one"), 0, "below     "+place+"/Ask waits for a callback.")
		wantSaid(t, doWith(t, "", env, "show", place), 0, "parent    "+flow+"/one")
		doWith(t, "", env, "tokens", "succeed", place)
		doWith(t, "", env, "stop", flow+"/one")
		run.wait()
	}
}

func TestRunNamesTheSubflowsThatItLeaves(t *testing.T) {
	t.Parallel()
	file, sub := subflowFolder(t)
	got := do(t, "run", file("starts"), "--subflow", sub, "--name", "one")
	wantSaid(t, got, view.ExitSucceeded, "sub-flow ask/one-", " has not ended; start a worker, which continues it: waitless dev")
}

// A flow that starts itself has no end, but the execution that the user started has.
func TestRunInVirtualTimeLeavesSubflowsWithoutAnEnd(t *testing.T) {
	t.Parallel()
	const text = "version: v1\ntype: flow\nsteps:\n- {type: wait, name: Pause, duration: 1}\n" +
		"- {type: task, name: Again, resourceArn: acs:fnf:::flow/again}\n"
	file := filepath.Join(t.TempDir(), "again.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	wantSaid(t, do(t, "run", file, "--skip-time", "--name", "one"), view.ExitSucceeded, "again/one succeeded", `"FlowName":"again"`,
		"again/one ended, and 1000 sub-flows began after that: the others are left out; a flow may start itself without an end\n")
}

func TestRunInVirtualTimeKnowsStoredSubflows(t *testing.T) {
	t.Parallel()
	file, _ := subflowFolder(t)
	env := inStore(t)
	wantSaid(t, doWith(t, "", env, "flows", "put", file("other")), view.ExitSucceeded, "other")
	wantSaid(t, doWith(t, "", env, "run", file("starts"), "--skip-time"), view.ExitUsage, `step Sub starts flow "ask", which is not stored`)
	wantSaid(t, doWith(t, "", env, "flows", "put", file("ask")), view.ExitSucceeded, "ask")
	wantSaid(t, doWith(t, "", env, "run", file("waits"), "--skip-time"), view.ExitWaiting, "step Sub waits for sub-flow ask/")
	if got := doWith(t, "", env, "list"); got.stdout != "" {
		t.Errorf("the store has %s", got.stdout)
	}
}

// The hint is an option of the command that was given: the user did not name the file of the
// sub-flow as a flow.
func TestRunnerOfASubflowIsMissing(t *testing.T) {
	t.Parallel()
	file, _ := subflowFolder(t)
	env := inStore(t)
	const unknown, try = `no runner for function "unknown"`, "\ntry: the same command with --task unknown=exec:COMMAND\n"
	got := doWith(t, "", env, "run", file("starts"), "--subflow", "ask="+file("other"))
	wantSaid(t, got, view.ExitUsage, unknown, "1 function of sub-flow ask without a runner"+try)
	text, err := os.ReadFile(file("other"))
	if err == nil {
		err = os.WriteFile(file("ask"), []byte(strings.Replace(string(text), "name: other", "name: ask", 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	wantSaid(t, doWith(t, "", env, "flows", "put", file("ask")), view.ExitSucceeded, "ask")
	wantSaid(t, doWith(t, "", env, "run", file("starts")), view.ExitUsage, "sub-flow ask: step Ask: "+unknown, "sub-flows cannot run here"+try)
}

// The second attempt fails because the first one gave the execution its name. Its cause says why
// that one failed.
func TestRetryOfASubflowWithANameSaysWhyItFailed(t *testing.T) {
	t.Parallel()
	file, _ := subflowFolder(t)
	got := do(t, "run", file("retries"), "--subflow", "broken="+file("broken"), "--skip-time", "--input", `{"name":"one"}`)
	wantSaid(t, got, view.ExitFailed, "fnf.ExecutionAlreadyExists", "did not start it (Failed)",
		"that is the error of sub-flow broken/one")
}

// Each attempt then starts an execution of its own.
func TestSubflowWithAMissingNameStarts(t *testing.T) {
	t.Parallel()
	file, _ := subflowFolder(t)
	got := do(t, "run", file("retries"), "--subflow", "broken="+file("broken"), "--skip-time")
	wantSaid(t, got, view.ExitFailed, "failed with NoMoney",
		"warning: step Sub: source $.name of serviceParams is missing, so the target ExecutionName is left out")
}

// A step that takes the name of its sub-flow from a path may start any flow that is given.
func TestRunStartsSubflowsOfNamesFromPaths(t *testing.T) {
	t.Parallel()
	file, _ := subflowFolder(t)
	run := func(flow string, args ...string) result {
		return do(t, append([]string{"run", file("any"), "--skip-time", "--input", `{"flow":"` + flow + `"}`}, args...)...)
	}
	broken, waits := "broken="+file("broken"), "waits="+file("waits")
	wantSaid(t, run("broken", "--subflow", broken, "--subflow", waits, "--subflow", "ask="+file("ask")), view.ExitFailed, "NoMoney: the account is empty")
	settings := writeIn(t, filepath.Dir(file("ask")), "waitless.yaml", "flows: {broken: broken.yaml, ask: ask.yaml}\n")
	wantSaid(t, run("broken", "--config", settings), view.ExitFailed, "NoMoney: the account is empty")
	wantSaid(t, run("none", "--subflow", broken), view.ExitFailed,
		`Flow 'none' does not exist; put it with "waitless flows put" before the step runs, or give it to the run: --subflow none=FILE`)
}

func TestSubflowEndsWithTheReasonOfTheStop(t *testing.T) {
	t.Parallel()
	file, sub := subflowFolder(t)
	env := inStore(t)
	run := runInBackground(t, env, file("waits"), "--subflow", sub, "--name", "one")
	run.awaits("waitless tokens succeed")
	wantSaid(t, doWith(t, "", env, "stop", "waits/one", "--error", "Holiday", "--cause", "until Monday"), view.ExitSucceeded, "is being stopped")
	if code := run.wait(); code != view.ExitFailed {
		t.Errorf("exit %d", code)
	}
	wantSaid(t, doWith(t, "", env, "list", "--flow", "ask"), view.ExitSucceeded, "before the task ended: Holiday: until Monday")
}

func TestDevStoresTheFlowsOfTheSettings(t *testing.T) {
	t.Parallel()
	file, _ := subflowFolder(t)
	env := inStore(t)
	settings := filepath.Join(filepath.Dir(file("ask")), "waitless.yaml")
	if err := os.WriteFile(settings, []byte("flows:\n  ask: ask.yaml\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	dev := startDev(t, program(t), env, "--config", settings)
	if got := dev.do("flows", "list"); !strings.HasPrefix(got, "ask  ") {
		t.Errorf("flows: %s", got)
	}
}

func TestRunNamesAnswersThatNoStepUsed(t *testing.T) {
	t.Parallel()
	file, sub := subflowFolder(t)
	script := filepath.Join(filepath.Dir(file("ask")), "script.yaml")
	if err := os.WriteFile(script, []byte("answers:\n- {step: Ask, output: {}}\n- {step: 'Ask[9]', output: {}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := do(t, "run", file("waits"), "--subflow", sub, "--skip-time")
	wantSaid(t, got, view.ExitSucceeded, "no step used these of "+script+": answer 2, of step Ask[9]\n")
}

// The name of a sub-flow is as long at every depth.
func TestNamesOfSubflowsDoNotGrowWithTheDepth(t *testing.T) {
	t.Parallel()
	file, sub := subflowFolder(t)
	got := do(t, "run", file("outer"), "--subflow", "waits="+file("waits"), "--subflow", sub, "--skip-time", "--name", "one")
	if name := regexp.MustCompile(`  ask/one-[0-9a-f]{32}  Ask  `); got.exit != view.ExitWaiting || !name.MatchString(got.stderr) {
		t.Errorf("%+v", got)
	}
}

// A step that ends before its sub-flow does not fail with the error of the sub-flow.
func TestRunDoesNotBlameTheSubflowOfAStepThatTimedOut(t *testing.T) {
	t.Parallel()
	file, sub := subflowFolder(t)
	got := do(t, "run", file("hurries"), "--subflow", sub)
	wantSaid(t, got, view.ExitFailed, "failed with FnF.TaskTimeout in step Sub")
	if strings.Contains(got.stderr, "that is the error of sub-flow") {
		t.Errorf("%s", got.stderr)
	}
}
