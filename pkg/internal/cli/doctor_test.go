package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/internal/cli/target"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/internal/compose"
	"github.com/waitless/waitless/pkg/release"
)

// contents are the files of a folder by their paths, without the lock and the socket.
func contents(t *testing.T, dir string) map[string][32]byte {
	t.Helper()
	all := map[string][32]byte{}
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(file)
		all[file] = sha256.Sum256(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Doctor reads a store that no process holds, reports what is wrong with it, and writes nothing.
func TestDoctorOfStore(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		harm func(dir string) error
		exit int
		want string
	}{
		"healthy":       {func(string) error { return nil }, view.ExitSucceeded, "can be read and has format 1"},
		"none":          {os.RemoveAll, view.ExitSucceeded, "no store in"},
		"open":          {func(dir string) error { return os.Chmod(dir, 0o755) }, view.ExitFailed, "fail  store"},
		"newer":         {func(dir string) error { return os.WriteFile(dir+"/format", []byte("99\n"), 0o600) }, view.ExitFailed, "upgrade waitless"},
		"without keys":  {func(dir string) error { return os.Remove(dir + "/token.key") }, view.ExitFailed, "token keys"},
		"damaged":       {damage, view.ExitFailed, "restore a copy of the directory"},
		"of no format":  {func(dir string) error { return os.Remove(dir + "/format") }, view.ExitFailed, "no such file"},
		"not a number":  {func(dir string) error { return os.WriteFile(dir+"/format", []byte("x"), 0o600) }, view.ExitFailed, "allowed: a format number"},
		"without rows":  {func(dir string) error { return os.RemoveAll(dir + "/data") }, view.ExitFailed, "restore a copy of the directory"},
		"missing a key": {func(dir string) error { return os.Remove(dir + "/pid") }, view.ExitSucceeded, "waitless dev --store"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := inStore(t)
			if got := doWith(t, "", env, "run", "testdata/flows/pass.yaml", "--name", "one"); got.exit != view.ExitSucceeded {
				t.Fatalf("%+v", got)
			}
			dir := env["WAITLESS_STORE"]
			if err := tt.harm(dir); err != nil {
				t.Fatal(err)
			}
			before := map[string][32]byte{}
			if name != "none" {
				before = contents(t, dir)
			}
			got := doWith(t, "", env, "doctor")
			if got.exit != tt.exit || !strings.Contains(got.stdout, tt.want) {
				t.Errorf("%+v; want exit code %d and %q", got, tt.exit, tt.want)
			}
			conforms(t, "doctor", doWith(t, "", env, "doctor", "--json").stdout)
			if _, err := os.Stat(dir); name == "none" && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("it made a store: %v", err)
			}
			if name != "none" && !maps.Equal(before, contents(t, dir)) {
				t.Error("it changed the store")
			}
		})
	}
}

// damage overwrites what the database begins with.
func damage(dir string) error {
	files, err := filepath.Glob(dir + "/data/MANIFEST-*")
	if err != nil || len(files) == 0 {
		return fmt.Errorf("%d manifests: %w", len(files), err)
	}
	return os.WriteFile(files[0], []byte("damaged"), 0o600)
}

func TestDoctorOfDev(t *testing.T) {
	t.Parallel()
	d := startDev(t, program(t), inStore(t))
	d.until("ok +process +waitless dev "+regexp.QuoteMeta(release.Version)+" responds", "doctor")
	d.interrupt()
}

// sickAccount is an account with a stack that has what a test wants. Its API is at a port that
// nothing listens at.
type sickAccount struct {
	target.AWS

	stack  *target.Stack
	err    error // of the stack
	states map[string]target.State
	skew   time.Duration
	atOnce int // functions of the account
	ages   map[string]time.Duration
	alarms []string
	denied string // the type of resources that the user must not see
}

func (*sickAccount) Region() string                                         { return "eu-west-1" }
func (*sickAccount) Credentials(context.Context) error                      { return nil }
func (a *sickAccount) Health() target.Health                                { return a }
func (*sickAccount) Endpoint() string                                       { return "" }
func (*sickAccount) Caller(context.Context) (string, error)                 { return "arn:aws:iam::1:user/u", nil }
func (a *sickAccount) Skew() (time.Duration, bool)                          { return a.skew, true }
func (a *sickAccount) Stack(context.Context, string) (*target.Stack, error) { return a.stack, a.err }

// Sign does not sign.
func (*sickAccount) Sign(_ string, next http.RoundTripper) http.RoundTripper { return next }

func (a *sickAccount) State(_ context.Context, r target.Resource) (target.State, error) {
	state, ok := a.states[r.Name]
	switch {
	case r.Type == a.denied:
		return state, &target.Refused{Code: "AccessDeniedException", Message: "no"}
	case !ok:
		return state, &target.Refused{Code: "ResourceNotFoundException", Message: r.Name + " is gone"}
	}
	return state, nil
}

func (a *sickAccount) Concurrency(context.Context) (int, error) { return a.atOnce, nil }

func (a *sickAccount) Ages(context.Context, []target.Resource) (map[string]time.Duration, error) {
	return a.ages, nil
}

func (a *sickAccount) Alarms(context.Context, string) ([]string, error) { return a.alarms, nil }

// healthyAccount returns an account whose stack has one resource of each type, all of them healthy
// but the API.
func healthyAccount() *sickAccount {
	return &sickAccount{
		atOnce: 1000,
		stack: &target.Stack{Status: "CREATE_COMPLETE", Outputs: healthyOutputs(), Resources: []target.Resource{
			{Name: "LogTable", Type: target.TypeTable, ID: "log"}, {Name: "ApiFunction", Type: target.TypeFunction, ID: "api"},
			{Name: "PollSource", Type: target.TypeSource, ID: "poll"}, {Name: "Timers", Type: target.TypeTimers, ID: "timers"},
			{Name: "WakeQueue", Type: target.TypeQueue, ID: "https://sqs/1/wakes"}, {Name: "Role", Type: "AWS::IAM::Role", ID: "role"},
		}},
		states: map[string]target.State{
			"LogTable": {Name: "ACTIVE"}, "ApiFunction": {Name: "Active"}, "PollSource": {Name: "Enabled", AtOnce: 50}, "Timers": {Name: "ACTIVE"},
			"WakeQueue": {Messages: 3}, "Role": {},
		},
	}
}

// harm adds a resource that has a state.
func (a *sickAccount) harm(name, kind string, state target.State) {
	a.stack.Resources = append(a.stack.Resources, target.Resource{Name: name, Type: kind, ID: name + "-id"})
	a.states[name] = state
}

// Doctor expects the time limits of the template.
func TestTimeLimitsAreThoseOfTheTemplate(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	limits := map[string]string{}
	for _, block := range regexp.MustCompile(`(?m)^  (?:\w+):\n(?:    .*\n|\n|  +#.*\n)+`).FindAllString(string(text), -1) {
		if !strings.Contains(block, "Type: AWS::Serverless::Function\n") {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimSpace(block), ":")
		limits[name] = "10" // of Globals
		if found := regexp.MustCompile(`(?m)^      Timeout: (.+)$`).FindStringSubmatch(block); found != nil {
			limits[name] = found[1]
		}
	}
	if len(limits) < 10 {
		t.Fatalf("the template has the functions %v", limits)
	}
	for name, want := range limits {
		got := fmt.Sprint(timeLimit(target.Resource{Name: name}, map[string]string{"WAITLESS_TIME_LIMIT": "7"}))
		switch name {
		case "InterpreterFunction": // its variable has the limit of the profile, too
			want = "7"
		case "CallServiceFunction", "EchoFunction": // of the profile; a sample
			want = "0"
		}
		if got != want {
			t.Errorf("%s: doctor expects %s, the template has %s", name, got, want)
		}
	}
}

func healthyOutputs() map[string]string {
	return map[string]string{target.EndpointOutput: "http://127.0.0.1:1", "Version": release.Version}
}

// Before a deployment, doctor says what would fail in its middle.
func TestDoctorBeforeADeployment(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		name, status, want string
	}{
		"none":      {strings.Repeat("n", 51), "", "ok name " + strings.Repeat("n", 51) + " has at most 51 characters ok stack no stack has that name"},
		"long name": {strings.Repeat("n", 52), "", "functions whose names begin so have too many; try: a name of at most 51 characters"},
		"failed":    {"orders", "ROLLBACK_COMPLETE", "it cannot be deployed again; try: aws cloudformation delete-stack --stack-name orders"},
		"there":     {"orders", "UPDATE_COMPLETE", "warn stack there is one, UPDATE_COMPLETE, which sam deploy updates; try: waitless doctor --stack orders"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			account := healthyAccount()
			if account.stack.Status = tt.status; tt.status == "" {
				account.stack = nil
			}
			if got := account.examine(t, "--before", tt.name); !strings.Contains(got, tt.want) {
				t.Errorf("got: %s\nwant: %s", got, tt.want)
			}
		})
	}
}

// The values of a stack of the previous release go where the template of this one has them.
func TestDoctorBeforeAnUpgrade(t *testing.T) {
	t.Parallel()
	account := healthyAccount()
	account.stack.Parameters = map[string]string{
		"StatusEvents": "on", "Alarms": "on", "CallbackEndpoint": "off", "LogLevel": "DEBUG", "WakeConcurrency": "200", "TaskConcurrency": "50",
		"HostedZone": "Z1", "Operators": "", "OldestWait": "60", "JobEvents": "aws.batch",
	}
	got := account.examine(t, "--before", "orders")
	for _, want := range []string{
		"StatusEvents=on has moved; try: add status-events to the parameter Options", "CallbackEndpoint=off has moved; try: add endpoint-off to",
		"LogLevel=DEBUG has moved; try: add debug to", "WakeConcurrency=200 has moved; try: write the number into the profile",
		"HostedZone=Z1 has moved; try: write it under Settings", "OldestWait is gone",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got: %s\nwant: %s", got, want)
		}
	}
	if moved := strings.Count(got, "has moved"); moved != 5 {
		t.Errorf("%d values have moved: %s", moved, got)
	}
}

// examine returns what doctor says of the account, with single spaces.
func (a *sickAccount) examine(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	c := Command{
		Args: append([]string{"doctor"}, args...), Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Getenv: environment(t, nil),
		Stores: compose.Stores{}, AWS: func(context.Context, target.AWSOptions) (target.AWS, error) { return a, nil },
	}
	c.Run(t.Context())
	return strings.Join(strings.Fields(stdout.String()+stderr.String()), " ")
}

// Each row harms one thing. What is shown of it says what to do.
func TestDoctorOfStack(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		harm func(a *sickAccount)
		want string
	}{
		"healthy": {func(*sickAccount) {}, "ok WakeQueue 3 messages, 0 in flight, 0 delayed"},
		"api": {func(*sickAccount) {},
			"fail api http://127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused; try: check the network",
		},
		"api elsewhere": {func(a *sickAccount) { a.stack.Outputs[target.EndpointOutput] = "https://example.org" },
			"fail api stack \"orders\" says that its API is at example.org",
		},
		"another version": {func(a *sickAccount) { a.stack.Outputs["Version"] = "9.0.0" },
			"warn version the stack has 9.0.0, the command " + release.Version + "; try: go install github.com/waitless/waitless/pkg/cmd/waitless@v9.0.0, or sam deploy",
		},
		"no version":    {func(a *sickAccount) { delete(a.stack.Outputs, "Version") }, "warn version the stack does not say which it has"},
		"another stack": {func(a *sickAccount) { a.stack.Outputs = nil }, "fail stack it has no output ApiEndpoint"},
		"failed": {func(a *sickAccount) { a.stack.Status, a.stack.Reason = "UPDATE_FAILED", "a role" },
			"fail stack UPDATE_FAILED: a role; try: aws cloudformation describe-stack-events",
		},
		"rolled back": {func(a *sickAccount) { a.stack.Status = "UPDATE_ROLLBACK_COMPLETE" },
			"warn stack UPDATE_ROLLBACK_COMPLETE; the release before runs; try: ",
		},
		"in deployment": {func(a *sickAccount) { a.stack.Status = "UPDATE_IN_PROGRESS" }, "warn stack UPDATE_IN_PROGRESS; try: waitless doctor again"},
		"no right": {func(a *sickAccount) { a.err = &target.Refused{Code: "AccessDenied"} },
			"warn stack not checked: your credentials lack cloudformation:DescribeStacks",
		},
		"unreachable": {func(a *sickAccount) { a.err = errors.New("no route") }, "fail stack no route; try: waitless doctor again"},
		"slow clock":  {func(a *sickAccount) { a.skew = -2 * time.Minute }, "warn clock this machine is 2m0s behind AWS; try: set the clock"},
		"wrong clock": {func(a *sickAccount) { a.skew = time.Hour }, "fail clock this machine is 1h0m0s ahead of AWS"},
		"inactive": {func(a *sickAccount) { a.states["ApiFunction"] = target.State{Name: "Inactive", Reason: "idle"} },
			"fail ApiFunction Inactive: idle; try: aws lambda get-function --function-name api",
		},
		"missing": {func(a *sickAccount) { delete(a.states, "Timers") },
			"fail Timers ResourceNotFoundException: Timers is gone; try: aws scheduler create-schedule-group --name timers",
		},
		"no right to read": {func(a *sickAccount) { a.denied = target.TypeTable },
			"warn tables not checked: your credentials lack dynamodb:DescribeTable and dynamodb:DescribeTimeToLive; try: allow dynamodb:DescribeTable",
		},
		"late": {func(a *sickAccount) { a.ages = map[string]time.Duration{"WakeQueue": time.Hour} },
			"warn WakeQueue 3 messages, 0 in flight, 0 delayed, the oldest is 1h0m0s old; try: ",
		},
		"alarm": {func(a *sickAccount) { a.alarms = []string{"orders-Wakes (Wakes are late\x1b[2J)"} },
			`fail alarms orders-Wakes (Wakes are late\x1b[2J); try: waitless docs metrics`,
		},
		"room": {func(*sickAccount) {}, "ok concurrency the account runs 1000 functions at once, and the stack may start 50"},
		"no room": {func(a *sickAccount) { a.atOnce = 10 },
			"warn concurrency the account runs 10 functions at once, and the stack may start 50: calls wait for each other; try: sam deploy with",
		},
		"no alarm": {func(*sickAccount) {}, "ok alarms none is in the state ALARM"},
		"no topic": {func(a *sickAccount) { a.stack.Parameters = map[string]string{"Options": "", "AlarmTopic": ""} },
			"warn alarms they notify no topic; try: set AlarmTopic: sam deploy",
		},
		"alarms off": {func(a *sickAccount) {
			a.stack.Parameters = map[string]string{"Options": "backups,alarms-off", "AlarmTopic": ""}
		},
			"warn alarms the stack has none; try: sam deploy with the parameter AlarmTopic=ARN, and Options without alarms-off",
		},
		"variable": {func(a *sickAccount) {
			a.states["ApiFunction"] = target.State{Name: "Active", Variables: map[string]string{"WAITLESS_LOG_TABLE": "other"}}
		},
			`fail ApiFunction its variable WAITLESS_LOG_TABLE is not log, which the template has; try: aws lambda update-function-configuration`,
		},
		"time limit": {func(a *sickAccount) { a.states["ApiFunction"] = target.State{Name: "Active", TimeLimit: 3} },
			"its time limit is 3s, and the template has 25s; try: aws lambda update-function-configuration --function-name api --timeout 25",
		},
		"queue": {func(a *sickAccount) { a.states["WakeQueue"] = target.State{Name: "its policy was deleted"} },
			`fail WakeQueue its policy was deleted; try: aws sqs set-queue-attributes --queue-url https://sqs/1/wakes --attributes`,
		},
		"janitor": {func(a *sickAccount) {
			a.harm("JanitorSchedule", target.TypeSchedule, target.State{Name: "DISABLED", Try: "aws x"})
		},
			"fail JanitorSchedule DISABLED; try: aws x",
		},
		"janitor off": {func(a *sickAccount) {
			a.harm("JanitorSchedule", target.TypeSchedule, target.State{Name: "DISABLED"})
			a.stack.Parameters = map[string]string{"Options": "janitor-off"}
		}, "ok timers 1 in order ok roles 1 in order"},
		"role": {func(a *sickAccount) {
			a.states["Role"] = target.State{Name: "its policy was deleted", Try: "aws iam x"}
		},
			`fail Role its policy was deleted; try: aws iam x`,
		},
		"secret": {func(a *sickAccount) {
			a.harm("TokenKey", target.TypeSecret, target.State{Name: "its deletion is scheduled"})
		},
			"fail TokenKey its deletion is scheduled; try: aws secretsmanager restore-secret --secret-id TokenKey-id",
		},
		"rule": {func(a *sickAccount) { a.harm("JobEventsRule1", target.TypeRule, target.State{Name: "DISABLED"}) },
			"fail JobEventsRule1 DISABLED; try: aws events enable-rule --name JobEventsRule1-id",
		},
		"deleted queue": {func(a *sickAccount) { delete(a.states, "WakeQueue") },
			`WakeQueue is gone; try: if it was deleted: "A deleted queue or function" in waitless docs recovery, then waitless rearm --calls`,
		},
		"deleted table": {func(a *sickAccount) { delete(a.states, "LogTable") }, `if it was deleted: "A deleted queue or function" in waitless docs recovery`},
		"deleted function": {func(a *sickAccount) { delete(a.states, "ApiFunction") },
			`then sam deploy; if it was deleted: "A deleted queue or function" in waitless docs recovery`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			account := healthyAccount()
			tt.harm(account)
			if got := account.examine(t, "--stack", "orders"); !strings.Contains(got, tt.want) {
				t.Errorf("got: %s\nwant: %s", got, tt.want)
			}
		})
	}
	if got := do(t, "doctor", "--endpoint", "https://example.org"); got.exit != view.ExitUsage || !strings.Contains(got.stderr, "--stack NAME") {
		t.Errorf("an endpoint: %+v", got)
	}
}
