package cli

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/internal/compose"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// checkARN names the function in a region of no configuration.
const checkARN = "arn:aws:lambda:ap-south-1:123456789012:function:check"

// lambdaAPI is a stand-in for Lambda's API that has one function, "check".
type lambdaAPI struct {
	*httptest.Server
	mu       sync.Mutex
	requests []*http.Request
}

func newLambdaAPI(t *testing.T, answer http.HandlerFunc) *lambdaAPI {
	t.Helper()
	api := &lambdaAPI{}
	mux := http.NewServeMux()
	for _, name := range []string{"check", checkARN} {
		mux.HandleFunc("POST /2015-03-31/functions/"+name+"/invocations", answer)
		mux.HandleFunc("GET /2015-03-31/functions/"+name+"/configuration", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"Timeout":7}`)
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Amzn-ErrorType", "ResourceNotFoundException")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"Message":"Function not found"}`)
	})
	api.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		api.mu.Lock()
		api.requests = append(api.requests, r)
		api.mu.Unlock()
		afterReading(mux).ServeHTTP(w, r)
	}))
	t.Cleanup(api.Close)
	return api
}

// asked are the requests so far.
func (l *lambdaAPI) asked() []*http.Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.requests
}

// callOnce calls function f, which is as the definition says.
func callOnce(t *testing.T, definition string, limit time.Duration) token.Outcome {
	t.Helper()
	clock := local.NewVirtualClock(time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC))
	tasks, err := local.NewFunctions(clock, map[string]string{"f": definition})
	if err != nil {
		t.Fatal(err)
	}
	getenv := environment(t, nil)
	c := Command{Stores: compose.Stores{}, Getenv: getenv, settings: &settings{getenv: getenv}, AWS: loader(nowhere)}
	made, err := c.configOf(t.Context(), clock, tasks)
	if err != nil {
		t.Fatal(err)
	}
	call := testCallOf("f")
	call.Limit = limit
	outcome, err := made.Functions.Call(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	return outcome
}

// testCallOf is a call of a function by its alias.
func testCallOf(function string) machine.Call {
	return machine.Call{
		Step: "F", Resource: flow.Resource{Text: "acs:fc:::services/s.live/functions/" + function, Service: "s", Qualifier: "live", Function: function},
		Input: value.Object(value.Member{Key: "a", Value: value.Int(1)}),
	}
}

// nowhere is the environment of a user without a configuration.
func nowhere(context.Context, ...func(*config.LoadOptions) error) (aws.Config, error) {
	return aws.Config{}, nil
}

// hangs sends no response before the caller is gone.
func hangs(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// afterReading calls the handler once the whole request has arrived. With a part of it unread, the
// client may report its own broken write instead of the response.
func afterReading(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		handler.ServeHTTP(w, r)
	})
}

func breaksOff(w http.ResponseWriter, _ *http.Request) {
	if connection, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = connection.Close()
	}
}

func says(status int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}

// throws answers as Lambda does for a function that ended with an error.
func throws(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Amz-Function-Error", "Unhandled")
		_, _ = io.WriteString(w, text)
	}
}

func echoes(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }

// Whatever runs a function, the same end of a call is the same outcome.
func TestRunnersAgree(t *testing.T) {
	t.Parallel()
	const large = 6<<20 + 1
	const ended = `{"errorType":"JobNotFound","errorMessage":"no job 7"}`
	const silent = `{"errorType":"JobNotFound"}`
	for _, tt := range []struct {
		name         string
		exec         string // nothing where it cannot come to that
		http, lambda http.HandlerFunc
		limit        time.Duration
		output       string // or
		error, cause string
		thrown       bool
	}{
		{name: "an answer", exec: "cat", http: echoes, lambda: echoes, output: `{"a":1}`},
		{name: "another value", exec: "echo '[1.50]'", http: says(200, "[1.50]"), lambda: says(200, "[1.50]"), output: `[1.50]`},
		{
			name: "no JSON", exec: "echo hello", http: says(200, "hello"), lambda: says(200, "hello"),
			error: "FnF.InvalidLocal", cause: `answered "hello`,
		},
		{name: "nothing", exec: "true", http: says(200, ""), lambda: says(200, ""), error: "FnF.InvalidLocal", cause: "answered nothing"},
		{
			name: "too large", exec: fmt.Sprintf("head -c %d /dev/zero", large),
			http: says(200, strings.Repeat(" ", large)), lambda: says(200, strings.Repeat(" ", large)),
			error: "FnF.InvalidLocal", cause: "answered more than 6291456 bytes, which is the limit; write large data elsewhere and answer with its place",
		},
		{name: "too slow", exec: "sleep 1000", http: hangs, lambda: hangs, limit: 50 * time.Millisecond, error: "FnF.TaskTimeout", cause: "took longer than 50ms"},
		{
			name: "an error of its own", exec: "sh -c 'echo \"$0\"; exit 3' '" + ended + "'", http: says(500, ended), lambda: throws(ended),
			error: "JobNotFound", cause: "no job 7", thrown: true,
		},
		{
			name: "an error without a message", exec: "sh -c 'echo \"$0\"; exit 3' '" + silent + "'", http: says(500, silent), lambda: throws(silent),
			error: "JobNotFound", cause: "failed and did not say why", thrown: true,
		},
		{name: "an error without a type", exec: "sh -c 'echo no job 7 >&2; exit 3'", error: token.ErrorFunction, cause: "no job 7"},
		{name: "unknown", http: breaksOff, lambda: breaksOff, error: token.ErrorUnknown, cause: "EOF"},
		{name: "not there", http: says(404, ""), lambda: says(404, ""), error: token.ErrorFunctionNotFound, cause: "check"},
		{name: "forbidden", http: says(403, ""), lambda: says(403, ""), error: token.ErrorAccessDenied, cause: "check"},
		{name: "throttled", http: says(503, ""), lambda: says(503, ""), error: token.ErrorThrottled, cause: "check"},
		{name: "broken", http: says(502, ""), lambda: says(502, ""), error: token.ErrorServer, cause: "check"},
	} {
		definitions := map[string]string{}
		if tt.http != nil {
			server, api := httptest.NewServer(afterReading(tt.http)), newLambdaAPI(t, tt.lambda)
			t.Cleanup(server.Close)
			definitions["http"], definitions["lambda"] = server.URL+"/check", "lambda:check@"+api.URL
		}
		if tt.exec != "" {
			definitions["exec"] = "exec:" + tt.exec
		}
		for name, definition := range definitions {
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				outcome := callOnce(t, definition, tt.limit)
				if outcome.Error != tt.error || outcome.Thrown != tt.thrown || !strings.Contains(outcome.Cause, tt.cause) ||
					!outcome.Failed() && outcome.Output.JSON() != tt.output {
					t.Errorf("the outcome is %s %q, output %s", outcome.Error, outcome.Cause, outcome.Output.JSON())
				}
			})
		}
	}
}

// An endpoint of one's own is called without a region, credentials and a look at
// the function's limit, and by the name of the definition alone.
func TestLambdaFunctionAtAnEndpointReceivesTheCall(t *testing.T) {
	t.Parallel()
	api := newLambdaAPI(t, echoes)
	if outcome := callOnce(t, "lambda:check@"+api.URL, 0); outcome.Output.JSON() != `{"a":1}` {
		t.Errorf("the outcome is %+v", outcome)
	}
	asked := api.asked()
	if len(asked) != 1 || asked[0].URL.RawQuery != "" {
		t.Fatalf("%d requests, the first %v", len(asked), asked[0].URL)
	}
	known, err := base64.StdEncoding.DecodeString(asked[0].Header.Get("X-Amz-Client-Context"))
	if err != nil || !strings.Contains(string(known), `"WAITLESS_NOW":"2026-01-31T10:00:00Z"`) {
		t.Errorf("the client context is %s, error %v", known, err)
	}
	if outcome := callOnce(t, "lambda:check:live@"+api.URL, 0); outcome.Error != token.ErrorFunctionNotFound && api.asked()[1].URL.RawQuery != "Qualifier=live" {
		t.Errorf("the outcome is %+v of %v", outcome, api.asked()[1].URL)
	}
}

const callsCheck = "version: v1\ntype: flow\nsteps:\n" +
	"  - {type: task, name: Check, resourceArn: 'acs:fc:::services/s/functions/check', outputMappings: [{target: n, source: $local.n}]}\n"

// On AWS a function has the limit that it says, and the user's region and
// credentials.
func TestRunCallsALambdaFunctionOnAWS(t *testing.T) {
	t.Parallel()
	flow := writeFile(t, "flow.yaml", callsCheck)
	api := newLambdaAPI(t, says(200, `{"n":1}`))
	onAWS := func(configuration aws.Config, name string) result {
		var stdout, stderr strings.Builder
		c := Command{
			Args: []string{"run", flow, "--task", "check=lambda:" + name}, Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
			Stores: compose.Stores{}, Getenv: environment(t, nil), AWS: loader(func(context.Context, ...func(*config.LoadOptions) error) (aws.Config, error) {
				return configuration, nil
			}),
		}
		exit := c.Run(t.Context())
		return result{exit, stdout.String(), stderr.String()}
	}
	credentials := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "mine", SecretAccessKey: "mine"}, nil
	})
	got := onAWS(aws.Config{Region: "eu-west-1", BaseEndpoint: &api.URL, Credentials: credentials}, "check")
	if got.exit != view.ExitSucceeded || got.stdout != `{"n":1}`+"\n" {
		t.Errorf("exit %d: %s%s", got.exit, got.stdout, got.stderr)
	}
	limits := 0
	for _, r := range api.asked() {
		if strings.HasSuffix(r.URL.Path, "/configuration") {
			limits++
		}
		if !strings.Contains(r.Header.Get("Authorization"), "Credential=mine/") || !strings.Contains(r.Header.Get("Authorization"), "/eu-west-1/lambda/") {
			t.Errorf("%s is signed with %s", r.URL.Path, r.Header.Get("Authorization"))
		}
	}
	if limits != 1 {
		t.Errorf("the limit was looked up %d times", limits)
	}
	if got := onAWS(aws.Config{Credentials: credentials}, "check"); got.exit != view.ExitUsage || !strings.Contains(got.stderr, "no region is configured") {
		t.Errorf("without a region: exit %d: %s", got.exit, got.stderr)
	}
	if got := onAWS(aws.Config{Region: "eu-west-1"}, "check"); got.exit != view.ExitInternal || !strings.Contains(got.stderr, "there are no AWS credentials") {
		t.Errorf("without credentials: exit %d: %s", got.exit, got.stderr)
	}
	for _, region := range []string{"", "eu-west-1"} {
		before := len(api.asked())
		got := onAWS(aws.Config{Region: region, BaseEndpoint: &api.URL, Credentials: credentials}, checkARN)
		if got.exit != view.ExitSucceeded || got.stdout != `{"n":1}`+"\n" {
			t.Errorf("by its ARN, in region %q: exit %d: %s%s", region, got.exit, got.stdout, got.stderr)
		}
		for _, r := range api.asked()[before:] {
			if !strings.Contains(r.Header.Get("Authorization"), "/ap-south-1/lambda/") {
				t.Errorf("%s is signed with %s", r.URL.Path, r.Header.Get("Authorization"))
			}
		}
	}
}

// An answer that is no larger than a function may answer, but than a step may
// hold, fails the step with the limit, with every runner.
func TestResultOfTwoMegabytesExceedsTheLimit(t *testing.T) {
	t.Parallel()
	flow := writeFile(t, "flow.yaml", callsCheck)
	large := says(200, `{"n":"`+strings.Repeat("x", 2<<20)+`"}`)
	server, api := httptest.NewServer(large), newLambdaAPI(t, large)
	t.Cleanup(server.Close)
	for name, definition := range map[string]string{
		"exec":   `exec:sh -c 'printf "{\"n\":\""; head -c 2097152 /dev/zero | tr "\0" x; printf "\"}"'`,
		"http":   server.URL,
		"lambda": "lambda:check@" + api.URL,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := do(t, "run", flow, "--skip-time", "--task", "check="+definition)
			if got.exit != view.ExitFailed || !strings.Contains(got.stderr, "failed with FnF.DataLimitExceeded in step Check") ||
				!strings.Contains(got.stderr, "2097") ||
				!strings.Contains(got.stderr, "32768") || len(got.stderr) > 2000 {
				t.Errorf("exit %d: %.2000s", got.exit, got.stderr)
			}
		})
	}
}

// Of a definition that is not usable nothing secret is shown.
func TestUnusableURLs(t *testing.T) {
	t.Parallel()
	got := do(t, "run", writeFile(t, "flow.yaml", callsCheck), "--skip-time", "--task", "check=https://me:secret@:80/x?key=secret")
	if got.exit != view.ExitUsage || strings.Contains(got.stderr, "secret") ||
		!strings.Contains(got.stderr, `"https://...@:80/x?..." names no host; allowed: exec:COMMAND, http://HOST/PATH`) {
		t.Errorf("exit %d: %s", got.exit, got.stderr)
	}
	for _, task := range []string{
		"https://me:secret@host/x", "https://me:secret@host/x?key=secret", "=https://me:secret@host", "check=htps://me:secret@host",
	} {
		for _, args := range [][]string{{"run", writeFile(t, "flow.yaml", callsCheck), "--skip-time"}, {"dev", "--store", t.TempDir()}} {
			if got := do(t, append(args, "--task", task)...); got.exit != view.ExitUsage || strings.Contains(got.stderr, "secret") {
				t.Errorf("%s: exit %d: %s", task, got.exit, got.stderr)
			}
		}
	}
	got = do(t, "dev", "--store", t.TempDir(), "--task", "batch:SubmitJob=https://me:secret@host")
	if got.exit != view.ExitUsage || strings.Contains(got.stderr, "secret") {
		t.Errorf("exit %d: %s", got.exit, got.stderr)
	}
}

// A name that is misspelt is rejected with the nearest one, also where no flow is known that calls
// it.
func TestTasksWithMisspeltNames(t *testing.T) {
	t.Parallel()
	flow := writeFile(t, "flow.yaml", "version: v1\ntype: flow\nsteps:\n  - type: pass\n    name: Any\n")
	for task, want := range map[string]string{
		"batch:SubmitJbo=simulated": `"batch:SubmitJbo" is no action that starts a job; did you mean "batch:SubmitJob"?`,
		"batch:SubmitJob=simulatd":  `"simulatd" is not usable for an action; did you mean "simulated"?`,
		"dynamodb:PutItme=aws": `task dynamodb:PutItme: action "dynamodb:PutItme": service "dynamodb" ` +
			`has no operation "PutItme"; did you mean "dynamodb:PutItem"?`,
		"dynamodb:DeleteItm=exec:cat": `did you mean "dynamodb:DeleteItem"?`,
		"dynamodb:PutItem=simulated":  `operation "dynamodb:PutItem" is not simulated; allowed: aws, exec:COMMAND`,
		"custom:render=aws":           `task custom:render: the kind has no Lambda function; write its ARN as function of custom:render in kinds of `,
		"batch:SubmtJob=aws":          `did you mean "batch:SubmitJob"?`,
	} {
		if got := doWith(t, "", inStore(t), "dev", "--task", task); got.exit != view.ExitUsage || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: %+v", task, got)
		}
		name, definition, _ := strings.Cut(task, "=")
		file := writeFile(t, "waitless.yaml", "tasks:\n  '"+name+"': "+definition+"\n")
		if strings.Contains(want, "did you mean") && !strings.Contains(task, "=sim") { // of an operation: also where no step calls it
			if got := do(t, "run", flow, "--skip-time", "--config", file); got.exit != view.ExitUsage || !strings.Contains(got.stderr, file+":2:") {
				t.Errorf("%s in a file of run: %+v", task, got)
			}
		}
		got := doWith(t, "", inStore(t), "dev", "--config", file)
		if got.exit != view.ExitUsage || !strings.Contains(got.stderr, file+":2:") || !strings.Contains(got.stderr, want) {
			t.Errorf("%s in a file: %+v", task, got)
		}
	}
}
