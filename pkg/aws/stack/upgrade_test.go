package stack_test

import (
	"archive/zip"
	"bytes"
	"errors"

	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/cli"
	"github.com/waitless/waitless/pkg/release/releasetest"
)

// upgraded is the stack whose functions change between two releases.
var upgraded = newUpgraded(freshName())

func newUpgraded(name string) deployment {
	return deployment{name: name, parameters: []string{"LongestDelay=30", "WakeVisibility=30", "NotifyTargets=" + toldQueue(name)}, build: shipped}
}

// changing are the functions of a stack with what each release has for them: zip files, by logical ids.
type changing struct {
	stack
	old, tree map[string][]byte
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

// withReleases builds the functions that the recorded commit and the tree have in common.
func withReleases(t *testing.T, s stack) changing {
	t.Helper()
	commit := releasetest.Unpack(t, root, releasetest.Recorded(t, root))
	programs := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-tags", "lambda.norpc", "-o", programs, "./functions/...")
	build.Dir, build.Env = commit, append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the functions of the recorded commit: %v\n%s", err, out)
	}
	c := changing{s, map[string][]byte{}, map[string][]byte{}}
	for id := range s.resources {
		name, ok := strings.CutSuffix(id, "Function")
		if _, err := os.Stat(filepath.Join(commit, "functions", strings.ToLower(name))); !ok || err != nil {
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

// change gives functions their programs of a release: all, or those named.
func (c changing) change(t *testing.T, release map[string][]byte, ids ...string) {
	t.Helper()
	if len(ids) == 0 {
		ids = slices.Sorted(maps.Keys(release))
	}
	client := lambda.NewFromConfig(emulator.Config(t))
	for _, id := range ids {
		name := c.resources[id]
		if _, err := client.UpdateFunctionCode(t.Context(), &lambda.UpdateFunctionCodeInput{FunctionName: &name, ZipFile: release[id]}); err != nil {
			t.Fatalf("%s: %v", id, err)
		}
	}
}

// A travel is an execution of the flow `journey`.
type travel struct {
	name   string
	run    *following
	tokens []string // its own, and that of its sub-flow
}

// begin starts an execution, and waits until it and its sub-flow wait for callbacks. Its lanes and its poll wait for their timers.
func (c changing) begin(t *testing.T, name string) travel {
	t.Helper()
	flows, input := releasetest.Flows("."), releasetest.Input(name)
	args := []string{flows[1], "--name", name, "--input", input}
	c.check(t, cli.ExitSucceeded, "", slices.Concat([]string{"start"}, args, []string{"--notify", toldQueue(c.name)})...)
	run := slices.Concat([]string{"run"}, args, []string{"--subflow", "child=" + flows[0]})
	c.follow(t, run...).await("Child waits for sub-flow child/" + name)
	v := travel{name, c.follow(t, run...), nil}
	child := c.follow(t, "run", flows[0], "--name", name, "--input", `{"name":"`+name+`"}`)
	v.tokens = []string{v.run.token(), child.token()}
	return v
}

// end reports the outcomes, by hand and by callback, and waits for the end.
func (c changing) end(t *testing.T, v travel) {
	t.Helper()
	succeed(t, c.stack, v.tokens[0], `{"ok":true}`)
	c.checkPosts(t, posted{"/callbacks/" + v.tokens[1], `{"ok":true}`, 200, `"outcome":"success"`})
	if exit := v.run.wait(); exit != cli.ExitSucceeded {
		t.Errorf("%s: exit %d", v.name, exit)
	}
}

// calls counts the calls of echo by execution, from the history.
func (c changing) calls(t *testing.T, name string) int {
	t.Helper()
	count := 0
	for _, execution := range []string{"journey/" + name, "child/" + name} {
		count += (report{History: c.history(t, execution)}).calls(t)["echo"]
	}
	return count
}

// echoed counts the calls that echo has logged. The emulator may have a line in two logs, so calls are told apart by their ids.
func (c changing) echoed(t *testing.T) int {
	t.Helper()
	calls := map[string]int{}
	for group, log := range captured(t) {
		if group != c.resources["EchoLogs"] && !strings.HasSuffix(group, c.resources["EchoFunction"]) {
			continue
		}
		for _, id := range callOfEcho.FindAllStringSubmatch(log, -1) {
			calls[id[1]]++
		}
	}
	return len(calls)
}

var callOfEcho = regexp.MustCompile(`"request_id":"([^"]+)".*"bytes":`)

// told counts the notices about ends, by execution.
func (c changing) told(t *testing.T, client *sqs.Client, url string, want int) map[string]int {
	t.Helper()
	found, seen := map[string]int{}, 0
	for begun := time.Now(); seen < want && time.Since(begun) < time.Minute; {
		received, err := client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url, WaitTimeSeconds: 5, MaxNumberOfMessages: 10})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range received.Messages {
			if _, execution, ok := strings.Cut(*m.Body, `"execution":"`); ok && strings.Contains(*m.Body, "execution.ended") {
				found[execution[:strings.Index(execution, `"`)]]++
				seen++
			}
		}
	}
	return found
}

// The functions of the recorded release and of the tree share queues and tables: each kind of function changes while executions
// are in flight, forward and back. Nothing is lost, and no history has a step twice.
func TestUpgradeAndRollbackOfAStack(t *testing.T) {
	t.Parallel()
	if !*faults {
		t.Skip("builds another release and takes a minute: `make test-faults` runs it")
	}
	s := upgraded.get(t)
	queues, url := makeToldQueue(t, s)
	c := withReleases(t, s)
	c.check(t, cli.ExitSucceeded, "", "flows", "put", releasetest.Flows(".")[0])
	var all []travel
	for _, direction := range []struct {
		name     string
		from, to map[string][]byte
	}{{"upgrade", c.old, c.tree}, {"rollback", c.tree, c.old}} {
		c.change(t, direction.from)
		first := c.begin(t, direction.name+"-one")
		c.change(t, direction.to, "InterpreterFunction", "CallbackFunction", "StartJobFunction")
		second := c.begin(t, direction.name+"-two") // by the API and the task runner of the other release
		c.change(t, direction.to)
		c.end(t, first)
		c.end(t, second)
		all = append(all, first, second)
	}
	ended, want := map[string]int{}, 0
	for _, calls := range releasetest.Calls {
		want += calls
	}
	for _, v := range all {
		ended[v.name] = 1
		if got := c.calls(t, v.name); got != want {
			t.Errorf("%s: %d calls of echo, want %d", v.name, got, want)
		}
	}
	if diff := cmp.Diff(ended, c.told(t, queues, url, len(all))); diff != "" {
		t.Errorf("notices:\n%s", diff)
	}
	// The emulator kills the process of a function that changes. A call that it had made is repeated, under the same idempotency key.
	if got := c.echoed(t); got < len(all)*want {
		t.Errorf("echo was called %d times, want at least %d", got, len(all)*want)
	}
	for _, queue := range []string{"WakeQueue", "TaskQueue", "NoticeQueue"} {
		if dead := s.awaitQuiet(t, queue); dead > 0 {
			t.Errorf("%s: %d dead letters", queue, dead)
		}
	}
}
