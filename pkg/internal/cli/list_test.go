package cli

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/machine"
)

// namesIn are the names in what list printed.
func namesIn(stdout string) (names []string) {
	for line := range strings.Lines(stdout) {
		if name, _, _ := strings.Cut(line, " "); strings.Contains(name, "/") {
			names = append(names, name)
		}
	}
	return names
}

func TestListFilters(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	for i := range 3 {
		if got := doWith(t, "", env, "run", "testdata/flows/pass.yaml", "--name", fmt.Sprintf("a%d", i)); got.exit != view.ExitSucceeded {
			t.Fatalf("%+v", got)
		}
	}
	if got := doWith(t, "", env, "start", "testdata/flows/pause.yaml", "--name", "b"); got.exit != view.ExitSucceeded {
		t.Fatalf("%+v", got)
	}
	const more = "these are the latest 2; there are more: --limit 0 lists all\n"
	const none = "no executions\n"
	const idle = "no worker runs on this store; start one: waitless dev\n"
	for _, tt := range []struct{ args, want, note string }{
		{"", "pause/b pass/a2 pass/a1 pass/a0", idle},
		{"--limit 0", "pause/b pass/a2 pass/a1 pass/a0", idle},
		{"--limit 2", "pause/b pass/a2", more + idle},
		{"--limit 4", "pause/b pass/a2 pass/a1 pass/a0", idle},
		{"--limit 2 --flow pass", "pass/a2 pass/a1", more},
		{"--status succeeded", "pass/a2 pass/a1 pass/a0", ""},
		{"--status STARTING,Failed", "pause/b", idle},
		{"--status Failed --status Starting", "pause/b", idle},
		{"--status Failed", "", none},
		{"--flow pass --status Failed", "", none},
		{"--since 1h", "pause/b pass/a2 pass/a1 pass/a0", idle},
		{"--since 2100-01-01", "", none},
		{"--since 2100-01-01T00:00:00Z --limit 1", "", none},
		{"--before 1h", "", none},
		{"--since 1h --before 2100-01-01 --limit 2", "pause/b pass/a2", more + idle},
		{"--prefix a", "pass/a2 pass/a1 pass/a0", ""},
		{"--prefix a1 --flow pass --status Succeeded,Failed", "pass/a1", ""},
		{"--prefix c", "", none},
	} {
		got := doWith(t, "", env, append([]string{"list"}, strings.Fields(tt.args)...)...)
		if names := strings.Join(namesIn(got.stdout), " "); got.exit != view.ExitSucceeded || names != tt.want || got.stderr != tt.note {
			t.Errorf("list %s: %+v", tt.args, got)
		}
		if strings.Contains(tt.args, "--json") {
			continue
		}
		if header := strings.HasPrefix(got.stdout, "EXECUTION  STATUS"); header != (tt.want != "") || header && !strings.Contains(got.stdout, "STARTED (UTC+02:00)") {
			t.Errorf("list %s has no header, or one of nothing: %s", tt.args, got.stdout)
		}
	}
}

// An alert with a mistyped status does not stay silent.
func TestListRejectsUnknownFilters(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	if got := doWith(t, "", env, "run", "testdata/flows/pass.yaml"); got.exit != view.ExitSucceeded {
		t.Fatalf("%+v", got)
	}
	for args, want := range map[string]string{
		"--status Nope":           `unknown status "Nope"; allowed: Starting, Running, Succeeded, Failed, Stopped, TimedOut`,
		"--status failled":        `did you mean "Failed"?`,
		"--status Failed,Suceded": `did you mean "Succeeded"?`,
		"--status=":               "list: --status is empty\ntry: leave --status out, or give it a value\n",
		"--flow=":                 "--flow is empty",
		"--flow pas":              "list: there is no flow \"pas\"; did you mean \"pass\"?\ntry: waitless flows list\n",
		"--flow pas --json":       "list: there is no flow \"pas\"; did you mean \"pass\"?\ntry: waitless flows list\n",
		"--limit -1":              "--limit is -1; allowed: ",
		"--limit x":               `--limit is "x"; allowed: a whole number`,
		"--since yesterday":       `--since is "yesterday"; allowed: `,
		"--since=-1h":             `--since is "-1h"; allowed: `,
		"--before tomorrow":       `--before is "tomorrow"; allowed: `,
		"--since 1h --before 2h":  "no execution starts since 1h and before 2h",
		"--prefix=":               "--prefix is empty",
	} {
		got := doWith(t, "", env, append([]string{"list"}, strings.Fields(args)...)...)
		if got.exit != view.ExitUsage || !strings.Contains(got.stderr, want) {
			t.Errorf("list %s: %+v", args, got)
		}
	}
}

func TestParseInstant(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"":                     {},
		"90m":                  now.Add(-90 * time.Minute),
		"7d":                   now.AddDate(0, 0, -7),
		"2026-03-01T10:00:00Z": time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC),
		"2026-03-01":           time.Date(2026, 3, 1, 0, 0, 0, 0, time.Local),
	} {
		if got, err := parseInstant(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: %s, %v; want %s", text, got, err, want)
		}
	}
}

func TestUnknownExecutionSuggestsASimilarName(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	if got := doWith(t, "", env, "run", "testdata/flows/pass.yaml", "--name", "order-7"); got.exit != view.ExitSucceeded {
		t.Fatalf("%+v", got)
	}
	for name, want := range map[string]string{
		"pass/order-8": `there is no execution pass/order-8; did you mean "pass/order-7"?`,
		"pas/order-7":  `there is no execution pas/order-7; did you mean "pass/order-7"?`,
		"pass/nope":    "there is no execution pass/nope\n",
	} {
		for _, command := range []string{"show", "history", "stop"} {
			if got := doWith(t, "", env, command, name); got.exit != view.ExitUsage || !strings.Contains(got.stderr, want) {
				t.Errorf("%s %s: %+v", command, name, got)
			}
		}
	}
}

// Who reports for an execution needs no token, and a masked one is told to be one.
func TestTokensOfAnExecution(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	text := waitingToken(t, env, "one")
	if got := doWith(t, "", env, "tokens", "succeed", "..."+text[24:30]); got.exit != view.ExitUsage || !strings.Contains(got.stderr, "this token is masked") {
		t.Errorf("masked: %+v", got)
	}
	for _, named := range []string{"callback/one", text} {
		for _, args := range [][]string{{"tokens", "show", named}, {"tokens", "show", named, "--json"}} {
			if got := doWith(t, "", env, args...); got.exit != view.ExitSucceeded || strings.Contains(got.stdout, text) {
				t.Errorf("%v shows the token: %+v", args, got)
			}
		}
		if got := doWith(t, "", env, "tokens", "show", named, "--unmask"); got.exit != view.ExitSucceeded || !strings.Contains(got.stdout, text) {
			t.Errorf("unmasked: %+v", got)
		}
	}
	if got := doWith(t, "", env, "tokens", "show", "callback/one"); !strings.Contains(got.stdout, "is open: step mytask of callback/one waits since") {
		t.Errorf("show: %+v", got)
	}
	if got := doWith(t, "", env, "tokens", "show", "callback/two"); got.exit != view.ExitUsage {
		t.Errorf("show of another: %+v", got)
	}
	if got := doWith(t, "", env, "tokens", "heartbeat", "callback/one"); got.exit != view.ExitSucceeded || !strings.Contains(got.stdout, "is open") {
		t.Errorf("heartbeat: %+v", got)
	}
	got := doWith(t, "", env, "tokens", "succeed", "callback/one", "--output", `{"status":"ok"}`)
	if got.exit != view.ExitSucceeded || strings.Contains(got.stdout, text) || !strings.Contains(got.stdout, `succeeded with {"status":"ok"}`) {
		t.Errorf("succeed: %+v", got)
	}
	if got := doWith(t, "", env, "tokens", "fail", "callback/one"); got.exit != view.ExitFailed ||
		!strings.Contains(got.stderr, "another outcome was recorded before") {
		t.Errorf("fail: %+v", got)
	}
	got = doWith(t, "", env, "tokens", "succeed", "callback/two")
	if got.exit != view.ExitUsage || !strings.Contains(got.stderr, "there is no execution callback/two") {
		t.Errorf("another: %+v", got)
	}
}

// show says how far a parallel is; list does not.
func TestShowSaysHowManyBranchesAreDone(t *testing.T) {
	t.Parallel()
	d := startDev(t, program(t), inStore(t))
	d.do("start", writeFile(t, "branches.yaml", `version: v1
type: flow
name: branches
steps:
  - type: parallel
    name: Both
    branches:
      - steps: [{type: pass, name: Soon}]
      - steps: [{type: wait, name: Later, duration: 1000}]
`), "--name", "one")
	d.until("progress  1 of 2 done, 1 waiting in Later for an instant\n", "show", "branches/one")
	shown := d.do("show", "branches/one", "--json")
	conforms(t, "execution", shown)
	want := `"progress":{"items":2,"done":1,"running":1,"notBegun":0,"waiting":[{"step":"Later","for":"instant","items":1}]}`
	if !strings.Contains(strings.Join(strings.Fields(shown), ""), want) {
		t.Errorf("show --json lacks %s:\n%s", want, shown)
	}
	if list := d.do("list", "--json"); strings.Contains(list, "progress") {
		t.Errorf("list says:\n%s", list)
	}
	d.interrupt()
}

// A failed execution names the step that failed, also inside of branches and iterations that run
// side by side, with the index of each iteration around it.
func TestFailedStepIsNamed(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	bad := "{type: fail, name: Bad, error: E, cause: why}"
	for name, tt := range map[string]struct{ steps, listed, step string }{
		"plain":    {bad, "Bad failed: E: why", "Bad"},
		"choice":   {"{type: choice, name: C, choices: [{condition: $.n > 0, steps: [" + bad + "]}]}", "Bad failed: E: why", "Bad"},
		"foreach":  {"{type: foreach, name: Each, iterationMapping: {collection: $.list, item: i}, steps: [" + bad + "]}", "Bad[0] failed: E: why", "Bad[0]"},
		"parallel": {"{type: parallel, name: Both, branches: [{steps: [" + bad + "]}, {steps: [{type: pass, name: P}]}]}", "Bad failed: E: why", "Bad"},
		"lanes": {
			"{type: foreach, name: Each, iterationMapping: {collection: $.pair, item: i}, steps: [" +
				"{type: choice, name: C, choices: [{condition: $.i == 6, steps: [" + bad + "]}]}]}", "Bad[1] failed: E: why", "Bad[1]",
		},
		"machine": {
			"StartAt: M\nStates:\n  M:\n    Type: Map\n    ItemsPath: $.pair\n    End: true\n    ItemProcessor:\n      StartAt: C\n      States:\n" +
				"        C: {Type: Choice, Choices: [{Variable: $, NumericEquals: 6, Next: Bad}], Default: Good}\n" +
				"        Bad: {Type: Fail, Error: E, Cause: why}\n        Good: {Type: Succeed}", "Bad[1] failed: E: why", "Bad[1]",
		},
		"nested": {
			"{type: foreach, name: Each, iterationMapping: {collection: $.lists, item: list}, steps: [" +
				"{type: foreach, name: In, iterationMapping: {collection: $.list.list, item: i}, steps: [" +
				"{type: choice, name: C, choices: [{condition: $.i == 4, steps: [" + bad + "]}]}]}]}", "Bad[1][1] failed: E: why", "Bad[1][1]",
		},
		"handled": {
			"{type: parallel, name: Both, branches: [{steps: [" + bad + "]}, {steps: [{type: pass, name: P}]}], catch: [{errors: [E], goto: Worse}]}\n" +
				"- {type: fail, name: Worse, error: F, cause: so}", "Worse failed: F: so", "Worse",
		},
		"handled-well": {
			"{type: parallel, name: Both, branches: [{steps: [" + bad + "]}, {steps: [{type: pass, name: P}]}], catch: [{errors: [E], goto: End}]}\n" +
				"- {type: pass, name: End}", "", "",
		},
		"no-step": {"{type: pass, name: P}\noutputMappings: [{target: x, source: $input.huge}]", "", ""},
		"caught": {
			"{type: task, name: T, resourceArn: 'acs:fc:::services/s/functions/no', catch: [{errors: [FnF.ALL], goto: End}]}\n- {type: pass, name: End}",
			"", "",
		},
	} {
		text := "version: v1\ntype: flow\nsteps:\n- " + tt.steps
		if name == "machine" {
			text = tt.steps
		}
		flow := writeIn(t, t.TempDir(), name+".yaml", text+"\n")
		args := []string{"run", flow, "--name", "one", "--input", `{"n":1,"list":[1],"pair":[5,6],"lists":[{"list":[1,2]},{"list":[3,4]}]}`}
		if name == "caught" {
			args = append(args, "--task", "no=exec:false")
		}
		doWith(t, "", env, args...)
		got := doWith(t, "", env, "list", "--flow", name)
		if !strings.Contains(got.stdout, tt.listed) || tt.listed == "" && strings.Contains(got.stdout, "failed") {
			t.Errorf("%s: list prints %s%s", name, got.stdout, got.stderr)
		}
		shown, asJSON := doWith(t, "", env, "show", name+"/one"), doWith(t, "", env, "show", name+"/one", "--json")
		line, member := "step      "+tt.step+"\n", fmt.Sprintf("%q: %q", "failedStep", tt.step)
		if has := tt.step != ""; strings.Contains(shown.stdout, line) != has || strings.Contains(asJSON.stdout, member) != has {
			t.Errorf("%s: show prints %s%s", name, shown.stdout, asJSON.stdout)
		}
		conforms(t, "execution", asJSON.stdout)
	}
}

// While the other iterations end, an execution names the step that failed and its wait.
func TestFailedStepOfARunningExecution(t *testing.T) {
	t.Parallel()
	e := rest.Execution{Status: machine.StatusRunning, FailedStep: "Ask[3]", Waiting: &rest.Waiting{Step: "All", For: "lanes"}}
	if got := state(e); got != "Ask[3] failed; All waits for its branches or iterations" {
		t.Errorf("list says %q", got)
	}
}

func TestTokensOfAFlow(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	waitingToken(t, env, "one")
	for args, want := range map[string]string{
		"":                             "callback/one",
		"--flow callback":              "callback/one",
		"--flow callbak":               `there is no flow "callbak"; did you mean "callback"?`,
		"--flow 1":                     `"1" names no flow`,
		"callback/one --flow callback": "FLOW/EXECUTION and --flow exclude each other",
	} {
		got := doWith(t, "", env, append([]string{"tokens", "list"}, strings.Fields(args)...)...)
		if !strings.Contains(got.stdout+got.stderr, want) {
			t.Errorf("tokens list %s: %+v, want %s", args, got, want)
		}
	}
	if got := doWith(t, "", env, "run", "testdata/flows/pass.yaml", "--name", "one"); got.exit != view.ExitSucceeded {
		t.Fatalf("%+v", got)
	}
	if got := doWith(t, "", env, "tokens", "list", "--flow", "pass"); got.exit != view.ExitSucceeded || got.stdout != "" {
		t.Errorf("of another flow: %+v", got)
	}
}
