package stack_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/aws/secrets"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/token"
)

// answered is what the public callback API answers.
type answered struct {
	status int
	header http.Header
	body   string
}

// call makes a request of the public callback API.
func (s stack) call(t *testing.T, method, path, body string, header ...string) answered {
	t.Helper()
	public, err := url.Parse(s.outputs["CallbackEndpoint"])
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, *emulator.Config(t).BaseEndpoint+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Host = public.Host // below localhost, which not every resolver knows
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	return send(t, request)
}

func send(t *testing.T, request *http.Request) answered {
	t.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // it is read
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answered{response.StatusCode, response.Header, string(text)}
}

// waiting starts the callback sample, and answers its token and the command
// that waits for the end.
func (s stack) waiting(t *testing.T, execution string) (text string, run *following) {
	t.Helper()
	run = s.follow(t, "run", "events/callback/flow.yaml", "--name", execution)
	return run.token(), run
}

func (s stack) keys(t *testing.T) token.Keys {
	t.Helper()
	keys, err := secrets.TokenKeys(t.Context(), secretsmanager.NewFromConfig(emulator.Config(t)), s.resources["TokenKey"])
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// A program that follows links, as mail servers do, reports no outcome.
func TestALinkThatIsFollowedChangesNothing(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	text, run := s.waiting(t, "scanned")
	path := "/callbacks/" + text
	for range 3 {
		got := s.call(t, http.MethodGet, path, "")
		if got.status != http.StatusOK || !strings.Contains(got.body, "<form") || strings.Contains(got.body, "<script") {
			t.Fatalf("the page is %+v", got)
		}
		for name, value := range map[string]string{"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY"} {
			if got.header.Get(name) != value {
				t.Errorf("%s is %q, want %q", name, got.header.Get(name), value)
			}
		}
	}
	for _, end := range []string{"/failure", "/heartbeat"} {
		if got := s.call(t, http.MethodGet, path+end, ""); got.status == http.StatusOK {
			t.Errorf("GET %s: %+v", end, got)
		}
	}
	for _, method := range []string{http.MethodPut, http.MethodDelete, http.MethodPatch} {
		if got := s.call(t, method, path, "{}"); got.status != http.StatusNotFound && got.status != http.StatusMethodNotAllowed {
			t.Errorf("%s: %+v", method, got)
		}
	}
	s.checkPosts(t, posted{path + "/heartbeat", "", http.StatusOK, `"open":true`})
	s.sendForm(t, path)
	if exit := run.wait(); exit != view.ExitSucceeded {
		t.Errorf("exit %d", exit)
	}
	s.check(t, view.ExitSucceeded, `{"s":"ok"}`, "run", "events/callback/flow.yaml", "--name", "scanned")
}

// sendForm answers as a person does, by the first form of the page, which goes
// to the page itself.
func (s stack) sendForm(t *testing.T, path string) {
	t.Helper()
	if page := s.call(t, http.MethodGet, path, ""); !strings.Contains(page.body, `<form method="post">`) {
		t.Errorf("the page has no form to itself: %s", page.body)
	}
	got := s.call(t, http.MethodPost, path, url.Values{"output": {`{"status":"ok"}`}}.Encode(),
		"Content-Type", "application/x-www-form-urlencoded", "Accept", "text/html")
	if got.status != http.StatusOK || !strings.Contains(got.body, "The outcome is recorded") {
		t.Errorf("the form is answered %+v", got)
	}
}

// What is no outcome is refused and costs nothing, and what comes after the
// first outcome hears of that one.
func TestBodiesThatAreNone(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	text, run := s.waiting(t, "bodies")
	path := "/callbacks/" + text
	s.checkPosts(t,
		posted{path, "", http.StatusBadRequest, "cannot be read"},
		posted{path, "status=ok", http.StatusBadRequest, "cannot be read"},
		posted{path, `{"status":"ok"} {}`, http.StatusBadRequest, "cannot be read"},
		posted{path, strings.Repeat("[", 100_000), http.StatusBadRequest, ""},
		posted{path, `["ok"]`, http.StatusBadRequest, "allowed: an object"},
		posted{path, `{"status":"` + strings.Repeat("k", 40<<10) + `"}`, http.StatusRequestEntityTooLarge, "the limit is 32768"},
		posted{path, strings.Repeat(" ", 1<<20), http.StatusRequestEntityTooLarge, "the limit is"},
		posted{path + "/failure", "{}", http.StatusBadRequest, "no error"},
		posted{path + "/heartbeat", "", http.StatusOK, `"open":true`},
		posted{path, `{"status":"ok"}`, http.StatusOK, `"outcome":"success"`},
	)
	if exit := run.wait(); exit != view.ExitSucceeded {
		t.Errorf("exit %d", exit)
	}
	s.checkPosts(t, // the execution has ended
		posted{path, `{"status":"ok"}`, http.StatusOK, `"outcome":"success"`},
		posted{path, `{"status":"other"}`, http.StatusConflict, "a success was reported"},
		posted{path + "/failure", `{"error":"E"}`, http.StatusConflict, "a success was reported"},
		posted{path + "/heartbeat", "", http.StatusConflict, "a success was reported"},
	)
	if got := s.call(t, http.MethodPost, "/callbacks", `{"status":"ok"}`, "Authorization", "Bearer "+text); got.status != http.StatusOK {
		t.Errorf("as a bearer's: %+v", got)
	}
}

// An external engine accepts any JSON, within its own limit.
func TestBodiesForOthers(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	answer, err := lambda.NewFromConfig(emulator.Config(t)).Invoke(t.Context(), &lambda.InvokeInput{
		FunctionName: aws.String(s.name + "-StartJob"), Payload: []byte(`{"kind":"callback","taskToken":"an-unknown-task-token"}`),
	})
	if err != nil || answer.FunctionError != nil {
		t.Fatalf("%s: %v", answer.Payload, err)
	}
	var started jobs.StartResult
	if err := json.Unmarshal(answer.Payload, &started); err != nil {
		t.Fatal(err)
	}
	callback, err := url.Parse(started.CallbackURL)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.TrimPrefix(callback.Path, "/callbacks/")
	issued(text)
	keys := s.keys(t)
	handle, signature, _ := strings.Cut(text, ".")
	own, ok := token.HandleID(handle)
	if !ok || own.Flags&token.FlagExternal == 0 {
		t.Fatalf("no external token: %s", text)
	}
	own.Flags = 0
	s.checkPosts(t,
		posted{"/callbacks/" + keys.Handle(own) + "." + signature, `{}`, http.StatusNotFound, "the token is not valid"},
		posted{callback.Path, `"no`, http.StatusBadRequest, "cannot be read"},
		posted{callback.Path, `"` + strings.Repeat("k", 300<<10) + `"`, http.StatusRequestEntityTooLarge, "the limit is 262144"},
		posted{callback.Path + "/heartbeat", "", http.StatusOK, `"open":true`},
		posted{callback.Path, `"` + strings.Repeat("k", 200<<10) + `"`, http.StatusOK, `"outcome":"success"`},
		posted{callback.Path, `"other"`, http.StatusConflict, "a success was reported"},
	)
}

// A step with `signed: true` accepts a callback that is signed with the secret of the default
// sender.
func TestSignedCallback(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	const flow = `version: v1
type: flow
steps:
  - type: task
    name: Pay
    resourceArn: acs:fc:::services/any/functions/echo
    pattern: waitForCallback
    signed: true
    inputMappings: [{target: callback_url, source: $context.task.callbackUrl}]
`
	run := s.follow(t, "run", writeFlow(t, "signed", flow), "--name", "first")
	path := "/callbacks/" + run.token()
	const body = `{"paid":true}`
	for sender, status := range map[string]int{acmeSecret: http.StatusUnauthorized, "": http.StatusUnauthorized} {
		var header []string
		if sender != "" {
			header = signature(t, sender, path, body, time.Now())
		}
		if got := s.call(t, http.MethodPost, path, body, header...); got.status != status {
			t.Errorf("signed with %q: %+v", sender, got)
		}
	}
	if got := s.call(t, http.MethodPost, path, body, signature(t, signingSecret, path, body, time.Now())...); got.status != http.StatusOK {
		t.Errorf("signed: %+v", got)
	}
	if exit := run.wait(); exit != view.ExitSucceeded {
		t.Errorf("exit %d", exit)
	}
}

// signature are the headers of Standard Webhooks.
func signature(t *testing.T, secret, path, body string, at time.Time) []string {
	t.Helper()
	handle, _, _ := strings.Cut(strings.TrimPrefix(path, "/callbacks/"), ".")
	webhook, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := webhook.Sign(handle+"_1", at, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return []string{"webhook-id", handle + "_1", "webhook-timestamp", fmt.Sprint(at.Unix()), "webhook-signature", signed}
}
