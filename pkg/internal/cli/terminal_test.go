package cli

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/internal/compose"

	"github.com/waitless/waitless/pkg/jobs"
)

// hostile is what a third party may write into an error, an output or a cause: orders to a
// terminal, of 7 bits and of 8, a line of its own, and characters that change the direction.
const hostile = "E\x1b]0;pwned\x07\x1b[2J\r\nFORGED\x7f\u009b2J\u009d\u202e\u2066\u2028\u2029"

// hostileAPI answers every request with texts that are hostile, a refusal at
// paths with "refused".
func hostileAPI(t *testing.T) string {
	t.Helper()
	data := map[string]any{hostile: hostile}
	answer := map[string]any{
		"flow": "f" + hostile, "name": "n" + hostile, "hash": hostile, "status": "Failed" + hostile, "input": data, "output": data,
		"error": hostile, "cause": hostile, "failedStep": hostile, "startedTime": hostile, "stoppedTime": hostile, "definition": hostile, "createdTime": hostile,
		"token": hostile, "execution": hostile, "step": hostile, "recipient": hostile, "job": hostile, "since": hostile, "deadline": hostile,
		"closedBy": hostile, "closedTime": hostile, "lastHeartbeat": hostile, "result": hostile, "code": "", "message": hostile,
		"schedule": hostile, "cron": hostile, "payload": data, "description": hostile, "nextTime": hostile,
		"waiting": map[string]any{"step": hostile, "for": hostile, "since": hostile, "until": hostile},
	}
	event, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	answer["events"] = []any{map[string]any{"EventId": 1, "Type": hostile, "StepName": hostile, "Time": hostile, "EventDetail": string(event) + hostile}}
	one := maps.Clone(answer)
	delete(one, "events")
	for _, list := range []string{"executions", "tokens", "flows", "schedules"} {
		answer[list] = []any{one}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "refused") {
			w.WriteHeader(http.StatusBadRequest)
			_ = json.NewEncoder(w).Encode(map[string]string{"code": "Invalid", "message": hostile})
			return
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// wantHarmless checks what a command printed.
func wantHarmless(t *testing.T, args []string, got result) {
	t.Helper()
	for _, printed := range []string{got.stdout, got.stderr} {
		for line := range strings.Lines(printed) {
			line = strings.TrimSuffix(line, "\n")
			if strings.ContainsFunc(line, view.IsControl) || strings.HasPrefix(line, "FORGED") {
				t.Errorf("%v prints %q", args, line)
			}
		}
	}
}

// overAPI are the commands that show what an API answers; the others are in ofThisMachine.
var overAPI = [][]string{
	{"list"}, {"show", "f/n"}, {"show", "f/refused"}, {"graph", "f", "--execution", "n"},
	{"history", "f/n"}, {"history", "f/refused"}, {"stop", "f/n"}, {"stop", "f/refused"},
	{"redrive", "f/n"}, {"redrive", "f/refused"}, {"rerun", "f/n"}, {"rerun", "f/refused"}, {"rearm"},
	{"start", "testdata/flows/pass.yaml"}, {"run", "testdata/flows/pass.yaml"},
	{"tokens", "list"}, {"tokens", "show", "t"}, {"tokens", "succeed", "t"}, {"tokens", "fail", "t"}, {"tokens", "heartbeat", "t"},
	{"tokens", "revoke", "t"}, {"tokens", "url", "t"}, {"tokens", "show", "refused"},
	{"flows", "put", "testdata/flows/pass.yaml"}, {"flows", "list"}, {"flows", "delete", "f"}, {"flows", "delete", "refused"},
	{"flows", "pause", "f"}, {"flows", "pause", "refused"}, {"flows", "resume", "f"}, {"flows", "resume", "refused"},
	{"flows", "show", "refused"}, {"job-events", "send", "testdata/small.json"}, {"job-events", "list"}, {"job-events", "replay", "1"},
	{"schedules", "put", "f/s", "--cron", "x"}, {"schedules", "put", "f/refused", "--cron", "x"},
	{"schedules", "list"}, {"schedules", "show", "f/s"}, {"schedules", "delete", "f/s"}, {"schedules", "enable", "f/s"}, {"schedules", "disable", "f/s"},
}

// ofThisMachine are the commands that show nothing of others: files of the user, or ourselves; dev
// logs through slog, which quotes.
var ofThisMachine = []string{
	"validate", "advise", "init", "samples", "docs", "version", "completion bash", "completion fish", "completion powershell", "completion zsh",
	"json", "help", "jobs list", "jobs iam", "dev", "doctor", "flows show", "schema", "test", "console",
	"dead-letters list", "dead-letters replay", "dead-letters drop", // TestDeadLetters
}

// What others chose does not act on the terminal of the reader, in any command, with --json or
// without.
func TestCommandsEscapeControlCharacters(t *testing.T) {
	t.Parallel()
	endpoint := hostileAPI(t)
	s := &stack{t: t}
	s.gateway = httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(s.gateway.Close)
	for _, args := range overAPI {
		for _, asJSON := range []bool{false, true} {
			if asJSON {
				args = append(slices.Clone(args), "--json")
			}
			got := s.doAs(nil, nil, append(slices.Clone(args), "--endpoint", endpoint)...)
			wantHarmless(t, args, got)
			if got.stdout+got.stderr == "" {
				t.Errorf("%v prints nothing", args)
			}
			if asJSON && got.stdout != "" && args[0] != "history" && !json.Valid([]byte(got.stdout)) {
				t.Errorf("%v prints invalid JSON: %s", args, got.stdout)
			}
		}
	}
	for _, name := range commandPaths((Command{Stores: compose.Stores{}, Getenv: os.Getenv}).root(), nil) {
		covered := slices.Contains(ofThisMachine, name) || slices.ContainsFunc(overAPI, func(args []string) bool {
			return strings.HasPrefix(strings.Join(args, " ")+" ", name+" ")
		})
		if !covered {
			t.Errorf("no row runs %q", name)
		}
	}
}

// commandPaths are the commands below one that do something.
func commandPaths(cmd *cobra.Command, before []string) (paths []string) {
	for _, c := range cmd.Commands() {
		path := append(slices.Clone(before), c.Name())
		if !c.HasSubCommands() {
			paths = append(paths, strings.Join(path, " "))
		}
		paths = append(paths, commandPaths(c, path)...)
	}
	return paths
}

// What a function answers does not act on the terminal of the user who runs the flow, and JSON
// stays the JSON that it was.
func TestRunEscapesControlCharacters(t *testing.T) {
	t.Parallel()
	flow := writeFile(t, "flow.yaml", "version: v1\ntype: flow\nname: f\nsteps:\n"+
		"- {type: task, name: T, resourceArn: 'acs:fc:::services/s/functions/check', outputMappings: [{target: all, source: $local}]}\n")
	output, err := json.Marshal(map[string]string{"k" + hostile: hostile})
	if err != nil {
		t.Fatal(err)
	}
	failure, err := json.Marshal(map[string]string{"errorType": hostile, "errorMessage": hostile})
	if err != nil {
		t.Fatal(err)
	}
	for name, definition := range map[string]string{
		"succeeds": "cat " + writeFile(t, "output.json", string(output)),
		"fails":    "sh -c 'cat " + writeFile(t, "failure.json", string(failure)) + "; exit 1'",
	} {
		for _, more := range [][]string{nil, {"--json"}} {
			args := append([]string{"run", flow, "--skip-time", "--task", "check=exec:" + definition}, more...)
			got := do(t, args...)
			wantHarmless(t, args, got)
			if name == "succeeds" && more == nil {
				var printed struct{ All map[string]string }
				if err := json.Unmarshal([]byte(got.stdout), &printed); err != nil || printed.All["k"+hostile] != hostile {
					t.Errorf("%v: %s%s", err, got.stdout, got.stderr)
				}
			}
		}
	}
}

// A definition is printed as it was put where a program reads it: its hash is that of the text.
func TestDefinitionIsPrintedUnchanged(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	text := "version: v1\r\ntype: flow\r\nname: odd\r\nsteps: [{type: pass, name: P}] # \u202e\r\n"
	if got := doWith(t, "", env, "flows", "put", writeFile(t, "odd.yaml", text)); got.exit != view.ExitSucceeded {
		t.Fatalf("%+v", got)
	}
	if got := doWith(t, "", env, "flows", "show", "odd"); got.stdout != text {
		t.Errorf("%q", got.stdout)
	}
}

// The lines of a table fit, and the names that commands take are whole.
func TestTablesFitTheTerminal(t *testing.T) {
	t.Parallel()
	for _, width := range []int{80, 60} {
		term := onTerminal(t, width, 60, nil, "jobs", "list")
		if code := term.wait(); code != view.ExitSucceeded {
			t.Errorf("exit code %d, %s", code, term.raw)
		}
		for _, kind := range jobs.Kinds() {
			if !strings.Contains(string(term.raw), "\n"+kind.Name+"  ") && !strings.HasPrefix(string(term.raw), kind.Name+"  ") {
				t.Errorf("%s is not shown", kind.Name)
			}
		}
		for line := range strings.Lines(string(term.raw)) {
			if line = strings.TrimRight(line, "\r\n"); utf8.RuneCountInString(line) > width {
				t.Errorf("a line of %d cells: %q", utf8.RuneCountInString(line), line)
			}
		}
	}
}

func TestShowCutsLongValuesOnATerminal(t *testing.T) {
	t.Parallel()
	store := t.TempDir() + "/store"
	input := `{"text":"` + strings.Repeat("long ", 100) + `"}`
	env := map[string]string{"WAITLESS_STORE": store}
	if got := doWith(t, "", env, "run", "testdata/flows/pass.yaml", "--input", input, "--name", "one"); got.exit != view.ExitSucceeded {
		t.Fatalf("%+v", got)
	}
	term := onTerminal(t, 40, 20, []string{"WAITLESS_STORE=" + store}, "show", "pass/one")
	if code := term.wait(); code != view.ExitSucceeded || !strings.Contains(term.text(), `input     {"text":"long long `) {
		t.Errorf("exit code %d, screen:\n%s", code, term.text())
	}
	for line := range strings.Lines(string(term.raw)) {
		if line = strings.TrimRight(line, "\r\n"); utf8.RuneCountInString(line) > 40 {
			t.Errorf("a line of %d cells: %q", utf8.RuneCountInString(line), line)
		}
	}
}

// A narrow terminal cuts what stands behind names: names are copied.
func TestListsKeepNamesOnATerminal(t *testing.T) {
	t.Parallel()
	store := t.TempDir() + "/store"
	env := map[string]string{"WAITLESS_STORE": store}
	name := "monday-" + strings.Repeat("f", 24)
	waitingToken(t, env, name)
	waitingToken(t, env, "b")
	for _, tt := range []struct {
		width, most int
		args, want  string
	}{
		{60, 60, "list", "\ncallback/" + name + "  Running  2"},
		{20, 51, "list", "\ncallback/" + name + "  Running …\n"},
		{60, 60, "tokens list callback/b", "  callback/b  mytask  2"},
		{60, 60, "tokens list callback/b", "TOKEN          WAITING     STEP    SINCE (UTC"},
		{20, 35, "tokens list callback/b", "  callback/b  mytask …\n"},
	} {
		term := onTerminal(t, tt.width, 20, []string{"WAITLESS_STORE=" + store}, strings.Fields(tt.args)...)
		code := term.wait()
		text := strings.ReplaceAll(string(term.raw), "\r\n", "\n")
		if code != view.ExitSucceeded || !strings.Contains(text, tt.want) {
			t.Errorf("%s, %d columns: exit code %d, want %q in:\n%s", tt.args, tt.width, code, tt.want, text)
		}
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > tt.most && !strings.HasPrefix(line, "no worker runs") {
				t.Errorf("%s, %d columns: a line of %d cells: %q", tt.args, tt.width, n, line)
			}
		}
	}
}
