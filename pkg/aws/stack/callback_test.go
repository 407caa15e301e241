package stack_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/internal/cli/view"
)

// post posts to the public callback API, without a signature.
func (s stack) post(t *testing.T, path, body string) (status int, answer string) {
	t.Helper()
	public, err := url.Parse(s.outputs["CallbackEndpoint"])
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, *emulator.Config(t).BaseEndpoint+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Host = public.Host // below localhost, which not every resolver knows
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // it is read
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// posted is a request and what it is answered with.
type posted struct {
	path, body string
	status     int
	answer     string // a part of it
}

func (s stack) checkPosts(t *testing.T, posts ...posted) {
	t.Helper()
	for _, p := range posts {
		if status, answer := s.post(t, p.path, p.body); status != p.status || !strings.Contains(answer, p.answer) {
			t.Errorf("POST with %s: %d %s; want %d with %q", p.body, status, answer, p.status, p.answer)
		}
	}
}

// A third party brings the outcome; the first one stays.
func TestACallbackIsPosted(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	run := s.follow(t, "run", "events/callback/flow.yaml", "--name", "posted")
	token := run.token()
	path := "/callbacks/" + token
	forged := "/callbacks/" + token[:len(token)-1] + string('A'+(token[len(token)-1]-'A'+1)%2)
	s.checkPosts(t,
		posted{path + "/heartbeat", "", http.StatusOK, `"open":true`},
		posted{path, `[]`, http.StatusBadRequest, "allowed: an object"},
		posted{forged, `{"status":"no"}`, http.StatusNotFound, "the token is not valid"},
		posted{path, `{"status":"ok"}`, http.StatusOK, `"outcome":"success"`},
		posted{path, `{"status":"ok"}`, http.StatusOK, `"outcome":"success"`},
		posted{path, `{"status":"no"}`, http.StatusConflict, "a success was reported"},
		posted{path + "/failure", `{"error":"E"}`, http.StatusConflict, "a success was reported"},
		posted{forged, `{"status":"ok"}`, http.StatusNotFound, "the token is not valid"},
	)
	if exit := run.wait(); exit != view.ExitSucceeded {
		t.Errorf("exit %d", exit)
	}
	s.check(t, view.ExitSucceeded, `{"s":"ok"}`, "run", "events/callback/flow.yaml", "--name", "posted")
}

// check runs the command and looks for a text in what it prints.
func (s stack) check(t *testing.T, exit int, want string, args ...string) {
	t.Helper()
	if got := s.do(t, args...); got.exit != exit || !strings.Contains(got.stdout+got.stderr, want) {
		t.Errorf("waitless %s: %+v; want exit %d with %q", strings.Join(args, " "), got, exit, want)
	}
}

// callbackHost is the Domain of the hasty stack.
const callbackHost = "callbacks.example.org"

// A stack with a domain gives out callback URLs there, and responds at them.
func TestCallbacksAtADomain(t *testing.T) {
	t.Parallel()
	s := hasty.get(t)
	const base = "https://" + callbackHost
	const flow = `version: v1
type: flow
steps:
  - type: task
    name: Approve
    resourceArn: acs:fc:::services/any/functions/echo
    pattern: waitForCallback
    inputMappings: [{target: url, source: $context.task.callbackUrl}]
`
	if got := s.outputs["CallbackEndpoint"]; got != base {
		t.Errorf("callbacks arrive at %s, want %s", got, base)
	}
	run := s.follow(t, "run", writeFlow(t, "at-a-domain", flow), "--name", "one")
	path := "/callbacks/" + run.token()
	s.check(t, view.ExitSucceeded, base+"/callbacks/", "history", "at-a-domain/one")
	s.checkPosts(t, posted{path, `{}`, http.StatusOK, `"outcome":"success"`}) // to the host of the output
	if exit := run.wait(); exit != view.ExitSucceeded {
		t.Errorf("exit %d", exit)
	}
}

// Who comes after the deadline is told so.
func TestADeadlineIsFirst(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	const flow = `version: v1
type: flow
steps:
  - type: task
    name: Approve
    resourceArn: acs:fc:::services/any/functions/echo
    pattern: waitForCallback
    timeoutSeconds: 15
    inputMappings: [{target: taskToken, source: $context.task.token}]
`
	run := s.follow(t, "run", writeFlow(t, "deadline", flow), "--name", "late")
	token := run.token()
	if exit := run.wait(); exit != view.ExitFailed {
		t.Errorf("exit %d", exit)
	}
	s.checkPosts(t, posted{"/callbacks/" + token, `{}`, http.StatusConflict, "its deadline passed"})
	s.check(t, view.ExitFailed, "another outcome was recorded before", "tokens", "succeed", token, "--output", "{}")
	s.check(t, view.ExitSucceeded, "FnF.TaskTimeout", "show", "deadline/late")
}

// The commands that look at executions, and the one that ends them.
func TestCommands(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	const flow = "events/callback/flow.yaml"
	s.check(t, view.ExitSucceeded, "callback", "flows", "put", flow)
	s.check(t, view.ExitSucceeded, "waitForCallback", "flows", "show", "callback")
	s.check(t, view.ExitSucceeded, "callback/seen", "start", flow, "--name", "seen")
	run := s.follow(t, "run", flow, "--name", "seen")
	token := run.token()
	s.check(t, view.ExitSucceeded, token, "tokens", "list", "--unmask")
	s.check(t, view.ExitSucceeded, "TaskSubmitted", "history", "callback/seen")
	s.check(t, view.ExitSucceeded, "mytask waits for a callback", "show", "callback/seen")
	s.check(t, view.ExitSucceeded, "callback/seen", "list", "--status", "Running")
	s.check(t, view.ExitUsage, "is in use", "flows", "delete", "callback")
	s.check(t, view.ExitSucceeded, "is being stopped", "stop", "callback/seen", "--error", "Operator", "--cause", "enough")
	if exit := run.wait(); exit != view.ExitFailed {
		t.Errorf("exit %d", exit)
	}
	s.check(t, view.ExitSucceeded, "enough", "show", "callback/seen")
	s.check(t, view.ExitFailed, "another outcome was recorded before", "tokens", "succeed", token, "--output", "{}")
	s.check(t, view.ExitUsage, "there is no execution", "show", "callback/none")
}

// The management API is for those whose requests are signed.
func TestTheManagementAPIRefusesStrangers(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	strange := s
	strange.outputs = map[string]string{"CallbackEndpoint": s.outputs["ApiEndpoint"]}
	if status, answer := strange.post(t, "/executions", "{}"); status != http.StatusForbidden {
		t.Errorf("%d %s", status, answer)
	}
}
