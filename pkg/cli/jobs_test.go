package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/waitless/waitless/pkg/jobs"
)

func TestJobsList(t *testing.T) {
	t.Parallel()
	args := []string{"jobs", "list"}
	golden(t, "jobs/list.txt", do(t, args...).transcript(args...))
	conforms(t, "jobs", do(t, append(args, "--json")...).stdout)
}

// Every kind that a service stands behind has a policy, whose ARNs are of the
// account and the region that are named.
func TestJobsIAM(t *testing.T) {
	t.Parallel()
	for _, kind := range jobs.Kinds() {
		if kind.Service == "" {
			continue
		}
		got := do(t, "jobs", "iam", kind.Name, "--account", "123456789012", "--region", "eu-west-1")
		var allowed policy
		if err := json.Unmarshal([]byte(got.stdout), &allowed); err != nil || allowed.Version != "2012-10-17" || len(allowed.Statement) == 0 {
			t.Errorf("%s: %v in %s", kind.Name, err, got.stdout)
		}
		if !strings.Contains(got.stdout, ":eu-west-1:123456789012:") {
			t.Errorf("%s: nothing of the account: %s", kind.Name, got.stdout)
		}
		conforms(t, "policy", do(t, "jobs", "iam", kind.Name, "--json").stdout)
	}
}

func TestJobEventsThatNobodyTakes(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	if got := doWith(t, "", env, "start", pollingFlow, "--name", "any"); got.exit != ExitSucceeded {
		t.Fatal(got.stderr)
	}
	for stdin, want := range map[string]struct {
		exit int
		says string
	}{
		"{":                       {ExitUsage, "is no JSON"},
		"{}":                      {ExitUsage, "is no event"},
		string(anotherService(t)): {ExitSucceeded, "ignored: it tells of no end"},
		stoppedEvent(t):           {ExitSucceeded, "taken"},
		`"` + strings.Repeat("x", maxEvent) + `"`: {ExitUsage, "the request has 1048578 bytes and the limit is 1048576"},
	} {
		got := doWith(t, stdin, env, "job-events", "send", "-")
		if got.exit != want.exit || !strings.Contains(got.stdout+got.stderr, want.says) {
			t.Errorf("%.40s: exit %d, %s%s; want %d, %q", stdin, got.exit, got.stdout, got.stderr, want.exit, want.says)
		}
		if got.exit != ExitSucceeded && !strings.Contains(got.stderr, "\ntry: ") {
			t.Errorf("%.40s: nothing to try: %s", stdin, got.stderr)
		}
	}
}

func anotherService(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/events/another-service.json")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// An event that is sent while nobody works on the store waits for who does,
// unless the service has to confirm it.
func TestJobEventsWhileNothingRuns(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	for flow, provider := range map[string]string{batchFlow: "batch:SubmitJob=simulated", dmsFlow: "dms:StartReplicationTask=simulated"} {
		run := runInBackground(t, env, flow, "--name", "one", "--input", `{"queue":"q","definition":"d"}`, "--task", provider)
		run.awaits(`waits for its job (\S+)`)
		run.stop()
		if code := run.wait(); code != ExitInterrupted {
			t.Fatalf("exit %d", code)
		}
	}
	history := doWith(t, "", env, "history", "batch-callback/one", "--json").stdout
	id := regexp.MustCompile(`"job_id": "([^"]*)`).FindStringSubmatch(history)[1]
	event, err := os.ReadFile("../../events/batch-callback/succeeded.json")
	if err != nil {
		t.Fatal(err)
	}
	ended := strings.NewReplacer("{job_key}", "arn:aws:batch:us-east-1:123456789012:job/"+id, "{job_id}", id).Replace(string(event))
	if got := doWith(t, ended, env, "job-events", "send", "-"); got.exit != ExitSucceeded {
		t.Errorf("%+v", got)
	}
	if got := doWith(t, stoppedEvent(t), env, "job-events", "send", "-"); got.exit != ExitInternal || !strings.Contains(got.stderr, "try: the same again, while") {
		t.Errorf("%+v", got)
	}
	got := doWith(t, "", env, "run", batchFlow, "--name", "one", "--task", "batch:SubmitJob=simulated")
	if got.exit != ExitSucceeded || !strings.Contains(got.stdout, id) {
		t.Errorf("%+v", got)
	}
	if history := doWith(t, "", env, "history", "batch-callback/one", "--json").stdout; !strings.Contains(history, `"closedBy": "event"`) {
		t.Errorf("it was not the event that ended it: %s", history)
	}
}

// A stack takes no job events from its users, and tells where callbacks arrive.
func TestJobsOnAStack(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	got := s.do("job-events", "send", "testdata/events/another-service.json", "--stack", "waitless-test")
	if got.exit != ExitUsage || !strings.Contains(got.stderr, "on AWS the services send their own") {
		t.Errorf("%+v", got)
	}
}

// rules: E-10
func TestTokensRevoke(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	text := waitingToken(t, env, "revoked")
	got := doWith(t, "", env, "tokens", "revoke", text, "--cause", "sent to the wrong people", "--json")
	if got.exit != ExitSucceeded || !strings.Contains(got.stdout, `"error": "Token.Revoked"`) {
		t.Fatalf("%+v", got)
	}
	conforms(t, "token", got.stdout)
	got = doWith(t, "", env, "run", callbackFlow, "--name", "revoked")
	if got.exit != ExitFailed || !strings.Contains(got.stderr, "failed with Token.Revoked in step mytask: sent to the wrong people") {
		t.Errorf("%+v", got)
	}
}

func TestTokensURL(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	text := waitingToken(t, env, "waiting")
	for want, args := range map[string][]string{
		"http://127.0.0.1:8787/callbacks/": {},
		"https://example.com/x/callbacks/": {"--base", "https://example.com/x/"},
	} {
		got := doWith(t, "", env, append([]string{"tokens", "url", text}, args...)...)
		if got.exit != ExitSucceeded || got.stdout != want+text+"\n" {
			t.Errorf("%v: %+v", args, got)
		}
	}
	got := doWith(t, "", env, "tokens", "url", text, "--json")
	conforms(t, "callback", got.stdout)
	env[callbackVariable] = "https://example.org"
	if got := doWith(t, "", env, "tokens", "url", text); got.stdout != "https://example.org/callbacks/"+text+"\n" {
		t.Errorf("by the environment: %+v", got)
	}
	for name, args := range map[string][]string{"a forged token": {"a.forgery"}, "a base that is none": {text, "--base", "host"},
		"a base with a query": {text, "--base", "http://host?"}, "a base with a fragment": {text, "--base", "http://host#"},
		"a base with a user": {text, "--base", "http://user:password@host"}} {
		if got := doWith(t, "", env, append([]string{"tokens", "url"}, args...)...); got.exit != ExitUsage || !strings.Contains(got.stderr, "\ntry: ") ||
			strings.Contains(got.stderr, "password") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// serviceOfAWS answers as STS and Batch do.
func serviceOfAWS(t *testing.T) func(context.Context, ...func(*config.LoadOptions) error) (aws.Config, error) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			_, _ = io.WriteString(w, `<GetCallerIdentityResponse><GetCallerIdentityResult><Account>123456789012</Account>`+
				`</GetCallerIdentityResult></GetCallerIdentityResponse>`)
		case "/v1/submitjob":
			_, _ = io.WriteString(w, `{"jobArn":"arn:aws:batch:eu-west-1:123456789012:job/7","jobId":"7","jobName":"nightly-report"}`)
		default:
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprintf(w, `{"message":"nobody expects %s"}`, r.URL.Path)
		}
	}))
	t.Cleanup(server.Close)
	return func(context.Context, ...func(*config.LoadOptions) error) (aws.Config, error) {
		provider := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return user, nil })
		return aws.Config{Region: region, Credentials: provider, BaseEndpoint: &server.URL, RetryMaxAttempts: 1}, nil
	}
}

// A job that is left to AWS is started there, with the user's credentials.
func TestRunStartsJobsOnAWS(t *testing.T) {
	t.Parallel()
	flow := filepath.Join(t.TempDir(), "submit.yaml")
	text := "version: v1\ntype: flow\nsteps:\n  - type: task\n    name: Submit\n    action: batch:SubmitJob\n" +
		"    serviceParams: {jobName: nightly-report, jobQueue: night, jobDefinition: report}\n"
	if err := os.WriteFile(flow, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr strings.Builder
	c := Command{
		Args:   []string{"run", flow, "--task", "batch:SubmitJob=aws"},
		Stdout: &stdout, Stderr: &stderr, Getenv: environment(t, nil), loadAWS: serviceOfAWS(t),
	}
	want := `{"job_id":"7","job_key":"arn:aws:batch:eu-west-1:123456789012:job/7","kind":"batch-job"}` + "\n"
	if exit := c.Run(t.Context()); exit != ExitSucceeded || stdout.String() != want {
		t.Errorf("exit %d, %s%s", exit, stdout.String(), stderr.String())
	}
}
