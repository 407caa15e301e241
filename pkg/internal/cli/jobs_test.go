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

	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/internal/compose"
	"github.com/waitless/waitless/pkg/jobs"
)

func TestJobsList(t *testing.T) {
	t.Parallel()
	args := []string{"jobs", "list"}
	golden(t, "jobs/list.txt", do(t, args...).transcript(args...))
	conforms(t, "jobs", do(t, append(args, "--json")...).stdout)
}

// Each kind has a policy to start jobs, a kind with an end another to describe them, and one whose
// service can stop them a third. Their ARNs are of the account and region that are named.
func TestJobsIAM(t *testing.T) {
	t.Parallel()
	for _, kind := range jobs.Kinds() {
		if kind.Service == "" {
			continue
		}
		got := do(t, "jobs", "iam", kind.Name, "--account", "123456789012", "--region", "eu-west-1", "--json")
		conforms(t, "policy", got.stdout)
		var report policyReport
		if err := json.Unmarshal([]byte(got.stdout), &report); err != nil || len(report.Start.Statement) == 0 {
			t.Fatalf("%s: %v in %s", kind.Name, err, got.stdout)
		}
		if (report.Describe != nil) != kind.HasEnd() {
			t.Errorf("%s: a policy to describe: %t", kind.Name, report.Describe != nil)
		}
		if (report.Stop != nil) != kind.CanStop() {
			t.Errorf("%s: a policy to stop: %t", kind.Name, report.Stop != nil)
		}
		if !strings.Contains(got.stdout, ":123456789012:") || strings.Contains(got.stdout, ":*:") || strings.Contains(got.stdout, "REGION") {
			t.Errorf("%s: not of the account: %s", kind.Name, got.stdout)
		}
	}
	for name, args := range map[string][]string{
		"operation":     {"jobs", "iam", "stepfunctions:DescribeExecution"},
		"query":         {"jobs", "iam", "docdb:DescribeDBClusters"},
		"batch-job":     {"jobs", "iam", "batch-job", "--account", "123456789012", "--region", "eu-west-1"},
		"textract-text": {"jobs", "iam", "textract-text", "--account", "123456789012", "--region", "eu-west-1"},
		"sqs-message":   {"jobs", "iam", "sqs-message", "--resource", "arn:aws:sqs:eu-west-1:123456789012:orders"},
	} {
		golden(t, "jobs/iam-"+name+".txt", do(t, args...).transcript(args...))
	}
}

// The rights of an action are those of the function that calls it: an action of a job or a message
// is that of its kind.
func TestJobsIAMOfActions(t *testing.T) {
	t.Parallel()
	place := []string{"--account", "123456789012", "--region", "eu-west-1"}
	for action, kind := range map[string]string{"sns:Publish": "sns-message", "batch:SubmitJob": "batch-job"} {
		want := do(t, append([]string{"jobs", "iam", kind}, place...)...).stdout
		if got := do(t, append([]string{"jobs", "iam", action}, place...)...); got.stdout != want || !strings.Contains(want, "start (JobPolicies)") {
			t.Errorf("%s: %+v, want %s", action, got, want)
		}
	}
	for args, want := range map[string]string{
		"lambda:Invoke":                             `"lambda:InvokeFunction"`,
		"dynamodb":                                  "try: waitless jobs list, or waitless jobs iam dynamodb:PutItem for an operation",
		"dynamodb:PutItem --resource orders":        `--resource "orders" is no ARN`,
		"dynamodb:PutItem --resource *":             `"*"`,
		"dynamodb:PutItem --resource " + queueARN:   "note: " + queueARN + " is of sqs, and dynamodb:PutItem a right of dynamodb",
		"ssm:SendCommand --resource " + documentARN: documentARN,
	} {
		got := do(t, append([]string{"jobs", "iam"}, strings.Fields(args)...)...)
		if !strings.Contains(got.stdout+got.stderr, want) {
			t.Errorf("%s: %+v, want %s", args, got, want)
		}
	}
}

const (
	queueARN    = "arn:aws:sqs:eu-west-1:123456789012:orders"
	documentARN = "arn:aws:ssm:eu-west-1:123456789012:document/any"
)

// The account and region come from the configuration if nothing names them, and
// are not guessed.
func TestJobsIAMPlace(t *testing.T) {
	t.Parallel()
	profiles := map[string]config.SharedConfig{
		"keys": {Credentials: aws.Credentials{AccountID: "111111111111"}}, "sso": {SSOAccountID: "222222222222"},
		"role": {SSOAccountID: "222222222222", RoleARN: "arn:aws:iam::333333333333:role/r"},
	}
	for name, tt := range map[string]struct {
		env           map[string]string
		profile, want string
		args          []string
	}{
		"keys":                {nil, "keys", "eu-west-1:111111111111", nil},
		"single sign-on":      {nil, "sso", "eu-west-1:222222222222", nil},
		"role":                {nil, "role", "eu-west-1:333333333333", nil},
		"environment":         {map[string]string{"AWS_ACCOUNT_ID": "444444444444"}, "role", "eu-west-1:444444444444", nil},
		"flags":               {nil, "role", "us-east-1:555555555555", []string{"--account", "555555555555", "--region", "us-east-1"}},
		"keys of another":     {map[string]string{"AWS_ACCESS_KEY_ID": "k"}, "role", "try: --account 123456789012", nil},
		"no account":          {nil, "", "no account is configured\ntry: --account 123456789012", nil},
		"any account":         {nil, "role", `account "*" is not 12 digits`, []string{"--account", "*"}},
		"any region":          {nil, "role", `"*" is not a region of AWS`, []string{"--region", "*"}},
		"a resource":          {nil, "", "arn:aws:sqs:us-west-2:666666666666:a", []string{"--resource", "arn:aws:sqs:us-west-2:666666666666:a"}},
		"another's resource":  {nil, "role", "is no ARN that a right of this kind", []string{"--resource", "arn:aws:sns:us-west-2:666666666666:a"}},
		"resource of any one": {nil, "role", `account "*" is not`, []string{"--resource", "arn:aws:sqs:us-west-2:*:a"}},
	} {
		var stdout, stderr strings.Builder
		c := Command{
			Args: append([]string{"jobs", "iam", "sqs-message"}, tt.args...), Stdout: &stdout, Stderr: &stderr, Stores: compose.Stores{}, Getenv: environment(t, tt.env),
			AWS: loader(func(context.Context, ...func(*config.LoadOptions) error) (aws.Config, error) {
				return aws.Config{Region: region, ConfigSources: []any{profiles[tt.profile]}}, nil
			}),
		}
		if exit := c.Run(t.Context()); !strings.Contains(stdout.String()+stderr.String(), tt.want) {
			t.Errorf("%s: exit %d, %s%s; want %s", name, exit, stdout.String(), stderr.String(), tt.want)
		}
	}
	c := Command{
		Args: []string{"jobs", "iam", "sqs-message"}, Stdout: io.Discard, Getenv: environment(t, map[string]string{"AWS_ACCOUNT_ID": "444444444444"}),
	}
	var stderr strings.Builder
	c.Stderr = &stderr
	c.AWS = loader(func(context.Context, ...func(*config.LoadOptions) error) (aws.Config, error) {
		return aws.Config{}, nil
	})
	if exit := c.Run(t.Context()); exit != view.ExitUsage || !strings.Contains(stderr.String(), "try: --region eu-west-1") {
		t.Errorf("no region: exit %d, %s", exit, stderr.String())
	}
}

func TestJobEventsRejectedOrIgnored(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	if got := doWith(t, "", env, "start", pollingFlow, "--name", "any"); got.exit != view.ExitSucceeded {
		t.Fatal(got.stderr)
	}
	for stdin, want := range map[string]struct {
		exit int
		says string
	}{
		"{":                                    {view.ExitUsage, "is no JSON"},
		"{}":                                   {view.ExitUsage, "not an event of a job"},
		string(anotherService(t)):              {view.ExitSucceeded, "ignored: it does not report the end"},
		stoppedEvent(t):                        {view.ExitSucceeded, "parked: no token waits for the job"},
		`"` + strings.Repeat("x", 1<<20) + `"`: {view.ExitUsage, "the request has 1048578 bytes and the limit is 1048576"},
	} {
		got := doWith(t, stdin, env, "job-events", "send", "-")
		if got.exit != want.exit || !strings.Contains(got.stdout+got.stderr, want.says) {
			t.Errorf("%.40s: exit %d, %s%s; want %d, %q", stdin, got.exit, got.stdout, got.stderr, want.exit, want.says)
		}
		if got.exit != view.ExitSucceeded && !strings.Contains(got.stderr, "\ntry: waitless docs jobs") && stdin != "{" {
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

// An event that is sent while no worker runs on the store waits for one,
// unless the service has to confirm it.
func TestJobEventsWhileNothingRuns(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	for flow, provider := range map[string]string{batchFlow: "batch:SubmitJob=simulated", dmsFlow: "dms:StartReplicationTask=simulated"} {
		run := runInBackground(t, env, flow, "--name", "one", "--input", `{"queue":"q","definition":"d"}`, "--task", provider)
		run.awaits(`waits for its job (\S+)`)
		run.stop()
		if code := run.wait(); code != view.ExitInterrupted {
			t.Fatalf("exit %d", code)
		}
	}
	history := doWith(t, "", env, "history", "batch-callback/one", "--json").stdout
	id := regexp.MustCompile(`"job_id": "([^"]*)`).FindStringSubmatch(history)[1]
	if shown := doWith(t, "", env, "show", "batch-callback/one").stdout; !regexp.MustCompile(`\njob +\w+: batch-job ` + id + `\n`).MatchString(shown) {
		t.Errorf("the job %s is not shown:\n%s", id, shown)
	}
	shown := doWith(t, "", env, "show", "batch-callback/one", "--json").stdout
	if conforms(t, "execution", shown); !strings.Contains(shown, `"id": "`+id+`"`) {
		t.Errorf("the job %s is not in the JSON:\n%s", id, shown)
	}
	event, err := os.ReadFile("../../../events/batch-callback/succeeded.json")
	if err != nil {
		t.Fatal(err)
	}
	ended := strings.NewReplacer("{job_key}", "arn:aws:batch:us-east-1:123456789012:job/"+id, "{job_id}", id).Replace(string(event))
	if got := doWith(t, ended, env, "job-events", "send", "-"); got.stdout != "accepted: the job of batch-callback/one\n" {
		t.Errorf("%+v", got)
	}
	got := doWith(t, stoppedEvent(t), env, "job-events", "send", "-")
	if got.exit != view.ExitInternal || !strings.Contains(got.stderr, "while waitless run or waitless dev works") {
		t.Errorf("%+v", got)
	}
	got = doWith(t, "", env, "run", batchFlow, "--name", "one", "--task", "batch:SubmitJob=simulated")
	if got.exit != view.ExitSucceeded || !strings.Contains(got.stdout, id) {
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
	if got.exit != view.ExitUsage || !strings.Contains(got.stderr, "on AWS the services send their own") {
		t.Errorf("%+v", got)
	}
}

// rules: E-10
func TestTokensRevoke(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	text := waitingToken(t, env, "revoked")
	got := doWith(t, "", env, "tokens", "revoke", text, "--cause", "sent to the wrong people", "--json")
	if got.exit != view.ExitSucceeded || !strings.Contains(got.stdout, `"error": "Token.Revoked"`) {
		t.Fatalf("%+v", got)
	}
	conforms(t, "token", got.stdout)
	got = doWith(t, "", env, "run", callbackFlow, "--name", "revoked")
	if got.exit != view.ExitFailed || !strings.Contains(got.stderr, "mytask failed: Token.Revoked: sent to the wrong people") {
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
		note := "no process listens at http://127.0.0.1:8787; start one: waitless dev\n"
		if len(args) > 0 {
			note = "" // another listener, or a proxy
		}
		if got.exit != view.ExitSucceeded || got.stdout != want+text+"\n" || got.stderr != note {
			t.Errorf("%v: %+v", args, got)
		}
	}
	got := doWith(t, "", env, "tokens", "url", text, "--json")
	conforms(t, "callback", got.stdout)
	env[callbackVariable] = "https://example.org"
	if got := doWith(t, "", env, "tokens", "url", text); got.stdout != "https://example.org/callbacks/"+text+"\n" {
		t.Errorf("by the environment: %+v", got)
	}
	for name, args := range map[string][]string{"a forged token": {"a.forgery"}, "a base that is not a URL": {text, "--base", "host"},
		"a base with a query": {text, "--base", "http://host?"}, "a base with a fragment": {text, "--base", "http://host#"},
		"a base with a user": {text, "--base", "http://user:password@host"}} {
		if got := doWith(t, "", env, append([]string{"tokens", "url"}, args...)...); got.exit != view.ExitUsage || !strings.Contains(got.stderr, "\ntry: ") ||
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
			_, _ = fmt.Fprintf(w, `{"message":"unexpected path %s"}`, r.URL.Path)
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
		Stdout: &stdout, Stderr: &stderr, Stores: compose.Stores{}, Getenv: environment(t, nil), AWS: loader(serviceOfAWS(t)),
	}
	want := `{"job_id":"7","job_key":"arn:aws:batch:eu-west-1:123456789012:job/7","kind":"batch-job"}` + "\n"
	if exit := c.Run(t.Context()); exit != view.ExitSucceeded || stdout.String() != want {
		t.Errorf("exit %d, %s%s", exit, stdout.String(), stderr.String())
	}
}
