package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/internal/cli/target"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// met is the message for a user who meets a limit: the limit, what it was met
// with, and what to do.
type met struct{ limit, actual, remedy string }

func (m met) check(t *testing.T, told string) {
	t.Helper()
	for _, want := range []string{m.limit, m.actual, m.remedy} {
		if !strings.Contains(told, want) {
			t.Errorf("%q is missing in:\n%.600s", want, told)
		}
	}
}

func nested(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }

// echoFlow has a step that answers with its input.
const echoFlow = "version: v1\ntype: flow\nname: echoes\nsteps:\n" +
	"  - {type: task, name: Echo, resourceArn: 'acs:fc:::services/s/functions/echo', outputMappings: [{target: size, source: 1}]}\n"

// passFlow is a flow of steps in YAML's flow style.
func passFlow(steps ...string) string {
	return "version: v1\ntype: flow\nname: passes\nsteps:\n  - " + strings.Join(steps, "\n  - ") + "\n"
}

// Every limit that a flow or its data can meet, from outside.
func TestLimitsOfRuns(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		flow, input string
		args        []string
		met
	}{
		"input of a step": {
			echoFlow, `{"a":"` + strings.Repeat("x", 40_000) + `"}`, nil,
			met{"32768", "40008 bytes", "WAITLESS_DATA_LIMIT"},
		},
		"input and answer of a step": {
			echoFlow, `{"a":"` + strings.Repeat("x", 20_000) + `"}`, nil,
			met{"32768", "40016 bytes", "WAITLESS_DATA_LIMIT"},
		},
		"history": {
			passFlow("{type: pass, name: A}", "{type: choice, name: B, choices: [{condition: $.x != 1, goto: C}], default: {goto: A}}", "{type: pass, name: C}"),
			"{}", nil, met{"25000", "24995 history events", "poll within one step"},
		},
		"levels of an input":    {echoFlow, `{"a":` + nested(100) + "}", nil, met{"100", "101 levels", "as a text"}},
		"levels beyond reading": {echoFlow, `{"a":` + nested(20_000) + "}", nil, met{"100", "more than 10000 levels", "as a text"}},
		"a wait":                {passFlow("{type: wait, name: W, duration: $.s}"), `{"s":172801}`, nil, met{"172800", "172801", "allowed: whole seconds"}},
		"name of an execution":  {echoFlow, "{}", []string{"--name", strings.Repeat("n", 129)}, met{"128", "129", "shorten it"}},
		"size of a definition":  {echoFlow + "# " + strings.Repeat("x", 400_000), "{}", nil, met{"399360", fmt.Sprint(len(echoFlow) + 400_002), "split the flow"}},
		"levels of a constant": {
			passFlow("{type: pass, name: A, outputMappings: [{target: a, source: " + nested(101) + "}]}"), "{}", nil, met{"100", "101 levels", "as a text"},
		},
		"levels of a definition": {passFlow("{type: pass, name: A}") + "x: " + nested(600), "{}", nil, met{"500", "more than 500 levels", "split the flow"}},
		"values of a definition": {
			passFlow("{type: pass, name: A}") + "x: [" + strings.Repeat("1,", 100_000) + "]", "{}", nil, met{"100000", "more than 100000 values", "split the flow"},
		},
		"levels of a condition": {
			passFlow("{type: choice, name: A, choices: [{condition: '"+strings.Repeat("(", 101)+"$.a"+strings.Repeat(")", 101)+"', goto: B}]}", "{type: pass, name: B}"),
			"{}", nil, met{"100", "more than 100 deep", "split it"},
		},
		"name of a step": {passFlow("{type: pass, name: " + strings.Repeat("n", 130) + "}"), "{}", nil, met{"128", "130 bytes", "shorten it"}},
		"a time limit": {
			passFlow("{type: task, name: A, timeoutSeconds: 31622401, resourceArn: 'acs:fc:::services/s/functions/echo'}"), "{}", nil,
			met{"31622400", "31622401", "allowed: whole seconds"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			flow, input := filepath.Join(t.TempDir(), "flow.yaml"), filepath.Join(t.TempDir(), "input.json")
			for file, text := range map[string]string{flow: tt.flow, input: tt.input} {
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got := do(t, append([]string{"run", flow, "--skip-time", "--input", "@" + input}, tt.args...)...)
			if got.exit != view.ExitFailed && got.exit != view.ExitUsage {
				t.Errorf("exit %d", got.exit)
			}
			tt.check(t, got.stderr[max(0, strings.LastIndex(got.stderr, "waitless: ")-2000):])
		})
	}
}

// Every limit that a request or a report can meet.
func TestLimitsOfRequests(t *testing.T) {
	t.Parallel()
	store := &store.Memory{}
	system := local.New(local.Config{Store: store, Limits: machine.Limits{Hints: machine.Hints{Data: "set WAITLESS_DATA_LIMIT"}}})
	handler := target.Handler(system, store, target.Unfired(store), nil, "")
	client := target.InProcess(system, store)
	flow, err := client.PutFlow(t.Context(), "callback", []byte(passFlow(
		"{type: task, name: A, pattern: waitForCallback, resourceArn: 'acs:fc:::services/s/functions/echo'}")), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := client.Start(t.Context(), flow.Name, rest.Start{Name: "one", Hash: flow.Hash, Input: value.Object()}); err != nil {
		t.Fatal(err)
	}
	if err := system.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	all, err := client.Tokens(t.Context(), "", "", true)
	if err != nil || len(all) != 1 {
		t.Fatalf("tokens %v, %v", all, err)
	}
	token := "/tokens/" + all[0].Token
	long, large := strings.Repeat("x", 40_000), echoFlow+"# "+strings.Repeat("x", 400_000)
	const starts = "/flows/callback/executions"
	for name, tt := range map[string]struct {
		method, path, body string
		met
	}{
		"request":            {"POST", token + "/success", strings.Repeat(" ", 2<<20), met{"1048576", "2097152 bytes", "keep large data elsewhere"}},
		"output":             {"POST", token + "/success", `{"a":"` + long + `"}`, met{"32768", "40008 bytes", "WAITLESS_DATA_LIMIT"}},
		"levels of output":   {"POST", token + "/success", `{"a":` + nested(100) + "}", met{"100", "101 levels", "as a text"}},
		"failure":            {"POST", token + "/failure", `{"error":"E","cause":"` + long + `"}`, met{"32768", "40001 bytes", "keep large data elsewhere"}},
		"name of a flow":     {"PUT", "/flows/" + strings.Repeat("n", 129), echoFlow, met{"128", "129 bytes", "shorten it"}},
		"name of a start":    {"POST", starts, `{"hash":"` + flow.Hash + `","name":"` + strings.Repeat("n", 129) + `"}`, met{"128", "129 characters", "shorten it"}},
		"definition":         {"PUT", "/flows/large", large, met{"399360", fmt.Sprint(len(large)), "split the flow"}},
		"levels of an input": {"POST", starts, `{"hash":"` + flow.Hash + `","name":"deep","input":{"a":` + nested(100) + "}}", met{"100", "101 levels", "as a text"}},
	} {
		r := httptest.NewRequest(tt.method, tt.path, strings.NewReader(tt.body))
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		var refused rest.Error
		if err := json.Unmarshal(w.Body.Bytes(), &refused); err != nil || w.Code != http.StatusBadRequest && w.Code != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: answered %d %s", name, w.Code, w.Body)
		}
		tt.check(t, refused.Message)
	}
	if held, _, err := client.Fail(t.Context(), all[0].Token, rest.Failure{Error: "E", Cause: strings.Repeat("c", 5_000)}); err != nil ||
		!strings.HasSuffix(held.Cause, "... (cut: it had 5000 bytes and the limit is 4096)") {
		t.Errorf("a long cause is kept as %.100s, %v", held.Cause, err)
	}
}

// The limit of a step's data can be raised.
func TestTheDataLimit(t *testing.T) {
	t.Parallel()
	flow := filepath.Join(t.TempDir(), "flow.yaml")
	if err := os.WriteFile(flow, []byte(echoFlow), 0o600); err != nil {
		t.Fatal(err)
	}
	settings := filepath.Join(t.TempDir(), "settings.yaml")
	if err := os.WriteFile(settings, []byte("data-limit: 50000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(limit string, size int, args ...string) result {
		input := filepath.Join(t.TempDir(), "input.json")
		if err := os.WriteFile(input, []byte(`{"a":"`+strings.Repeat("x", size)+`"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		env := map[string]string{"WAITLESS_NOW": start, dataLimitVariable: limit}
		return doWith(t, "", env, append([]string{"run", flow, "--skip-time", "--input", "@" + input}, args...)...)
	}
	for limit, want := range map[string]string{"": "the limit is 50000;", "40000": "the limit is 40000;"} {
		if got := run(limit, 30_000, "--config", settings); got.exit != view.ExitFailed || !strings.Contains(got.stderr, want) {
			t.Errorf("the environment says %q and the file 50000: exit %d, %.300s", limit, got.exit, got.stderr)
		}
	}
	for _, tt := range []struct {
		limit string
		size  int
		exit  int
		want  string
	}{
		{"", 16_000, view.ExitSucceeded, ""},
		{"", 17_000, view.ExitFailed, "the limit is 32768;"},
		{"100000", 40_000, view.ExitSucceeded, ""},
		{"100000", 60_000, view.ExitFailed, "the limit is 100000;"},
		{"262144", 131_000, view.ExitSucceeded, ""},
		{"262144", 132_000, view.ExitFailed, "the limit is 262144;"},
		{"6291456", 3_145_000, view.ExitSucceeded, ""},
		{"6291456", 3_146_000, view.ExitFailed, "the limit is 6291456;"},
		{"6291457", 1, view.ExitUsage, `WAITLESS_DATA_LIMIT is "6291457"; allowed: a number of bytes from 32768 to 6291456`},
		{"1000", 1, view.ExitUsage, `WAITLESS_DATA_LIMIT is "1000"; allowed`},
		{"much", 1, view.ExitUsage, `WAITLESS_DATA_LIMIT is "much"; allowed`},
	} {
		got := run(tt.limit, tt.size)
		if got.exit != tt.exit || !strings.Contains(got.stderr, tt.want) {
			t.Errorf("limit %s, %d bytes: exit %d, %.300s", tt.limit, tt.size, got.exit, got.stderr)
		}
		if tt.exit == view.ExitFailed && strings.Contains(got.stderr, "set WAITLESS_DATA_LIMIT") != (tt.limit != "6291456") {
			t.Errorf("limit %s: told %.600s", tt.limit, got.stderr[len(got.stderr)-600:])
		}
	}
}
