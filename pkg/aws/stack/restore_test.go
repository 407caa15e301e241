package stack_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/internal/cli/view"
)

// restored is the stack that loses its tables.
var restored = deployment{name: freshName(), parameters: []string{
	"LongestDelay=30", "WakeVisibility=30", "Options=backups,deletion-protection", "DataLimit=6291456",
}, prepare: withJobs, build: shipped, withoutTLS: true}

const (
	journeyFlow = "pkg/aws/stack/testdata/restore/journey.yaml"
	briefFlow   = "pkg/aws/stack/testdata/restore/brief.yaml"
	nestingFlow = "pkg/aws/stack/testdata/restore/nesting.yaml"
	nestedFlow  = "pkg/aws/stack/testdata/restore/nested.yaml"
)

// nestedExecution is the sub-flow of the execution nesting/one.
const nestedExecution = "nested/one"

// A toldCall is a call that the function `tell` reports.
type toldCall struct{ Step, Key, Token string }

// ledger records the calls of a stack outside of it.
type ledger struct {
	server *httptest.Server

	mu    sync.Mutex
	calls []toldCall
}

func newLedger(t *testing.T) *ledger {
	t.Helper()
	l := &ledger{}
	l.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var call toldCall
		if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if call.Token != "" {
			issued(call.Token)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.calls = append(l.calls, call)
	}))
	t.Cleanup(l.server.Close)
	return l
}

// await returns the call of a step, once the ledger has it.
func (l *ledger) await(t *testing.T, step string) toldCall {
	t.Helper()
	return soon(t, "the call of "+step, func() (toldCall, bool) {
		l.mu.Lock()
		defer l.mu.Unlock()
		i := slices.IndexFunc(l.calls, func(c toldCall) bool { return c.Step == step })
		if i < 0 {
			return toldCall{}, false
		}
		return l.calls[i], true
	})
}

// take removes all calls, and returns them by their keys. No key may have two.
func (l *ledger) take(t *testing.T) map[string]toldCall {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	byKey := map[string]toldCall{}
	for _, call := range l.calls {
		if byKey[call.Key] != (toldCall{}) {
			t.Errorf("%s was called twice with the key %s", call.Step, call.Key)
		}
		byKey[call.Key] = call
	}
	l.calls = nil
	return byKey
}

func steps(calls map[string]toldCall) []string {
	return slices.Sorted(func(yield func(string) bool) {
		for _, call := range calls {
			if !yield(call.Step) {
				return
			}
		}
	})
}

// page returns the commands of a section of the page about recovery, for this stack.
func (s stack) page(t *testing.T, title string) (commands []shown) {
	t.Helper()
	return s.commandsOf(t, "recovery.md", title)
}

// commandsOf returns the commands of a section of a reference page, for this stack.
func (s stack) commandsOf(t *testing.T, page, title string) (commands []shown) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "pkg", "docs", "reference", page))
	if err != nil {
		t.Fatal(err)
	}
	commands = section(string(text), title)
	if len(commands) == 0 {
		t.Fatalf("%s has no commands in %q", page, title)
	}
	for i := range commands {
		commands[i].command = strings.ReplaceAll(commands[i].command, "orders", s.name)
	}
	return commands
}

// operate runs commands of the page in one shell, whose folder is dir. Each must succeed. It
// returns what they print.
func (s stack) operate(t *testing.T, dir string, commands ...shown) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", session(commands))
	cmd.Dir = dir
	cmd.Env = append(slices.DeleteFunc(withoutMake(os.Environ()), ofAWS), variables(emulator.Config(t))...)
	cmd.Env = append(cmd.Env, "AWS_DEFAULT_REGION="+emulator.Region, "AWS_PAGER=",
		"PATH="+strings.Join([]string{folder, vendorTool(t, "clients", "bin"), os.Getenv("PATH")}, string(os.PathListSeparator)))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	exits, printed := ended.FindAllStringSubmatch(string(out), -1), ended.Split(string(out), -1)
	if len(exits) != len(commands) {
		t.Fatalf("%d of %d commands ended:\n%s", len(exits), len(commands), out)
	}
	for i, c := range commands {
		if exits[i][1] != "0" || strings.Contains(printed[i], "An error occurred") {
			t.Errorf("$ %s\nends with %s and prints:\n%s", c.command, exits[i][1], printed[i])
		}
	}
	return string(out)
}

// lose loses all items of the tables, the messages of all queues and the schedules.
func (s stack) lose(t *testing.T) {
	t.Helper()
	config := emulator.Config(t)
	for id, physical := range s.resources {
		var err error
		switch {
		case strings.HasSuffix(id, "Table"):
			err = wipe(t.Context(), dynamodb.NewFromConfig(config), physical)
		case strings.HasSuffix(id, "Queue"):
			_, err = sqs.NewFromConfig(config).PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: &physical})
		case id == "Timers":
			schedules := scheduler.NewFromConfig(config)
			if _, err = schedules.DeleteScheduleGroup(t.Context(), &scheduler.DeleteScheduleGroupInput{Name: &physical}); err == nil {
				_, err = schedules.CreateScheduleGroup(t.Context(), &scheduler.CreateScheduleGroupInput{Name: &physical})
			}
		}
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
	}
}

// wipe deletes the items of a table.
func wipe(ctx context.Context, tables *dynamodb.Client, name string) error {
	found, err := tables.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
	if err != nil {
		return err
	}
	pages := dynamodb.NewScanPaginator(tables, &dynamodb.ScanInput{TableName: &name})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, item := range page.Items {
			key := map[string]types.AttributeValue{}
			for _, part := range found.Table.KeySchema {
				key[*part.AttributeName] = item[*part.AttributeName]
			}
			if _, err := tables.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &name, Key: key}); err != nil {
				return err
			}
		}
	}
	return nil
}

// notice receives the notice of an end, and returns its id.
func (s stack) notice(t *testing.T, queues *sqs.Client, url, execution string) (id string) {
	t.Helper()
	received, err := queues.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{
		QueueUrl: &url, WaitTimeSeconds: 20, MaxNumberOfMessages: 1, MessageAttributeNames: []string{"All"},
	})
	if err != nil || len(received.Messages) != 1 || !strings.Contains(*received.Messages[0].Body, `"execution":"`+execution+`"`) {
		t.Fatalf("the notice of %s: %+v, error %v", execution, received, err)
	}
	message := received.Messages[0]
	if _, err := queues.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: message.ReceiptHandle}); err != nil {
		t.Fatal(err)
	}
	return aws.ToString(message.MessageAttributes["webhook-id"].StringValue)
}

// A loss is a stack that loses what it has stored since a backup, and everything else. Calls are by
// their keys.
type loss struct {
	stack

	calls    *ledger
	job      replication
	external externalWait
	queues   *sqs.Client
	notices  string // the URL of the queue
	dir      string // of the files that the commands of the page write
	large    string // a value that is not in the tables

	tokens       map[string]string // by step
	before, lost map[string]toldCall
	notified     string // the id of the notice that was sent before the loss

	pause, backUp, restore []shown
	resume, rearm          shown
}

// lossOf makes what the executions need, and reads the page.
func lossOf(t *testing.T, s stack) *loss {
	t.Helper()
	s.newFunction(t, "tell", filepath.Join("testdata", "restore", "tell.mjs"))
	l := &loss{stack: s, calls: newLedger(t), job: newReplication(t), dir: t.TempDir(), large: strings.Repeat("0123456789", 20_000), tokens: map[string]string{}}
	l.queues, l.notices = makeToldQueue(t, s)
	pause, restore := s.page(t, "Pause"), s.page(t, "Restore")
	l.backUp = s.page(t, "Back up")
	l.resume, l.pause = pause[len(pause)-1], pause[:len(pause)-1]
	l.rearm, l.restore = restore[len(restore)-1], restore[:len(restore)-1]
	return l
}

func (l *loss) start(t *testing.T, flow, name string, more ...string) {
	t.Helper()
	input, err := json.Marshal(map[string]string{"url": l.calls.server.URL, "task": l.job.arn, "text": l.large, "name": name})
	file := filepath.Join(l.dir, "input.json")
	if err := errors.Join(err, os.WriteFile(file, input, 0o600)); err != nil {
		t.Fatal(err)
	}
	l.check(t, view.ExitSucceeded, name, append([]string{"start", flow, "--name", name, "--input", "@" + file}, more...)...)
}

// begin starts executions, and waits until they wait.
func (l *loss) begin(t *testing.T) {
	t.Helper()
	l.check(t, view.ExitSucceeded, "", "flows", "put", nestedFlow)
	l.start(t, journeyFlow, "one")
	l.start(t, briefFlow, "one", "--notify", toldQueue(l.name))
	l.start(t, nestingFlow, "one")
	l.external = l.waitElsewhere(t)
	for _, step := range []string{"Ask", "Approve", "Short", "Nested"} {
		l.tokens[step] = l.calls.await(t, step).Token
	}
	l.job.awaitStart(t)
	l.await(t, "Sleep until", "show", "journey/one")
	l.awaitSubmitted(t, "journey/one", 3)
	l.awaitSubmitted(t, "brief/one", 1)
	l.await(t, " TaskSubmitted ", "history", nestedExecution)
}

// backedUp takes the backup.
func (l *loss) backedUp(t *testing.T) {
	t.Helper()
	l.operate(t, l.dir, slices.Concat(l.pause, l.backUp)...)
	l.before = l.calls.take(t)
	if diff := cmp.Diff([]string{"Approve", "Ask", "First", "Nested", "Short"}, steps(l.before)); diff != "" {
		t.Errorf("calls before the backup:\n%s", diff)
	}
	l.operate(t, l.dir, append(slices.Clone(l.pause[:3]), l.resume)...)
}

// continueAndLose lets the executions go on, and then loses everything.
func (l *loss) continueAndLose(t *testing.T) {
	t.Helper()
	succeed(t, l.stack, l.tokens["Ask"], `{"first":true}`)
	succeed(t, l.stack, l.tokens["Short"], `{}`)
	l.tokens["Again"] = l.calls.await(t, "Again").Token
	l.notified = l.notice(t, l.queues, l.notices, "one")
	l.start(t, briefFlow, "late")
	l.awaitSubmitted(t, "brief/late", 1)
	l.operate(t, l.dir, l.pause...)
	l.lost = l.calls.take(t)
	l.lose(t)
	l.job.stop(t, "FULL_LOAD_ONLY_FINISHED")
}

// recover restores the backup, and sends the messages that were lost.
func (l *loss) recover(t *testing.T) {
	t.Helper()
	printed := l.operate(t, l.dir, slices.Concat(l.pause, l.restore, []shown{l.resume, l.rearm})...)
	for _, rearmed := range []string{"journey/one", "lanes", "nesting/one", "subflow", nestedExecution, "poll"} {
		if !strings.Contains(printed, rearmed) {
			t.Errorf("%s is not rearmed:\n%s", rearmed, printed)
		}
	}
	if strings.Contains(printed, "brief/late") {
		t.Errorf("an execution that is not in the backup is rearmed:\n%s", printed)
	}
	l.check(t, view.ExitUsage, "there is no execution", "show", "brief/late")
}

// end lets all executions end.
func (l *loss) end(t *testing.T) {
	t.Helper()
	l.start(t, briefFlow, "late")
	for _, step := range []string{"Ask", "Again", "Approve", "Short", "Nested"} { // that of Again is reported before the step is reached
		succeed(t, l.stack, l.tokens[step], `{"second":true}`)
	}
	l.tell(t, l.job.stopped(t, "durable-callback", "FULL_LOAD_ONLY_FINISHED"))
	for _, execution := range []string{"journey/one", "brief/one", "nesting/one"} {
		l.await(t, "Succeeded", "show", execution)
	}
	if got := l.do(t, "show", "nesting/one", "--json"); !strings.Contains(got.stdout, l.large) {
		t.Errorf("the output lacks the large value: exit %d, %.500s", got.exit, got.stdout)
	}
	l.external.end(t, l.stack)
	if again := l.notice(t, l.queues, l.notices, "one"); again != l.notified {
		t.Errorf("the end was notified with the id %q and then %q", l.notified, again)
	}
	l.awaitSubmitted(t, "brief/late", 1)
}

// checkCalls compares the calls after the restore with those that were made before it.
func (l *loss) checkCalls(t *testing.T) {
	t.Helper()
	after := l.calls.take(t)
	all := merged(l.lost, after)
	for key, call := range l.lost {
		repeated := after[key].Step == call.Step
		if repeated == (call.Step == "Again") { // its outcome was there when the step was reached
			t.Errorf("%+v was lost, and %+v is there after the restore", call, after[key])
		}
		delete(after, key)
	}
	for key := range after {
		if l.before[key] != (toldCall{}) {
			t.Errorf("%s was called again", l.before[key].Step)
		}
	}
	if diff := cmp.Diff([]string{"Again", "Last", "Short", "Slept", "Told"}, slices.Compact(steps(all))); diff != "" {
		t.Errorf("calls since the backup:\n%s", diff)
	}
}

// Executions, and the wait of a state machine of Step Functions, go on from a backup after both
// tables, all messages and all schedules are lost, by the commands of the page about recovery. What
// happened between the backup and the loss happens again with the same keys and tokens, and nothing
// else does.
func TestRestore(t *testing.T) {
	t.Parallel()
	if !*faults {
		t.Skip("has a stack of its own: `make test-faults` runs it")
	}
	l := lossOf(t, restored.get(t))
	l.begin(t)
	l.backedUp(t)
	l.continueAndLose(t)
	l.recover(t)
	l.end(t)
	l.checkCalls(t)
	for _, queue := range []string{"WakeQueue", "TaskQueue", "NoticeQueue", "JobQueue"} {
		if dead := l.awaitQuiet(t, queue); dead > 0 {
			t.Errorf("%s: %d dead letters", queue, dead)
		}
	}
}

// An externalWait is a state machine that waits for a job, and then for a person.
type externalWait struct {
	job    replication
	person *reviewer
	look   func() (verdict, bool)
}

// waitElsewhere starts a state machine, and waits until it waits for its job.
func (s stack) waitElsewhere(t *testing.T) externalWait {
	t.Helper()
	const folder = "step-functions-task-token"
	w := externalWait{job: newReplication(t), person: newReviewer(t)}
	machine := newMachine(t, s, filepath.Join(root, "events", folder))
	w.look = machine.start(t, "one", w.person.input(t, folder, w.job))
	w.job.awaitStart(t)
	return w
}

// end ends the job, reports the outcome as the person, and waits for the end.
func (w externalWait) end(t *testing.T, s stack) {
	t.Helper()
	const reason = "FULL_LOAD_ONLY_FINISHED"
	w.job.stop(t, reason)
	s.tell(t, w.job.stopped(t, "step-functions-task-token", reason))
	s.checkPosts(t, posted{w.person.asked(t), `{"approved":true}`, 200, `"outcome":"success"`})
	if got := soon(t, "the end of the state machine", w.look); got.status != "SUCCEEDED" {
		t.Errorf("the state machine ended as %+v", got)
	}
}

func merged(a, b map[string]toldCall) map[string]toldCall {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// awaitSubmitted waits until so many calls of an execution were submitted: they are not repeated.
func (s stack) awaitSubmitted(t *testing.T, execution string, want int) {
	t.Helper()
	soon(t, execution+": a submission", func() (_ struct{}, ok bool) {
		return struct{}{}, strings.Count(s.do(t, "history", execution).stdout, " TaskSubmitted ") == want
	})
}

// await runs a command until it prints a text.
func (s stack) await(t *testing.T, text string, args ...string) {
	t.Helper()
	soon(t, text, func() (_ struct{}, ok bool) {
		return struct{}{}, strings.Contains(s.do(t, args...).stdout, text)
	})
}
