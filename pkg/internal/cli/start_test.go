package cli

import (
	"html"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/internal/cli/view"
)

const onePass = "testdata/flows/pass.yaml"

// putTwice stores two definitions of the flow "order" and returns their hashes, the latest last.
func putTwice(t *testing.T, env map[string]string) (hashes [2]string) {
	t.Helper()
	for i, version := range []string{"first", "latest"} {
		file := filepath.Join(t.TempDir(), "order.yaml")
		text := "version: v1\ntype: flow\nsteps:\n  - type: pass\n    name: Only\n    outputMappings:\n      - source: " + version + "\n        target: version\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := doWith(t, "", env, "flows", "put", file)
		if got.exit != view.ExitSucceeded {
			t.Fatalf("%+v", got)
		}
		hashes[i] = strings.Fields(got.stdout)[1]
	}
	return hashes
}

func TestStartAStoredFlow(t *testing.T) {
	t.Parallel()
	hashes := putTwice(t, inStore(t))
	for name, tt := range map[string]struct{ flow, version string }{
		"the latest":     {"order", "latest"},
		"by its hash":    {"order@" + hashes[0], "first"},
		"part of a hash": {"order@" + hashes[1][:8], "latest"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := inStore(t) // of its own: only one run holds a store
			putTwice(t, env)
			want := `{"version":"` + tt.version + "\"}\n"
			execution := strings.ReplaceAll(name, " ", "-")
			if got := doWith(t, "", env, "start", "--flow", tt.flow, "--name", execution); got.exit != view.ExitSucceeded || !strings.Contains(got.stdout, "Starting") {
				t.Errorf("start: %+v", got)
			}
			if got := doWith(t, "", env, "run", "--flow", tt.flow, "--name", execution); got.exit != view.ExitSucceeded || got.stdout != want {
				t.Errorf("run what was started: %+v", got)
			}
			if got := doWith(t, "", env, "run", "--flow", tt.flow, "--skip-time"); got.exit != view.ExitSucceeded || got.stdout != want {
				t.Errorf("run --skip-time: %+v", got)
			}
		})
	}
}

// Starting a stored definition does not make it the latest one.
func TestStartingAStoredFlowStoresNothing(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	hashes := putTwice(t, env)
	before := doWith(t, "", env, "flows", "list", "--json")
	doWith(t, "", env, "start", "--flow", "order@"+hashes[0])
	doWith(t, "", env, "run", "--flow", "order@"+hashes[0])
	if after := doWith(t, "", env, "flows", "list", "--json"); after != before {
		t.Errorf("before: %s\nafter: %s", before.stdout, after.stdout)
	}
}

func TestStartRejectsStoredFlows(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	putTwice(t, env)
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"unknown":       {[]string{"run", "--flow", "none"}, "run: there is no flow \"none\"\ntry: waitless flows list"},
		"misspelt":      {[]string{"start", "--flow", "odrer"}, "start: there is no flow \"odrer\"; did you mean \"order\"?\ntry: waitless flows list"},
		"to show":       {[]string{"flows", "show", "ordr"}, "there is no flow \"ordr\"; did you mean \"order\"?\ntry: waitless flows list"},
		"to delete":     {[]string{"flows", "delete", "ordr"}, "there is no flow \"ordr\"; did you mean \"order\"?\ntry: waitless flows list"},
		"unknown hash":  {[]string{"start", "--flow", "order@ffff"}, "flow order has no definition with the hash ffff\ntry: waitless flows list"},
		"no hash":       {[]string{"start", "--flow", "order@"}, "has no hash after"},
		"no name":       {[]string{"start", "--flow", "or der"}, `"or der" names no flow`},
		"empty":         {[]string{"run", "--flow", ""}, `"" names no flow`},
		"two flows":     {[]string{"run", onePass, "--flow", "order"}, onePass + " and --flow order are two flows"},
		"none":          {[]string{"start"}, "the FLOW is missing"},
		"no such store": {[]string{"run", "--flow", "order", "--store", filepath.Join(t.TempDir(), "none")}, "there is no store in"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := doWith(t, "", env, tt.args...); got.exit != view.ExitUsage || !strings.Contains(got.stderr, tt.want) {
				t.Errorf("exit %d, want %d with %q:\n%s", got.exit, view.ExitUsage, tt.want, got.stderr)
			}
		})
	}
}

// While dev holds the store, run and start --follow show the same as a run that holds it.
func TestRunWhileDevHoldsTheStore(t *testing.T) {
	t.Parallel()
	env, alone := inStore(t), inStore(t)
	startDev(t, program(t), env)
	const refuse, fails = "testdata/flows/refuse.yaml", `{"amount":101}`
	for _, args := range [][]string{
		{"run", onePass, "--name", "a", "--input", `{"n":1}`},
		{"run", onePass, "--name", "a"},
		{"run", "--flow", "pass", "--name", "b"},
		{"run", onePass, "--name", "c", "--json"},
		{"run", refuse, "--name", "d", "--input", fails},
		{"run", onePass, "--name", "a", "--input", `{"n":2}`},
	} {
		wantSame(t, args, doWith(t, "", env, args...), doWith(t, "", alone, args...))
	}
	got := doWith(t, "", env, "start", "--flow", "refuse", "--name", "e", "--input", fails, "--follow")
	if got.exit != view.ExitFailed || !strings.Contains(got.stderr, "refuse/e failed: ") {
		t.Errorf("start --follow: %+v", got)
	}
	got = doWith(t, "", env, "run", "testdata/flows/task.yaml", "--task", "Work=exec:true")
	if want := "`waitless dev` holds the store " + env["WAITLESS_STORE"] + " and runs the tasks, so --task has no effect here"; got.exit != view.ExitUsage ||
		!strings.Contains(got.stderr, want) {
		t.Errorf("run --task: %+v", got)
	}
}

// Names that Step Functions accepts are accepted, found and shown: commands, pages and redrives.
func TestNamesOfExecutions(t *testing.T) {
	t.Parallel()
	d := startDev(t, program(t), inStore(t), callbackFlow)
	browser := newBrowser(t)
	list, _ := browseWith(t, browser, d.says.Console)
	for _, name := range []string{"8f14e45f-ceea-467f-a3b4-19d1e0b0b8c5", "2026.01", "-a", "ä(1)'@b+c=d!", strings.Repeat("ä", flow.MaxName)} {
		d.do("start", callbackFlow, "--name", name)
		d.until("waits for a callback", "show", "callback/"+name)
		if got := d.do("tokens", "list", "callback/"+name); !strings.Contains(got, "callback/"+name) {
			t.Errorf("tokens of %s: %s", name, got)
		}
		address, _ := url.Parse(d.says.Console)
		address.RawQuery = ""
		page, _ := browseWith(t, browser, address.JoinPath("executions", "callback", url.PathEscape(name)).String())
		if !strings.Contains(html.UnescapeString(page), "<title>callback/"+name+" ") {
			t.Errorf("the page of %s after %s is\n%s", name, list, page)
		}
		d.do("stop", "callback/"+name)
		d.until("Stopped", "show", "callback/"+name)
		d.do("redrive", "callback/"+name)
	}
}

// A second start shows the execution that is there, which may have failed.
func TestStartOfAnExistingExecution(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	const refuse, fails = "testdata/flows/refuse.yaml", `{"amount":101}`
	if got := doWith(t, "", env, "run", refuse, "--name", "one", "--input", fails); got.exit != view.ExitFailed {
		t.Fatalf("%+v", got)
	}
	got := doWith(t, "", env, "start", refuse, "--name", "one", "--input", fails)
	if got.exit != view.ExitSucceeded || got.stdout != "refuse/one  exists already: Failed\n" {
		t.Errorf("%+v", got)
	}
}

func TestStartFollowNeedsAWorker(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	got := doWith(t, "", env, "start", onePass, "--follow")
	if got.exit != view.ExitUsage || !strings.Contains(got.stderr, "--follow needs a worker, and none runs on this store\ntry: waitless dev") {
		t.Errorf("%+v", got)
	}
	if got := doWith(t, "", env, "list"); got.stdout != "" {
		t.Errorf("it started %s", got.stdout)
	}
}

func TestRunWhileAnotherRunHoldsTheStore(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	runInBackground(t, env, callbackFlow, "--name", "one").awaits("report the outcome")
	got := doWith(t, "", env, "run", onePass)
	if got.exit != view.ExitUsage || !strings.Contains(got.stderr, "holds the store") || !strings.Contains(got.stderr, "try: waitless start "+onePass) {
		t.Errorf("%+v", got)
	}
}

func TestDevEndsWhileAnExecutionIsFollowed(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	dev := startDev(t, program(t), env)
	run := runInBackground(t, env, callbackFlow, "--name", "one")
	run.awaits("report the outcome")
	dev.kill()
	run.awaits(`the process that held the store ended\ntry: waitless dev, then waitless history callback/one --follow`)
	if code := run.wait(); code != view.ExitInternal {
		t.Errorf("exit %d", code)
	}
}

func TestNewNamesDiffer(t *testing.T) {
	t.Parallel()
	a, b := engine.NewName(), engine.NewName()
	if a == b || !regexp.MustCompile(`^run-[a-z2-7]{16}$`).MatchString(a) {
		t.Errorf("%s, %s", a, b)
	}
}

// A heartbeat for a step that waits for none is accepted: who sends it need not know the flow.
func TestHeartbeatWithoutALimitIsNoted(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ field, want string }{
		"with heartbeatSeconds":    {"    heartbeatSeconds: 3600\n", ""},
		"without heartbeatSeconds": {"", "step Wait of beats/one has no heartbeatSeconds, so heartbeats change nothing\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := inStore(t)
			file := filepath.Join(t.TempDir(), "beats.yaml")
			text := "version: v1\ntype: flow\nsteps:\n  - type: task\n    name: Wait\n    pattern: waitForCallback\n" + tt.field +
				"    resourceArn: acs:fc:::services/demo/functions/echo\n"
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			run := runInBackground(t, env, file, "--name", "one")
			token := run.awaits(`tokens succeed (\S+) --output`)
			for _, named := range []string{token, "beats/one"} {
				got := doWith(t, "", env, "tokens", "heartbeat", named)
				if got.exit != view.ExitSucceeded || !strings.Contains(got.stdout, ", last heartbeat") || got.stderr != tt.want {
					t.Errorf("%s: %+v", named, got)
				}
			}
			if got := doWith(t, "", env, "tokens", "heartbeat", token, "--json"); strings.Contains(got.stdout, `"heartbeatSeconds": 3600`) != (tt.want == "") {
				t.Errorf("%+v", got)
			}
		})
	}
}

// A start that is rejected does not change what start --flow uses.
func TestRejectedStartDoesNotStoreItsFlow(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	first := writeFile(t, "first.yaml", "version: v1\ntype: flow\nname: f\nsteps: [{type: pass, name: A}]\n")
	other := writeFile(t, "other.yaml", "version: v1\ntype: flow\nname: f\nsteps: [{type: pass, name: B}]\n")
	unknown := writeFile(t, "unknown.yaml", "version: v1\ntype: flow\nname: f\n"+
		"steps: [{type: task, name: T, resourceArn: 'acs:fc:::services/s/functions/mytask'}]\n")
	d := startDev(t, program(t), env)
	d.do("start", first, "--name", "one")
	d.until("Succeeded", "show", "f/one")
	wantRejected := func(why string, args ...string) {
		t.Helper()
		if got := doWith(t, "", env, args...); got.exit == view.ExitSucceeded || !strings.Contains(got.stderr, why) {
			t.Errorf("%v: %+v", args, got)
		}
		if got := doWith(t, "", env, "flows", "list"); strings.Count(got.stdout, "\n") != 1 {
			t.Errorf("%v: the list of flows is\n%s", args, got.stdout)
		}
	}
	for _, command := range []string{"start", "run"} {
		wantRejected("exists with another definition or input", command, other, "--name", "one")
	}
	wantRejected("\ntry: waitless dev --task NAME=exec:COMMAND, or tasks in waitless.yaml and waitless dev again\n", "start", unknown)
	d.interrupt()
	for _, command := range []string{"start", "run"} {
		wantRejected("exists with another definition or input", command, other, "--name", "one")
	}
}

// A file's name in place of JSON leads to a hint how to name a file.
func TestInputThatNamesAFile(t *testing.T) {
	t.Parallel()
	there := writeFile(t, "there", "{}")
	for text, want := range map[string]string{"no.json": "--input @no.json", there: "--input @" + there, "nothing": `--input '{"delay":20}'`} {
		if got := do(t, "run", "testdata/flows/pass.yaml", "--input", text); got.exit != view.ExitUsage || !strings.Contains(got.stderr, "try: "+want) {
			t.Errorf("--input %s: %+v", text, got)
		}
	}
}

func TestScriptForAnUnknownStep(t *testing.T) {
	t.Parallel()
	flow := writeFile(t, "flow.yaml", "version: v1\ntype: flow\nname: f\nsteps: [{type: pass, name: Approve}]\n")
	script := "answers:\n  - {step: Aprove, output: {}}\n"
	if err := os.WriteFile(filepath.Join(filepath.Dir(flow), "script.yaml"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	want := `script.yaml:2:12: the flow has no step "Aprove"; did you mean "Approve"?`
	if got := do(t, "run", "--skip-time", flow); got.exit != view.ExitUsage || !strings.Contains(got.stderr, want) {
		t.Errorf("%+v", got)
	}
}
