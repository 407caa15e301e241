package stack_test

import (
	"context"
	"encoding/json"
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
	"github.com/waitless/waitless/pkg/cli"
)

// restored is the stack that loses its tables.
var restored = deployment{name: freshName(), parameters: []string{
	"LongestDelay=30", "WakeVisibility=30", "PointInTimeRecovery=on", "DeletionProtection=on",
}, prepare: withJobs, build: shipped}

const (
	journeyFlow = "pkg/aws/stack/testdata/restore/journey.yaml"
	briefFlow   = "pkg/aws/stack/testdata/restore/brief.yaml"
)

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
	text, err := os.ReadFile(filepath.Join(root, "pkg", "docs", "reference", "recovery.md"))
	if err != nil {
		t.Fatal(err)
	}
	commands = section(string(text), title)
	if len(commands) == 0 {
		t.Fatalf("the page has no commands in %q", title)
	}
	for i := range commands {
		commands[i].command = strings.ReplaceAll(commands[i].command, "orders", s.name)
	}
	return commands
}

// operate runs commands of the page in one shell, whose folder is dir. Each must succeed. It returns what they print.
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

// Executions go on from a backup after both tables, all messages and all schedules are lost, by the commands of the page about
// recovery. What happened between the backup and the loss happens again with the same keys and tokens, and nothing else does.
func TestRestore(t *testing.T) {
	t.Parallel()
	if !*faults {
		t.Skip("has a stack of its own: `make test-faults` runs it")
	}
	s := restored.get(t)
	// The emulator asks for a right to batches of messages, which on AWS is that to messages.
	if err := s.allow(t.Context(), emulator.Config(t), "ApiRole", "SendWakes", `"sqs:SendMessageBatch"`, s.queueARN(t, "WakeQueue")); err != nil {
		t.Fatal(err)
	}
	s.newFunction(t, "tell", filepath.Join("testdata", "restore", "tell.mjs"))
	queues, url := makeToldQueue(t, s)
	calls, job, dir := newLedger(t), newReplication(t), t.TempDir()
	input := `{"url":"` + calls.server.URL + `","task":"` + job.arn + `"}`
	start := func(flow, name string, more ...string) {
		s.check(t, cli.ExitSucceeded, name, append([]string{"start", flow, "--name", name, "--input", input}, more...)...)
	}
	pause, backUp, restore := s.page(t, "Pause"), s.page(t, "Back up"), s.page(t, "Restore")
	resume, pause := pause[len(pause)-1], pause[:len(pause)-1]
	rearm, restore := restore[len(restore)-1], restore[:len(restore)-1]

	start(journeyFlow, "one")
	start(briefFlow, "one", "--notify", toldQueue(s.name))
	tokens := map[string]string{}
	for _, step := range []string{"Ask", "Approve", "Short"} {
		tokens[step] = calls.await(t, step).Token
	}
	job.awaitStart(t)
	s.await(t, "Sleep until", "show", "journey/one")
	s.awaitSubmitted(t, "journey/one", 3)
	s.awaitSubmitted(t, "brief/one", 1)
	s.operate(t, dir, slices.Concat(pause, backUp)...)
	before := calls.take(t)
	if diff := cmp.Diff([]string{"Approve", "Ask", "First", "Short"}, steps(before)); diff != "" {
		t.Errorf("calls before the backup:\n%s", diff)
	}

	s.operate(t, dir, append(slices.Clone(pause[:3]), resume)...)
	succeed(t, s, tokens["Ask"], `{"first":true}`)
	succeed(t, s, tokens["Short"], `{}`)
	tokens["Again"] = calls.await(t, "Again").Token
	told := s.notice(t, queues, url, "one")
	start(briefFlow, "late")
	s.awaitSubmitted(t, "brief/late", 1)
	s.operate(t, dir, pause...)
	lost := calls.take(t)
	s.lose(t)
	job.stop(t, "FULL_LOAD_ONLY_FINISHED")
	printed := s.operate(t, dir, slices.Concat(pause, restore, []shown{resume, rearm})...)
	if !strings.Contains(printed, "journey/one") || !strings.Contains(printed, "lanes") || strings.Contains(printed, "brief/late") {
		t.Errorf("rearmed:\n%s", printed)
	}

	s.check(t, cli.ExitUsage, "there is no execution", "show", "brief/late")
	start(briefFlow, "late")
	for _, step := range []string{"Ask", "Again", "Approve", "Short"} { // that of Again is reported before the step is reached
		succeed(t, s, tokens[step], `{"second":true}`)
	}
	s.tell(t, job.stopped(t, "durable-callback", "FULL_LOAD_ONLY_FINISHED"))
	for _, execution := range []string{"journey/one", "brief/one"} {
		s.await(t, "Succeeded", "show", execution)
	}
	if again := s.notice(t, queues, url, "one"); again != told {
		t.Errorf("the end was notified with the id %q and then %q", told, again)
	}
	s.awaitSubmitted(t, "brief/late", 1)
	after := calls.take(t)
	all := merged(lost, after)
	for key, call := range lost {
		repeated := after[key].Step == call.Step
		if repeated == (call.Step == "Again") { // its outcome was there when the step was reached
			t.Errorf("%+v was lost, and %+v is there after the restore", call, after[key])
		}
		delete(after, key)
	}
	for key := range after {
		if before[key] != (toldCall{}) {
			t.Errorf("%s was called again", before[key].Step)
		}
	}
	if diff := cmp.Diff([]string{"Again", "Last", "Short", "Slept", "Told"}, slices.Compact(steps(all))); diff != "" {
		t.Errorf("calls since the backup:\n%s", diff)
	}
	for _, queue := range []string{"WakeQueue", "TaskQueue", "NoticeQueue", "JobQueue"} {
		if dead := s.awaitQuiet(t, queue); dead > 0 {
			t.Errorf("%s: %d dead letters", queue, dead)
		}
	}
	s.operate(t, dir, s.page(t, "Rearm")...)
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
