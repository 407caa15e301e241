package stack_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/internal/suite/releasetest"
)

// upgraded is the stack whose functions change between two releases.
var upgraded = newUpgraded(freshName())

func newUpgraded(name string) deployment {
	return deployment{name: name, parameters: []string{"LongestDelay=30", "WakeVisibility=30", "NotifyTargets=" + toldQueue(name)}, build: shipped}
}

// changing are the functions of a stack with what each release has for them: zip files, by logical
// ids.
type changing struct {
	stack
	old, tree map[string][]byte
	changes   [][2]time.Time // when each began and ended
}

// bootstrap packs the program of a function.
func bootstrap(t *testing.T, file string) []byte {
	t.Helper()
	program, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var code bytes.Buffer
	archive := zip.NewWriter(&code)
	header := &zip.FileHeader{Name: "bootstrap", Method: zip.Deflate}
	header.SetMode(0o755)
	entry, err := archive.CreateHeader(header)
	if err == nil {
		_, err = entry.Write(program)
	}
	if err := errors.Join(err, archive.Close()); err != nil {
		t.Fatal(err)
	}
	return code.Bytes()
}

// buildFunctions builds functions of a folder, with the commit that they log when they start.
func buildFunctions(t *testing.T, tree, out, commit string, args ...string) {
	t.Helper()
	ldflags := "-ldflags=-s -w -X github.com/waitless/waitless/pkg/release.commit=" + commit
	build := exec.CommandContext(t.Context(), "go", slices.Concat([]string{"build", "-trimpath", ldflags, "-tags", "lambda.norpc", "-o", out}, args)...)
	build.Dir, build.Env = tree, append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("functions of %s: %v\n%s", commit, err, text)
	}
}

// withReleases builds the functions that the recorded commit and the tree have in common.
func withReleases(t *testing.T, s stack) *changing {
	t.Helper()
	commit, programs := releasetest.Unpack(t, root, releasetest.Recorded(t, root)), t.TempDir()
	buildFunctions(t, commit, programs, recorded, "./functions/...")
	c := &changing{stack: s, old: map[string][]byte{}, tree: map[string][]byte{}}
	for id := range s.resources {
		name, ok := strings.CutSuffix(id, "Function")
		if _, err := os.Stat(filepath.Join(commit, "functions", strings.ToLower(name))); !ok || err != nil || id == "EchoFunction" {
			continue
		}
		c.old[id] = bootstrap(t, filepath.Join(programs, strings.ToLower(name)))
		c.tree[id] = bootstrap(t, filepath.Join(folder, "build", id, "bootstrap"))
	}
	if len(c.old) < 8 {
		t.Fatalf("the releases have only %v in common", slices.Sorted(maps.Keys(c.old)))
	}
	return c
}

// recorded is the commit that functions of the recorded release log when they start.
const recorded = "recorded"

// tellingEcho is echo with a log of its inputs, which have the idempotency keys.
func tellingEcho(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	overlay, err := replaced(dir, "EchoFunction", "echo", []string{
		`slog.Int("bytes", len(response))`, `slog.String("echoed", string(response)), slog.Time("at", time.Now())`,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "bootstrap")
	buildFunctions(t, root, program, "", "-overlay", overlay, "./functions/echo")
	return bootstrap(t, program)
}

// change gives functions their programs of a release: all, or those named.
func (c *changing) change(t *testing.T, release map[string][]byte, ids ...string) {
	t.Helper()
	if len(ids) == 0 {
		ids = slices.Sorted(maps.Keys(release))
	}
	client := lambda.NewFromConfig(emulator.Config(t))
	begun := time.Now()
	for _, id := range ids {
		name := c.resources[id]
		if _, err := client.UpdateFunctionCode(t.Context(), &lambda.UpdateFunctionCodeInput{FunctionName: &name, ZipFile: release[id]}); err != nil {
			t.Fatalf("%s: %v", id, err)
		}
	}
	c.changes = append(c.changes, [2]time.Time{begun, time.Now()})
}

// A travel is an execution of the flow `journey`.
type travel struct {
	name   string
	run    *following
	tokens []string // its own, and that of its sub-flow
}

// begin starts an execution, and waits until it and its sub-flow wait for callbacks. Its lanes and
// its poll wait for their timers.
func (c *changing) begin(t *testing.T, name string) travel {
	t.Helper()
	flows, input := releasetest.Flows("."), releasetest.Input(name)
	args := []string{flows[1], "--name", name, "--input", input}
	c.check(t, view.ExitSucceeded, "", slices.Concat([]string{"start"}, args, []string{"--notify", toldQueue(c.name)})...)
	run := slices.Concat([]string{"run"}, args, []string{"--subflow", "child=" + flows[0]})
	c.follow(t, run...).await("Child waits for sub-flow child/" + name)
	v := travel{name, c.follow(t, run...), nil}
	child := c.follow(t, "run", flows[0], "--name", name, "--input", `{"name":"`+name+`"}`)
	v.tokens = []string{v.run.token(), child.token()}
	return v
}

// end reports the outcomes, by hand and by callback, and waits for the end.
func (c *changing) end(t *testing.T, v travel) {
	t.Helper()
	succeed(t, c.stack, v.tokens[0], `{"ok":true}`)
	c.checkPosts(t, posted{"/callbacks/" + v.tokens[1], `{"ok":true}`, 200, `"outcome":"success"`})
	if exit := v.run.wait(); exit != view.ExitSucceeded {
		t.Errorf("%s: exit %d", v.name, exit)
	}
}

// approvals is a flow whose fork is of format 2: two of its elements wait at once, and it is caught.
const approvals = `version: v1
type: flow
steps:
  - type: foreach
    name: Each
    maxConcurrency: 2
    iterationMapping: {collection: $.items, item: n}
    catch: [{errors: [Refused], goto: Last}]
    steps:
      - type: task
        name: Ask
        resourceArn: acs:fc:::services/any/functions/echo
        pattern: waitForCallback
        inputMappings: [{target: taskToken, source: $context.task.token}, {target: key, source: $context.task.idempotencyKey}]
  - {type: fail, name: Never}
  - type: task
    name: Last
    resourceArn: acs:fc:::services/any/functions/echo
    inputMappings: [{target: key, source: $context.task.idempotencyKey}]
`

// callsOfApprovals is how often the execution of approvals calls echo.
const callsOfApprovals = 3 + 1

// writeFormat sets the variable of the functions that the option format-2 sets.
func (c *changing) writeFormat(t *testing.T, format string) {
	t.Helper()
	client := lambda.NewFromConfig(emulator.Config(t))
	for id := range c.tree {
		name := c.resources[id]
		now, err := client.GetFunctionConfiguration(t.Context(), &lambda.GetFunctionConfigurationInput{FunctionName: &name})
		if err != nil {
			t.Fatal(err)
		}
		if now.Environment == nil || now.Environment.Variables["WAITLESS_WRITE_FORMAT"] == "" {
			continue
		}
		now.Environment.Variables["WAITLESS_WRITE_FORMAT"] = format
		_, err = client.UpdateFunctionConfiguration(t.Context(), &lambda.UpdateFunctionConfigurationInput{
			FunctionName: &name, Environment: &types.Environment{Variables: now.Environment.Variables},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// beginApprovals starts an execution of approvals with the option format-2, waits until two elements
// wait, and removes the option.
func (c *changing) beginApprovals(t *testing.T) (asked map[int]string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "approvals.yaml")
	if err := os.WriteFile(file, []byte(approvals), 0o600); err != nil {
		t.Fatal(err)
	}
	c.writeFormat(t, "2")
	c.check(t, view.ExitSucceeded, "", "start", file, "--name", "one", "--input", `{"items":[1,2,3]}`)
	asked = c.asked(t, 0, 1)
	c.writeFormat(t, "1")
	return asked
}

// asked waits until elements of approvals wait, and returns their tokens.
func (c *changing) asked(t *testing.T, elements ...int) map[int]string {
	t.Helper()
	for again := time.NewTicker(look); ; <-again.C {
		var list struct {
			Tokens []struct {
				Token      string
				Iterations []int
			}
		}
		if got := c.do(t, "tokens", "list", "approvals/one", "--unmask", "--json"); got.exit == view.ExitSucceeded {
			if err := json.Unmarshal([]byte(got.stdout), &list); err != nil {
				t.Fatalf("%v: %s", err, got.stdout)
			}
		}
		open := map[int]string{}
		for _, token := range list.Tokens {
			open[token.Iterations[0]] = token.Token
			issued(token.Token)
		}
		if slices.Equal(slices.Sorted(maps.Keys(open)), elements) {
			return open
		}
		if err := t.Context().Err(); err != nil {
			t.Fatalf("%v: %v wait, want %v", err, open, elements)
		}
	}
}

// endApprovals goes on with the fork after the upgrade: the element that was reported under the other
// release lets the last one begin. Another one fails, and the fork is caught.
func (c *changing) endApprovals(t *testing.T) {
	t.Helper()
	asked := c.asked(t, 1, 2)
	if got := c.do(t, "tokens", "fail", asked[1], "--error", "Refused"); got.exit != view.ExitSucceeded {
		t.Fatalf("fail: %+v", got)
	}
	c.awaitEnd(t, "approvals/one")
	c.check(t, view.ExitSucceeded, "Succeeded", "show", "approvals/one")
	if got := (report{History: c.history(t, "approvals/one")}).calls(t)["echo"]; got != callsOfApprovals {
		t.Errorf("approvals: %d calls of echo, want %d", got, callsOfApprovals)
	}
}

// calls counts the calls of echo by execution, from the history.
func (c *changing) calls(t *testing.T, name string) int {
	t.Helper()
	count := 0
	for _, execution := range []string{"journey/" + name, "child/" + name} {
		count += (report{History: c.history(t, execution)}).calls(t)["echo"]
	}
	return count
}

// echoes are when echo was called, by idempotency key. The emulator may have a line in two logs.
func (c *changing) echoes(t *testing.T) map[string][]time.Time {
	t.Helper()
	calls, seen := map[string][]time.Time{}, map[string]bool{}
	for _, log := range captured(t) {
		for line := range strings.Lines(log) {
			var call struct {
				Request string    `json:"request_id"`
				Echoed  string    `json:"echoed"`
				At      time.Time `json:"at"`
			}
			var input struct{ Key string }
			if json.Unmarshal([]byte(line), &call) != nil || json.Unmarshal([]byte(call.Echoed), &input) != nil || seen[call.Request] {
				continue
			}
			seen[call.Request] = true
			calls[input.Key] = append(calls[input.Key], call.At)
		}
	}
	return calls
}

// killed reports whether a change may have killed the worker of a call before it was repeated.
func (c *changing) killed(call, again time.Time) bool {
	const slow = 10 * time.Second // echo may begin after its caller was killed
	return slices.ContainsFunc(c.changes, func(change [2]time.Time) bool { return change[0].Before(again) && call.Before(change[1].Add(slow)) })
}

func clock(at time.Time) string { return at.UTC().Format("04:05.000") }

// windows are when the changes were made.
func (c *changing) windows() (all []string) {
	for _, change := range c.changes {
		all = append(all, clock(change[0])+" to "+clock(change[1]))
	}
	return all
}

// checkEchoes: each call was made, and again only if a change killed its worker: at most once for
// each change.
func (c *changing) checkEchoes(t *testing.T, want int) {
	t.Helper()
	calls := c.echoes(t)
	if len(calls) != want {
		t.Errorf("echo was called with %d idempotency keys, want %d", len(calls), want)
	}
	for key, at := range calls {
		slices.SortFunc(at, time.Time.Compare)
		if len(at) > 1+len(c.changes) {
			t.Errorf("call %s was made %d times, with %d changes", key, len(at), len(c.changes))
		}
		for i, again := range at[1:] {
			if t.Logf("call %s: %s and again %s; changes: %s", key, clock(at[i]), clock(again), c.windows()); !c.killed(at[i], again) {
				t.Errorf("call %s was repeated without a change", key)
			}
		}
	}
}

// awaitEnds waits for the notices about the ends of executions. A notice may come twice.
func awaitEnds(t *testing.T, client *sqs.Client, url string, want map[string]bool) {
	t.Helper()
	for found, begun := map[string]bool{}, time.Now(); !maps.Equal(found, want); {
		if time.Since(begun) > 2*time.Minute {
			t.Fatalf("notices about %v only", slices.Sorted(maps.Keys(found)))
		}
		received, err := client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url, WaitTimeSeconds: 5, MaxNumberOfMessages: 10})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range received.Messages {
			var notice struct {
				Type string
				Data struct{ Execution string }
			}
			if err := json.Unmarshal([]byte(*m.Body), &notice); err != nil {
				t.Fatal(err)
			}
			if notice.Type == "execution.ended" {
				found[notice.Data.Execution] = true
			}
		}
	}
}

// The functions of the recorded release and of the tree share queues and tables: each kind of
// function changes while executions are in flight, back and forward. Nothing is lost, no history
// has a step twice, and no call is made twice without a kill. A fork that began with the option
// format-2 waits while only functions of the recorded release run, and goes on after the upgrade.
func TestUpgradeAndRollbackOfAStack(t *testing.T) {
	t.Parallel()
	if !*faults {
		t.Skip("builds another release and takes a minute: `make test-faults` runs it")
	}
	c := withReleases(t, upgraded.get(t))
	queues, url := makeToldQueue(t, c.stack)
	c.change(t, map[string][]byte{"EchoFunction": tellingEcho(t)})
	c.check(t, view.ExitSucceeded, "", "flows", "put", releasetest.Flows(".")[0])
	asked := c.beginApprovals(t)
	perExecution, ended := 0, map[string]bool{}
	for _, calls := range releasetest.Calls {
		perExecution += calls
	}
	for _, direction := range []struct {
		name string
		to   map[string][]byte
	}{{"rollback", c.old}, {"upgrade", c.tree}} {
		first := c.begin(t, direction.name+"-one")
		c.change(t, direction.to, "InterpreterFunction", "CallbackFunction", "StartJobFunction")
		second := c.begin(t, direction.name+"-two") // by the API and the task runner of the other release
		c.change(t, direction.to)
		if direction.name == "rollback" { // the functions leave the fork of format 2 to newer ones
			c.checkPosts(t, posted{"/callbacks/" + asked[0], `{"ok":true}`, 200, `"outcome":"success"`})
		}
		for _, v := range []travel{first, second} {
			c.end(t, v)
			if got := c.calls(t, v.name); got != perExecution {
				t.Errorf("%s: %d calls of echo, want %d", v.name, got, perExecution)
			}
			ended[v.name] = true
		}
	}
	c.endApprovals(t)
	awaitEnds(t, queues, url, ended)
	c.checkEchoes(t, len(ended)*perExecution+callsOfApprovals)
	if log := captured(t)[c.resources["InterpreterLogs"]]; !strings.Contains(log, `"commit":"`+recorded+`"`) {
		t.Error("no interpreter of the recorded release started")
	}
	for _, queue := range []string{"WakeDeadLetters", "TaskDeadLetters", "NoticeDeadLetters"} {
		if dead := c.messages(t, queue); dead > 0 {
			t.Errorf("%s: %d messages", queue, dead)
		}
	}
}
