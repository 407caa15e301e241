package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/waitless/waitless/pkg/internal/cli/target"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/internal/compose"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/store"
)

// stack plays a deployed stack: the management API over a system in memory,
// behind a gateway that verifies signatures, and CloudFormation, which tells
// where it is.
type stack struct {
	t        *testing.T
	system   *local.System
	store    *store.Memory
	api      http.Handler
	gateway  *httptest.Server
	requests atomic.Int32 // that came in
	failing  atomic.Int32 // how many more of them the gateway fails
	output   string       // of its stack; empty means its endpoint
}

var (
	user = aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "secret", SessionToken: "session"}
	// someoneElse has another key of the same name.
	someoneElse = aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "other"}
)

const region = "eu-west-1"

func newStack(t *testing.T) *stack {
	t.Helper()
	store := &store.Memory{}
	s := &stack{t: t, system: local.New(local.Config{Store: store}), store: store}
	s.api = target.API(s.system, store, target.Unfired(store))
	s.gateway = httptest.NewServer(s)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.system.Serve(ctx) }()
	t.Cleanup(func() {
		s.gateway.Close()
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the system ended with %v", err)
		}
	})
	return s
}

// ServeHTTP lets signed requests through to the stage "live".
func (s *stack) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	if s.failing.Add(-1) >= 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"message":"Service Unavailable"}`)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Error(err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	switch {
	case r.URL.Path == "/":
		s.describeStacks(w, string(body))
	case !isSigned(r, body):
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"message":"Forbidden"}`)
	default:
		http.StripPrefix("/live", s.api).ServeHTTP(w, r)
	}
}

var signedHeaders = regexp.MustCompile(`SignedHeaders=([^,]*)`)

// isSigned signs what was signed again, and compares.
func isSigned(r *http.Request, body []byte) bool {
	named := signedHeaders.FindStringSubmatch(r.Header.Get("Authorization"))
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if named == nil || err != nil || time.Since(at).Abs() > 5*time.Minute {
		return false
	}
	again, err := http.NewRequestWithContext(r.Context(), r.Method, "http://"+r.Host+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return false
	}
	for _, key := range strings.Split(named[1], ";") {
		if key != "host" && key != "content-length" {
			again.Header[http.CanonicalHeaderKey(key)] = r.Header.Values(key)
		}
	}
	hash := sha256.Sum256(body)
	if err := v4.NewSigner().SignHTTP(r.Context(), user, again, hex.EncodeToString(hash[:]), "execute-api", region, at); err != nil {
		return false
	}
	return again.Header.Get("Authorization") == r.Header.Get("Authorization")
}

// describeStacks answers as CloudFormation does.
func (s *stack) describeStacks(w http.ResponseWriter, request string) {
	const member = `<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>s</StackName><CreationTime>2026-01-31T10:00:00Z</CreationTime>` +
		`<StackStatus>CREATE_COMPLETE</StackStatus><Outputs>%s</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`
	switch {
	case strings.Contains(request, "StackName=waitless-test&"):
		_, _ = fmt.Fprintf(w, member, "<member><OutputKey>Other</OutputKey><OutputValue>x</OutputValue></member>"+
			"<member><OutputKey>ApiEndpoint</OutputKey><OutputValue>"+cmp.Or(s.output, s.endpoint())+"</OutputValue></member>")
	case strings.Contains(request, "StackName=foreign&"):
		_, _ = fmt.Fprintf(w, member, "")
	default:
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `<ErrorResponse><Error><Type>Sender</Type><Code>ValidationError</Code>`+
			`<Message>Stack with id x does not exist</Message></Error></ErrorResponse>`)
	}
}

func (s *stack) endpoint() string { return s.gateway.URL + "/live" }

// like a user's AWS configuration; nil for none.
func (s *stack) as(who *aws.Credentials) func(context.Context, ...func(*config.LoadOptions) error) (aws.Config, error) {
	return func(context.Context, ...func(*config.LoadOptions) error) (aws.Config, error) {
		provider := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			if who == nil {
				return aws.Credentials{}, errors.New("no user is logged in")
			}
			return *who, nil
		})
		return aws.Config{Region: region, Credentials: provider, BaseEndpoint: &s.gateway.URL, RetryMaxAttempts: 1}, nil
	}
}

// do runs the program with the user's credentials.
func (s *stack) do(args ...string) result {
	s.t.Helper()
	return s.doAs(&user, map[string]string{"WAITLESS_ENDPOINT": s.endpoint()}, args...)
}

func (s *stack) doAs(who *aws.Credentials, env map[string]string, args ...string) result {
	s.t.Helper()
	var stdout, stderr bytes.Buffer
	c := Command{
		Args: args, Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Stores: compose.Stores{}, Getenv: environment(s.t, env), AWS: loader(s.as(who)),
		pause: func(int) time.Duration { return 0 },
	}
	exit := c.Run(s.t.Context())
	return result{exit, stdout.String(), stderr.String()}
}

// begin runs the program in the background.
func (s *stack) begin(args ...string) *running {
	s.t.Helper()
	ctx, stop := context.WithCancel(s.t.Context())
	r := &running{t: s.t, stop: stop, said: make(chan string, 1000), exit: make(chan int, 1)}
	c := Command{
		Args: args, Stdin: strings.NewReader(""), Stdout: &r.stdout, AWS: loader(s.as(&user)),
		Stores: compose.Stores{}, Getenv: environment(s.t, map[string]string{"WAITLESS_ENDPOINT": s.endpoint()}),
		Stderr: writerFunc(func(p []byte) (int, error) {
			r.said <- string(p)
			return len(p), nil
		}),
	}
	go func() { r.exit <- c.Run(ctx) }()
	s.t.Cleanup(stop)
	return r
}

var (
	anInstant = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?`)
	aDuration = regexp.MustCompile(`(?m)^ +\d+\.\ds|"elapsedSeconds": [\d.]+`)
	aToken    = regexp.MustCompile(`[A-Za-z0-9_-]{30}\.[A-Za-z0-9_-]{43}|\.\.\.[A-Za-z0-9_-]{6}`)
	aPlace    = regexp.MustCompile(` --(store|endpoint|stack) \S+`)
)

// timeless is a text without what differs from one run to the next.
func timeless(text string) string {
	text = anInstant.ReplaceAllString(withoutIDs(text), "INSTANT")
	text = aDuration.ReplaceAllString(text, "DURATION")
	text = aToken.ReplaceAllString(text, "TOKEN")
	return aPlace.ReplaceAllString(text, "")
}

func wantSame(t *testing.T, args []string, onStack, inStore result) {
	t.Helper()
	onStack.stdout, onStack.stderr = timeless(onStack.stdout), timeless(onStack.stderr)
	inStore.stdout, inStore.stderr = timeless(inStore.stdout), timeless(inStore.stderr)
	if onStack != inStore {
		t.Errorf("waitless %s\non the stack: %+v\nin the store: %+v", strings.Join(args, " "), onStack, inStore)
	}
}

// The commands print the same on a stack as in a store, and end alike.
func TestCommandsOnAStack(t *testing.T) {
	t.Parallel()
	s, env := newStack(t), inStore(t)
	const refuse, pass, fails = "testdata/flows/refuse.yaml", "testdata/flows/pass.yaml", `{"amount":101}`
	for _, args := range [][]string{
		{"run", pass, "--name", "a", "--input", `{"n":1}`}, {"run", pass, "--name", "a"}, {"run", pass, "--name", "a", "--input", `{"n":2}`},
		{"run", pass, "--name", "b", "--json"}, {"run", refuse, "--name", "c", "--input", fails}, {"run", refuse, "--name", "d", "--input", fails, "--json"},
		{"run", "testdata/flows/six-mistakes.yaml"}, {"run", "none.yaml"},
		{"list", "--status", "Succeeded", "--flow", "pass"}, {"list", "--json", "--flow", "pass"}, {"list", "--flow", "none"},
		{"show", "pass/a"}, {"show", "pass/a", "--json"}, {"show", "pass/none"}, {"show", "pass"},
		{"history", "pass/a"}, {"history", "refuse/c", "--json", "--follow"}, {"history", "pass/none"},
		{"stop", "pass/a"}, {"stop", "pass/none"},
		{"redrive", "pass/a"}, {"redrive", "pass/none"}, {"redrive", "refuse/c"}, {"redrive", "refuse/c", "--from", "None"}, {"rerun", "pass/none"},
		{"rearm"}, {"rearm", "--ended-since", "1h", "--json"}, {"rearm", "--ended-since", "x"},
		{"flows", "put", pass}, {"flows", "put", pass, "--json"}, {"flows", "put", "testdata/flows/six-mistakes.yaml"},
		{"flows", "list"}, {"flows", "list", "--json"}, {"flows", "show", "pass"}, {"flows", "show", "pass", "--json"},
		{"flows", "show", "pass", "--hash", "x"}, {"flows", "show", "none"}, {"flows", "lst"},
		{"run", "--flow", "pass", "--name", "e"}, {"run", "--flow", "pass@x"}, {"run", "--flow", "none"}, {"start", "--flow", "none"},
		{"schedules", "put", "pass/s", "--cron", "0 0 2 * * *", "--disabled"}, {"schedules", "put", "pass/s", "--cron", "none"}, {"schedules", "list"},
		{"schedules", "show", "pass/s"}, {"schedules", "delete", "pass/none"},
		{"flows", "delete", "pass"}, {"flows", "delete", "pass"}, {"flows", "delete", "refuse", "--json"}, {"flows", "list"}, {"schedules", "list"},
		{"history", "pass/a"}, {"tokens", "list"}, {"tokens", "list", "--json"}, {"tokens", "show", "x"}, {"tokens", "succeed", "x"},
	} {
		wantSame(t, args, s.do(args...), doWith(t, "", env, args...))
	}
}

func TestStartFollowOnAStack(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.do("flows", "put", "testdata/flows/refuse.yaml")
	got := s.do("start", "--flow", "refuse", "--name", "one", "--input", `{"amount":101}`, "--follow")
	if got.exit != view.ExitFailed || !strings.Contains(got.stderr, "refuse/one failed: ") {
		t.Errorf("%+v", got)
	}
}

// Two terminals and a stack: one follows, the other answers.
func TestAnotherTerminalAnswersOnAStack(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	run := s.begin("run", callbackFlow, "--name", "one")
	text := run.awaits(`report the outcome from another terminal:\n  waitless tokens succeed (\S+) --output '{"key":"value"}' --endpoint http`)
	for want, args := range map[string][]string{
		"callback/one  Running":                               {"list"},
		"flow callback is in use: callback/one has not ended": {"flows", "delete", "callback"},
		", last heartbeat":                                    {"tokens", "heartbeat", text},
		"  callback/one  mytask  2":                           {"tokens", "list"},
		text:                                                  {"tokens", "list", "--unmask"},
	} {
		if got := s.do(args...); !strings.Contains(got.stdout+got.stderr, want) {
			t.Errorf("%v: %+v", args, got)
		}
	}
	if got := s.do("tokens", "succeed", text, "--output", `{"status":"ok"}`); got.exit != view.ExitSucceeded || strings.Contains(got.stdout, text) {
		t.Errorf("succeed: %+v", got)
	}
	if got := s.do("tokens", "fail", text); got.exit != view.ExitFailed || !strings.Contains(got.stderr, "another outcome was recorded before") {
		t.Errorf("fail: %+v", got)
	}
	if code := run.wait(); code != view.ExitSucceeded || run.stdout.String() != "{\"s\":\"ok\"}\n" {
		t.Errorf("exit %d, output %q", code, run.stdout.String())
	}
}

// A command that follows can be interrupted; the execution continues, and can be stopped.
func TestAFollowerLeavesAStack(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	run := s.begin("run", callbackFlow, "--name", "one")
	run.awaits("report the outcome")
	history := s.begin("history", "callback/one", "--follow")
	run.stop()
	if code := run.wait(); code != view.ExitInterrupted {
		t.Errorf("run: exit %d", code)
	}
	run.awaits(`it continues; show it with: waitless history callback/one --follow --endpoint http`)
	if got := s.do("stop", "callback/one", "--error", "Operator"); got.exit != view.ExitSucceeded || got.stdout != "callback/one is being stopped\n" {
		t.Errorf("stop: %+v", got)
	}
	if code := history.wait(); code != view.ExitSucceeded || !strings.Contains(history.stdout.String(), "ExecutionStopped") {
		t.Errorf("history: exit %d, %s", code, history.stdout.String())
	}
	if got := s.do("run", callbackFlow, "--name", "one"); got.exit != view.ExitFailed || !strings.Contains(got.stderr, "callback/one: was stopped: Operator") {
		t.Errorf("run again: %+v", got)
	}
}

// The same flow again is the same definition.
func TestAFlowIsPutOnce(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	for range 2 {
		if got := s.do("run", "testdata/flows/pass.yaml"); got.exit != view.ExitSucceeded {
			t.Fatalf("%+v", got)
		}
	}
	if got := s.do("flows", "list"); strings.Count(got.stdout, "\n") != 1 {
		t.Errorf("%+v", got)
	}
}

func TestAStackIsFoundByItsName(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	for name, tt := range map[string]struct {
		env  map[string]string
		args []string
		exit int
		want string
	}{
		"by the flag":         {nil, []string{"flows", "list", "--stack", "waitless-test"}, view.ExitSucceeded, ""},
		"by the environment":  {map[string]string{"WAITLESS_STACK": "waitless-test"}, []string{"flows", "list"}, view.ExitSucceeded, ""},
		"to run":              {nil, []string{"run", "testdata/flows/pass.yaml", "--stack", "waitless-test"}, view.ExitSucceeded, ""},
		"the flag goes first": {map[string]string{"WAITLESS_ENDPOINT": "nowhere"}, []string{"list", "--stack", "waitless-test"}, view.ExitSucceeded, ""},
		"an endpoint and a stack": {
			map[string]string{"WAITLESS_ENDPOINT": s.endpoint(), "WAITLESS_STACK": "none"}, []string{"list"}, view.ExitUsage,
			"WAITLESS_ENDPOINT and WAITLESS_STACK exclude each other",
		},
		"no such stack":          {nil, []string{"list", "--stack", "none"}, view.ExitUsage, `there is no stack "none" in region eu-west-1`},
		"a stack of others":      {nil, []string{"list", "--stack", "foreign"}, view.ExitUsage, `stack "foreign" has no output ApiEndpoint`},
		"two places":             {nil, []string{"list", "--stack", "a", "--store", "b"}, view.ExitUsage, "--store and --stack exclude each other"},
		"no endpoint":            {nil, []string{"list", "--endpoint", "ftp://x"}, view.ExitUsage, `"ftp://x" is no endpoint`},
		"an endpoint's secrets":  {nil, []string{"list", "--endpoint", "http://me:secret@x/?key=secret"}, view.ExitUsage, `list: "http://...@x/?..." is no endpoint`},
		"virtual time":           {nil, []string{"run", pollingFlow, "--skip-time", "--stack", "a"}, view.ExitUsage, "--skip-time and --task are for"},
		"a function":             {nil, []string{"run", pollingFlow, "--task", "GetJobStatus=exec:x", "--endpoint", "a"}, view.ExitUsage, "not on a stack"},
		"virtual time all alone": {map[string]string{"WAITLESS_STACK": "none"}, []string{"run", "testdata/flows/pass.yaml", "--skip-time"}, view.ExitSucceeded, ""},
		"a store all the same":   {map[string]string{"WAITLESS_STACK": "none"}, []string{"list", "--store", "none"}, view.ExitUsage, "there is no store in none"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := s.doAs(&user, tt.env, tt.args...)
			if got.exit != tt.exit || !strings.Contains(got.stderr, tt.want) {
				t.Errorf("want exit %d with %q, got %+v", tt.exit, tt.want, got)
			}
		})
	}
}

func TestAStackRefusesStrangers(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	for name, who := range map[string]*aws.Credentials{"another's key": &someoneElse, "no credentials": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := s.doAs(who, nil, "list", "--endpoint", s.endpoint())
			if got.exit != view.ExitInternal || !strings.Contains(got.stderr, "the API refused the request (403)") || !strings.Contains(got.stderr, "try: aws sts") {
				t.Errorf("%+v", got)
			}
		})
	}
	t.Run("on AWS a client without credentials sends no request", func(t *testing.T) {
		t.Parallel()
		got := s.doAs(nil, nil, "list", "--endpoint", "https://abc.execute-api.eu-north-1.amazonaws.com")
		if got.exit != view.ExitInternal || !strings.Contains(got.stderr, "there are no AWS credentials: no user is logged in") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a client without credentials cannot look for a stack", func(t *testing.T) {
		t.Parallel()
		got := s.doAs(nil, nil, "list", "--stack", "orders")
		if got.exit != view.ExitInternal || !strings.Contains(got.stderr, "list: there are no AWS credentials: no user is logged in") {
			t.Errorf("%+v", got)
		}
	})
}

// An emulator names its APIs below localhost, and a resolver may not know that
// this is the machine at hand.
func TestAnAPIBelowLocalhost(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	endpoint := strings.Replace(s.endpoint(), "127.0.0.1", "0a1b2c3d.execute-api.localhost", 1)
	for name, who := range map[string]*aws.Credentials{"signed": &user, "not signed": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := s.doAs(who, nil, "list", "--endpoint", endpoint)
			if answered := who != nil; (got.exit == view.ExitSucceeded) != answered || (strings.Contains(got.stderr, "refused the request (403)") == answered) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// An API without a gateway in front, such as one under test, needs no
// credentials.
func TestAnAPIWithoutCredentials(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	open := httptest.NewServer(s.api)
	t.Cleanup(open.Close)
	if got := s.doAs(nil, nil, "list", "--endpoint", open.URL+"/"); got.exit != view.ExitSucceeded {
		t.Errorf("%+v", got)
	}
}

// The program as it is installed: credentials and region from the environment,
// and AWS_ENDPOINT_URL for where AWS is.
func TestTheProgramSigns(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	cmd := command(t, "run", "testdata/flows/pass.yaml", "--input", `{"a":1}`, "--stack", "waitless-test")
	cmd.Env = append(cmd.Env, "AWS_ACCESS_KEY_ID="+user.AccessKeyID, "AWS_SECRET_ACCESS_KEY="+user.SecretAccessKey, "AWS_SESSION_TOKEN="+user.SessionToken,
		"AWS_REGION="+region, "AWS_ENDPOINT_URL="+s.gateway.URL, "AWS_CONFIG_FILE="+filepath.Join(t.TempDir(), "none"))
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("succeeded")) {
		t.Errorf("%v: %s", err, out)
	}
}

// A gateway that fails for a moment ends no command that only asks. What changes
// something is not sent twice.
func TestTransientFailureOfAStackIsRetried(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	if got := s.do("run", "testdata/flows/pass.yaml", "--name", "one"); got.exit != view.ExitSucceeded {
		t.Fatalf("run: %+v", got)
	}
	const stackTries = 6 // more than the first one
	for _, tt := range []struct {
		args           []string
		fails          int32
		exit, requests int
	}{
		{[]string{"show", "pass/one"}, stackTries, view.ExitSucceeded, stackTries + 1},
		{[]string{"show", "pass/one"}, stackTries + 1, view.ExitInternal, stackTries + 1},
		{[]string{"stop", "pass/one"}, 1, view.ExitInternal, 1},
	} {
		s.failing.Store(tt.fails)
		before := s.requests.Load()
		got := s.do(tt.args...)
		if requests := int(s.requests.Load() - before); got.exit != tt.exit || requests != tt.requests {
			t.Errorf("%v with %d failures: %d requests, %+v", tt.args, tt.fails, requests, got)
		}
		if failed := strings.Contains(got.stderr, "the API responded with 503"); failed != (tt.exit != view.ExitSucceeded) {
			t.Errorf("%v with %d failures says %q", tt.args, tt.fails, got.stderr)
		}
	}
}
