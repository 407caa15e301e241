package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/internal/compose"
	"github.com/waitless/waitless/pkg/local/disk"
	"github.com/waitless/waitless/pkg/token"
)

const callbackFlow = "../../../events/callback/flow.yaml"

// inStore is the environment of a store of the test's own.
func inStore(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{"WAITLESS_STORE": filepath.Join(t.TempDir(), "store")}
}

// running is `waitless run` in a terminal of its own.
type running struct {
	t      *testing.T
	stop   context.CancelFunc
	said   chan string // each piece of standard error
	stdout bytes.Buffer
	exit   chan int
}

func runInBackground(t *testing.T, env map[string]string, args ...string) *running {
	t.Helper()
	return inBackground(t, env, append([]string{"run"}, args...)...)
}

func inBackground(t *testing.T, env map[string]string, args ...string) *running {
	t.Helper()
	return inBackgroundAt(t, nil, env, args...)
}

// inBackgroundAt runs a command whose clock is now.
func inBackgroundAt(t *testing.T, now func() time.Time, env map[string]string, args ...string) *running {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	r := &running{t: t, stop: stop, said: make(chan string, 1000), exit: make(chan int, 1)}
	c := Command{
		Args: args, Stdin: strings.NewReader(""), Stdout: &r.stdout, Stores: compose.Stores{}, Getenv: environment(t, env), Now: now,
		Stderr: writerFunc(func(p []byte) (int, error) {
			r.said <- string(p)
			return len(p), nil
		}),
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.exit <- c.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-ended // then no process writes to the store
	})
	return r
}

// patience is how long a test waits for what comes in milliseconds.
const patience = 20 * time.Second

// awaits waits until standard error says something like pattern, and answers
// the first group of it.
func (r *running) awaits(pattern string) string {
	r.t.Helper()
	expected := regexp.MustCompile(pattern)
	timeout := time.After(patience)
	all := ""
	for {
		select {
		case text := <-r.said:
			all += text
			if found := expected.FindStringSubmatch(all); found != nil {
				return found[len(found)-1]
			}
		case <-timeout:
			r.t.Fatalf("%q does not come in\n%s", pattern, all)
		}
	}
}

func (r *running) wait() int {
	r.t.Helper()
	select {
	case code := <-r.exit:
		return code
	case <-time.After(patience):
		r.t.Fatal("the run does not end")
		return -1
	}
}

// waitingToken starts the callback sample, leaves it waiting with nothing
// running, and answers its token.
func waitingToken(t *testing.T, env map[string]string, name string) string {
	t.Helper()
	run := runInBackground(t, env, callbackFlow, "--name", name)
	text := run.awaits(`tokens succeed (\S+) --output`)
	run.stop()
	if code := run.wait(); code != view.ExitInterrupted {
		t.Fatalf("exit %d", code)
	}
	return text
}

// A token need not be an argument, which everybody on the machine sees.
func TestTokensFromStandardInput(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	for i, args := range [][]string{{"succeed", "-"}, {"fail", "-"}, {"revoke", "-"}} {
		text := waitingToken(t, env, fmt.Sprint("waiting", i))
		for _, first := range []string{"show", "url", "heartbeat"} {
			if got := doWith(t, text+"\n", env, "tokens", first, "-"); got.exit != view.ExitSucceeded || strings.Contains(got.stdout, text) != (first == "url") {
				t.Errorf("%s: %+v", first, got)
			}
		}
		if got := doWith(t, text, env, append([]string{"tokens"}, args...)...); got.exit != view.ExitSucceeded {
			t.Errorf("%v: %+v", args, got)
		}
		if got := doWith(t, text, env, "tokens", "show", "-"); strings.Contains(got.stdout, "is open") {
			t.Errorf("%v: it is open still: %+v", args, got)
		}
	}
	for name, tt := range map[string]struct {
		stdin string
		args  []string
		want  string
	}{
		"nothing":   {" \n", []string{"show", "-"}, "there is no token on standard input"},
		"no token":  {"x", []string{"url", "-"}, "the token is not valid"},
		"two":       {"x", []string{"succeed", "-", "--output", "-"}, "TOKEN and --output cannot both be standard input"},
		"no output": {"x", []string{"succeed", "-", "--output", "["}, "--output"},
	} {
		if got := doWith(t, tt.stdin, env, append([]string{"tokens"}, tt.args...)...); got.exit != view.ExitUsage || !strings.Contains(got.stderr, tt.want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Two terminals: one runs and waits, the other sees and answers.
func TestAnotherTerminalAnswers(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	run := runInBackground(t, env, callbackFlow, "--name", "one")
	text := run.awaits(`report the outcome from another terminal:\n  waitless tokens succeed (\S+) --output`)
	if got := doWith(t, "", env, "list"); got.exit != view.ExitSucceeded || !strings.Contains(got.stdout, "callback/one  Running") {
		t.Errorf("list: %+v", got)
	}
	if got := doWith(t, "", env, "tokens", "heartbeat", text); got.exit != view.ExitSucceeded || !strings.Contains(got.stdout, ", last heartbeat") {
		t.Errorf("heartbeat: %+v", got)
	}
	got := doWith(t, "", env, "tokens", "succeed", text, "--output", `{"status":"ok"}`)
	if got.exit != view.ExitSucceeded || !strings.Contains(got.stdout, `succeeded with {"status":"ok"}, reported by a user`) {
		t.Errorf("succeed: %+v", got)
	}
	if code := run.wait(); code != view.ExitSucceeded || run.stdout.String() != "{\"s\":\"ok\"}\n" {
		t.Errorf("exit %d, output %q", code, run.stdout.String())
	}
}

// Nothing runs when the answer comes; the next run finds it.
func TestOutcomeReportedWhileNoWorkerRuns(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	text := waitingToken(t, env, "one")
	if got := doWith(t, "", env, "tokens", "succeed", text, "--output", `{"status":"ok"}`); got.exit != view.ExitSucceeded {
		t.Fatalf("succeed: %+v", got)
	}
	for range 2 { // the second time it is over, and its result is shown again
		got := doWith(t, "", env, "run", callbackFlow, "--name", "one")
		if got.exit != view.ExitSucceeded || got.stdout != "{\"s\":\"ok\"}\n" {
			t.Errorf("run again: %+v", got)
		}
	}
	got := doWith(t, "", env, "run", callbackFlow, "--name", "one", "--input", `{"other":1}`)
	if got.exit != view.ExitUsage || !strings.Contains(got.stderr, "execution callback/one exists with another definition or input") {
		t.Errorf("another input: %+v", got)
	}
}

// The command that an interrupted run shows goes on with it, its input included.
func TestSuggestedCommandContinuesTheExecution(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	run := runInBackground(t, env, "testdata/flows/pause-2s.yaml", "--name", "one", "--input", `{"a":1}`)
	run.awaits("waits until")
	run.stop()
	command := run.awaits(`continue it with: waitless (.*)\n`)
	if code := run.wait(); code != view.ExitInterrupted {
		t.Fatalf("exit %d", code)
	}
	if got := doWith(t, "", env, strings.Fields(command)...); got.exit != view.ExitSucceeded || !strings.Contains(got.stderr, `started with {"a":1}`) {
		t.Errorf("%s: %+v", command, got)
	}
}

// A late report gets the outcome that was recorded.
func TestLateOutcomeIsRejectedWithTheFirst(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	run := runInBackground(t, env, "testdata/flows/deadline.yaml", "--name", "one")
	text := run.awaits(`tokens succeed (\S+) --output`)
	if code := run.wait(); code != view.ExitFailed {
		t.Errorf("exit %d", code)
	}
	got := doWith(t, "", env, "tokens", "succeed", text, "--output", `{"status":"ok"}`)
	if got.exit != view.ExitFailed ||
		!strings.Contains(got.stderr, "another outcome was recorded before: token "+token.Mask(text)+" failed with FnF.TaskTimeout") ||
		!strings.Contains(got.stderr, "closed by deadline") {
		t.Errorf("late: %+v", got)
	}
	if got := doWith(t, "", env, "show", "deadline/one"); !strings.Contains(got.stdout, "FnF.TaskTimeout") {
		t.Errorf("show: %+v", got)
	}
}

func TestStopFromAnotherTerminal(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	run := runInBackground(t, env, callbackFlow, "--name", "one")
	run.awaits("report the outcome")
	if got := doWith(t, "", env, "stop", "callback/one", "--error", "Operator", "--cause", "no longer needed"); got.exit != view.ExitSucceeded {
		t.Errorf("stop: %+v", got)
	}
	if code := run.wait(); code != view.ExitFailed {
		t.Errorf("exit %d", code)
	}
	run.awaits("was stopped")
	got := doWith(t, "", env, "history", "callback/one")
	if !strings.Contains(got.stdout, "ExecutionStopped") || !strings.Contains(got.stdout, "FnF.Stopped") {
		t.Errorf("history: %+v", got)
	}
	if got := doWith(t, "", env, "run", callbackFlow, "--name", "one"); !strings.Contains(got.stderr, "callback/one ended before; this is its history") {
		t.Errorf("%+v", got)
	}
	if got := doWith(t, "", env, "stop", "callback/one"); got.exit != view.ExitUsage || !strings.Contains(got.stderr, "ended before") {
		t.Errorf("stop again: %+v", got)
	}
}

func TestStopWithoutACause(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	run := runInBackground(t, env, callbackFlow, "--name", "one")
	run.awaits("report the outcome")
	if got := doWith(t, "", env, "stop", "callback/one"); got.exit != view.ExitSucceeded {
		t.Errorf("stop: %+v", got)
	}
	if code := run.wait(); code != view.ExitFailed {
		t.Errorf("exit %d", code)
	}
	run.awaits(`  callback/one was stopped \(no cause given\)\n`)
	run.awaits(`waitless: callback/one: was stopped \(no cause given\)\n`)
}

// An execution that was started without a worker continues beside the next run.
func TestStartLeavesItToTheNextRun(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	if got := doWith(t, "", env, "start", "testdata/flows/pass.yaml", "--name", "left"); got.exit != view.ExitSucceeded ||
		!strings.Contains(got.stdout, "Starting") {
		t.Fatalf("start: %+v", got)
	}
	run := runInBackground(t, env, callbackFlow, "--name", "one")
	run.awaits("report the outcome")
	if got := doWith(t, "", env, "history", "pass/left", "--follow"); got.exit != view.ExitSucceeded || !strings.Contains(got.stdout, "ExecutionSucceeded") {
		t.Errorf("history: %+v", got)
	}
	if got := doWith(t, "", env, "start", "testdata/flows/pass.yaml", "--name", "right"); got.exit != view.ExitSucceeded {
		t.Errorf("start at the socket: %+v", got)
	}
	got := doWith(t, "", env, "history", "pass/right", "--follow", "--json")
	if got.exit != view.ExitSucceeded || !strings.Contains(got.stdout, `"type":"ExecutionSucceeded"`) {
		t.Errorf("history: %+v", got)
	}
	for line := range strings.Lines(got.stdout) {
		conforms(t, "event", line)
	}
	got = doWith(t, "", env, "history", "pass/right", "--json")
	conforms(t, "history", got.stdout)
	if !strings.Contains(got.stdout, `"execution": "right"`) || !strings.Contains(got.stdout, `"step": "Only"`) || strings.Contains(got.stdout, `\"`) {
		t.Errorf("history: %+v", got)
	}
}

// No view shows a whole token unless it was asked for.
func TestTokensAreMasked(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	text := waitingToken(t, env, "one")
	for _, args := range [][]string{
		{"tokens", "list"}, {"tokens", "list", "--json"}, {"tokens", "show", text}, {"tokens", "show", text, "--json"}, {"list"}, {"list", "--json"},
		{"show", "callback/one"}, {"show", "callback/one", "--json"}, {"history", "callback/one"}, {"history", "callback/one", "--json"},
	} {
		if got := doWith(t, "", env, args...); got.exit != view.ExitSucceeded || strings.Contains(got.stdout+got.stderr, text) || got.stdout == "" {
			t.Errorf("%v: %+v", args[:2], got)
		}
	}
	for _, args := range [][]string{{"tokens", "list", "--unmask"}, {"history", "callback/one", "--unmask"}} {
		if got := doWith(t, "", env, args...); !strings.Contains(got.stdout, text) {
			t.Errorf("%v does not show the token: %s", args, got.stdout)
		}
	}
}

// Nor does a view show one that an execution was given or brought.
func TestTokensInValuesAreMasked(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	secret := strings.Repeat("a", 30) + "." + strings.Repeat("b", 43)
	for name, outcome := range map[string][]string{
		"succeeds": {"succeed", "--output", `{"status":"` + secret + `"}`},
		"fails":    {"fail", "--error", "Refused", "--cause", "do not use " + secret},
		"stopped":  nil,
	} {
		run := runInBackground(t, env, callbackFlow, "--name", name, "--input", `{"token":"`+secret+`"}`)
		text := run.awaits(`tokens succeed (\S+) --output`)
		if outcome == nil {
			run.stop()
		} else if got := doWith(t, "", env, append([]string{"tokens", outcome[0], text}, outcome[1:]...)...); got.exit != view.ExitSucceeded {
			t.Fatalf("%s: %+v", name, got)
		}
		run.wait()
	}
	pass := []string{"start", "testdata/flows/pass.yaml", "--name", "one", "--input", `{"token":"` + secret + `"}`}
	for _, args := range [][]string{
		{"list"}, {"list", "--json"}, {"show", "callback/succeeds"}, {"show", "callback/succeeds", "--json"}, {"show", "callback/fails"},
		{"show", "callback/fails", "--json"}, pass, slices.Concat(pass, []string{"--json"}),
		{"stop", "callback/stopped", "--json", "--cause", "for " + secret}, {"stop", "callback/stopped"},
	} {
		got := doWith(t, "", env, args...)
		if got.exit != view.ExitSucceeded || strings.Contains(got.stdout+got.stderr, secret) || got.stdout == "" {
			t.Errorf("%v: %+v", args, got)
		}
	}
	if got := doWith(t, "", env, "run", callbackFlow, "--name", "fails"); got.exit != view.ExitFailed || strings.Contains(got.stderr, secret) {
		t.Errorf("run: %+v", got)
	}
	for _, name := range []string{"succeeds", "fails"} {
		if got := doWith(t, "", env, "show", "callback/"+name, "--unmask", "--json"); strings.Count(got.stdout, secret) != 2 {
			t.Errorf("%s, unmasked: %+v", name, got)
		}
	}
}

// Who is interrupted does not wait on for a store that another process holds.
func TestInterruptEndsTheWaitForAStore(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	store, err := disk.Open(env["WAITLESS_STORE"])
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stderr bytes.Buffer
	c := Command{Args: []string{"list"}, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &stderr, Stores: compose.Stores{}, Getenv: environment(t, env)}
	if exit := c.Run(ctx); exit != view.ExitInterrupted || !strings.Contains(stderr.String(), "interrupted; the command did not finish") {
		t.Errorf("exit %d, %s", exit, stderr.String())
	}
	if err := store.Shut(); err != nil {
		t.Error(err)
	}
}

func TestStoreCommandsAreRefused(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	text := waitingToken(t, env, "one")
	forged := text[:len(text)-3] + "AAA"
	for name, tt := range map[string]struct {
		args []string
		exit int
		want string
	}{
		"no store":            {[]string{"list", "--store", filepath.Join(t.TempDir(), "none")}, view.ExitUsage, "there is no store in"},
		"no such execution":   {[]string{"show", "callback/none"}, view.ExitUsage, "try: waitless list"},
		"no execution's name": {[]string{"show", "callback"}, view.ExitUsage, `"callback" is not an execution; allowed: FLOW/EXECUTION`},
		"a forged token":      {[]string{"tokens", "succeed", forged}, view.ExitUsage, "the token is not valid"},
		"no object":           {[]string{"tokens", "succeed", text, "--output", "[1]"}, view.ExitUsage, "the output is an array; allowed: an object"},
		"a failure unnamed":   {[]string{"tokens", "fail", text, "--error", ""}, view.ExitUsage, "a failure has no error"},
		"a token's command":   {[]string{"tokens", "succed", text}, view.ExitUsage, `did you mean "succeed"?`},
		"a flow with errors":  {[]string{"start", "testdata/flows/six-mistakes.yaml"}, view.ExitUsage, "6 problems"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := doWith(t, "", env, tt.args...)
			if got.exit != tt.exit || !strings.Contains(got.stderr, tt.want) || strings.Contains(got.stderr, text) {
				t.Errorf("exit %d, want %d with %q:\n%s", got.exit, tt.exit, tt.want, got.stderr)
			}
		})
	}
}

func TestTheJSONOfTheStore(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	text := waitingToken(t, env, "one")
	for schema, args := range map[string][]string{
		"execution": {"show", "callback/one", "--json"}, "executions": {"list", "--json"},
		"tokens": {"tokens", "list", "--json"}, "token": {"tokens", "show", text, "--json"},
		"rearm": {"rearm", "--json"}, "flows": {"flows", "list", "--json"}, "flow": {"flows", "show", "callback", "--json"},
		"schedule": {"schedules", "put", "callback/s", "--cron", "@every 1h", "--payload", "{}", "--json"}, "schedules": {"schedules", "list", "--json"},
	} {
		got := doWith(t, "", env, args...)
		conforms(t, schema, got.stdout)
	}
	var list struct{ Tokens []rest.Token }
	whole := doWith(t, "", env, "tokens", "list", "--json", "--unmask")
	if err := json.Unmarshal([]byte(whole.stdout), &list); err != nil || len(list.Tokens) != 1 || list.Tokens[0].Token != text {
		t.Errorf("tokens %+v, %v", list, err)
	}
}

// The binary is killed while it waits, twice; the third run finishes, in the
// time that the wait takes in all.
func TestKilledRunContinues(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	arguments := []string{"run", "testdata/flows/pause-2s.yaml", "--name", "one", "--store", dir}
	for range 2 {
		cmd := command(t, arguments...)
		stderr, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		readUntil(t, stderr, "waits until")
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
	}
	if out, err := command(t, arguments...).CombinedOutput(); err != nil || !bytes.Contains(out, []byte("pause-2s/one succeeded")) {
		t.Errorf("%v: %s", err, out)
	}
	got := do(t, "history", "pause-2s/one", "--store", dir)
	if strings.Count(got.stdout, "StepEntered") != 1 || strings.Count(got.stdout, "StepExited") != 1 {
		t.Errorf("history: %+v", got)
	}
}
