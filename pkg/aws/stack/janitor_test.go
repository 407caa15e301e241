package stack_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/waitless/waitless/pkg/aws/dynamo"
	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/aws/s3"
	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// clean runs the janitor, as its schedule does, and returns what it reports.
func (s stack) clean(t *testing.T) string {
	t.Helper()
	done, err := s.invokeJanitor(t)
	if err != nil {
		t.Fatalf("the janitor failed: %v", err)
	}
	return strings.ReplaceAll(done, " ", "") // the emulator writes it anew
}

func (s stack) invokeJanitor(t *testing.T) (string, error) {
	t.Helper()
	done, err := lambda.NewFromConfig(emulator.Config(t)).Invoke(t.Context(), &lambda.InvokeInput{
		FunctionName: aws.String(s.resources["JanitorFunction"]), Payload: []byte("{}"),
	})
	if err != nil {
		return "", err
	}
	if done.FunctionError != nil {
		err = errors.New(string(done.Payload))
	}
	return string(done.Payload), err
}

// putDead puts a wake into the dead-letter queue, as SQS does with one that was replayed so often.
func (s stack) putDead(t *testing.T, wake engine.Wake, replays string) {
	t.Helper()
	body, err := sqs.EncodeWake(wake)
	if err != nil {
		t.Fatal(err)
	}
	input := &awssqs.SendMessageInput{QueueUrl: aws.String(s.resources["WakeDeadLetters"]), MessageBody: &body}
	if replays != "" {
		input.MessageAttributes = map[string]types.MessageAttributeValue{"Replays": {DataType: aws.String("Number"), StringValue: &replays}}
	}
	if _, err := awssqs.NewFromConfig(emulator.Config(t)).SendMessage(t.Context(), input); err != nil {
		t.Fatal(err)
	}
}

// A dead wake is sent to its queue again, and with its third death its execution fails. The metrics
// are in the log, and what no worker may touch is left for the operator.
func TestDeadWakesAreReplayedAndThenFailTheirExecution(t *testing.T) {
	t.Parallel()
	s := hasty.get(t)
	_, run := s.waiting(t, "dead")
	id := engine.NewID("callback", "dead")
	wake := engine.Wake{Execution: id, Cause: machine.CauseRearm, Due: time.Now(), Sent: time.Now()}
	clean := func(wake engine.Wake, replays string) string {
		deadWakes.Lock()
		defer deadWakes.Unlock()
		s.putDead(t, wake, replays)
		return s.clean(t)
	}
	if got := clean(wake, ""); !strings.Contains(got, `"replayed":1`) {
		t.Errorf("the janitor did %s", got)
	}
	s.logLine(t, `"execution":"`+id.String()+`","cause":"token"`)
	s.check(t, view.ExitSucceeded, "Running", "show", "callback/dead")

	s.put(t, "NoticeDeadLetters", "not JSON")
	if got := clean(s.lostStop(t, "callback", "dead"), "2"); !strings.Contains(got, `"failed":1`) || !strings.Contains(got, `"left":1`) {
		t.Errorf("the janitor did %s", got)
	}
	if exit := run.wait(); exit != view.ExitFailed {
		t.Errorf("exit %d", exit)
	}
	s.check(t, view.ExitSucceeded, machine.ErrorInternal, "show", "callback/dead")
	log := s.log(t, "Janitor")
	for _, text := range []string{
		`"WakesReplayed":1`, `"ExecutionsAbandoned":1`, `"DeadLettersLeft":1`, `"OpenWaits":`, `"OldestOpenWait":`, `"ExecutionsFailed":1`,
	} {
		if !strings.Contains(log, text) {
			t.Errorf("the log lacks %s:\n%s", text, log)
		}
	}
}

func (s stack) log(t *testing.T, function string) string {
	t.Helper()
	return printed(t, cloudwatchlogs.NewFromConfig(emulator.Config(t)), s.resources[function+"Logs"])
}

// An execution whose time limit passed without a wake ends: its start was lost an hour ago.
func TestOverdueExecutionsEnd(t *testing.T) {
	t.Parallel()
	s := hasty.get(t)
	client := s.losing(t, anHourAgo)
	flow, err := client.PutFlow(t.Context(), "overdue", []byte("version: v1\ntype: flow\ntimeoutSeconds: 60\nsteps: [{type: wait, name: A, duration: 30000}]\n"))
	if err == nil {
		_, err = client.Start(t.Context(), engine.StartRequest{Flow: flow, Execution: "one"})
	}
	if err != nil {
		t.Fatal(err)
	}
	s.sweepAnew(t)
	if got := s.clean(t); !strings.Contains(got, `"ended":true`) {
		t.Errorf("the janitor did %s", got)
	}
	s.awaitEnd(t, "overdue/one")
	s.check(t, view.ExitSucceeded, "TimedOut", "show", "overdue/one")
	if log, line := s.log(t, "Janitor"), engine.NewID("overdue", "one").String(); !strings.Contains(log, line) {
		t.Errorf("the log lacks execution %s:\n%s", line, log)
	}
}

// sweeps runs the janitor.
func sweeps(x trial) error {
	_, err := x.stack.invokeJanitor(x.T)
	return err
}

// sweepsWaits runs the janitor while a wait of Step Functions is overdue, and an execution waits.
func sweepsWaits(x trial) error { return x.sweepsExternal(false) }

// sweepsOutcomes runs the janitor while the outcome of such a wait was not delivered.
func sweepsOutcomes(x trial) error { return x.sweepsExternal(true) }

func (x trial) sweepsExternal(closed bool) error {
	x.Helper()
	if err := <-x.begin(view.ExitSucceeded, "start", x.flow(sleeps), "--name", x.execution()); err != nil {
		return err
	}
	waits := dynamo.NewWaits(dynamodb.NewFromConfig(emulator.Config(x)), x.stack.resources["WaitsTable"], time.Now)
	id := token.ID{Execution: engine.NewID(x.name, x.execution()), Flags: token.FlagExternal, Expires: time.Now().Add(time.Hour)}
	handle := x.stack.keys(x.T).Handle(id)
	_, err := waits.Open(x.Context(), handle, resume.ExternalWait{
		Recipient: resume.RecipientStepFunctions, Opened: time.Now().Add(-2 * time.Hour), Deadline: time.Now().Add(-time.Hour), Expires: id.Expires,
	})
	if err == nil && closed {
		_, err = waits.Close(x.Context(), handle, token.CloseOp{Outcome: token.Success(value.Object()), By: token.ClosedByHand, At: time.Now()})
	}
	if err == nil {
		x.stack.sweepAnew(x.T)
		err = sweeps(x)
	}
	return errors.Join(err, waits.Deliver(x.Context(), handle, resume.DeliveryGone)) // the next trial has none that is overdue
}

// sweepsLetters runs the janitor with a dead wake of an execution that notifies a target.
func sweepsLetters(replays string) func(trial) error {
	return func(x trial) error {
		err := <-x.begin(view.ExitSucceeded, "start", x.flow(sleeps), "--name", x.execution(), "--notify", "https://hook.invalid/hook")
		if err != nil {
			return err
		}
		x.stack.putDead(x.T, x.stack.lostStop(x.T, x.name, x.execution()), replays)
		return sweeps(x)
	}
}

// sweepsSubflow runs the janitor with the dead wake of a sub-flow that did not report its end. Its
// output has so many bytes.
func sweepsSubflow(size int) func(trial) error {
	return func(x trial) error {
		parent, child := x.name+"-parent", x.name+"-child"
		past := x.stack.past(x.T)
		if err := past.run(x, parent, child, size); err != nil {
			return err
		}
		start := engine.Wake{Execution: engine.NewID(child, x.execution()), Cause: machine.CauseStart, Due: time.Now(), Sent: time.Now()}
		x.stack.putDead(x.T, start, "2")
		if err := sweeps(x); err != nil {
			return err
		}
		x.stack.awaitEnd(x.T, parent+"/"+x.execution())
		var shown struct {
			Output struct{ All struct{ Large string } }
		}
		got := x.stack.do(x.T, "show", parent+"/"+x.execution(), "--json")
		if err := json.Unmarshal([]byte(got.stdout), &shown); err != nil || len(shown.Output.All.Large) != size {
			return fmt.Errorf("the output has %d bytes, error %w: %.1000s", len(shown.Output.All.Large), err, got.stdout)
		}
		return nil
	}
}

// run runs a sub-flow to its end, for which its parent waits. Its report of the end is lost.
func (e past) run(x trial, parent, child string, size int) error {
	x.Helper()
	steps := "- {type: task, name: A, resourceArn: 'acs:fnf:::flow/" + child + "', pattern: sync," +
		" inputMappings: [{target: large, source: $input.large}]," +
		" serviceParams: {Input: $, ExecutionName: " + x.execution() + "}, outputMappings: [{target: all, source: $local}]}"
	_, err := e.client.PutFlow(x.Context(), child, []byte("version: v1\ntype: flow\nsteps:\n"+
		"- {type: pass, name: A, outputMappings: [{target: large, source: $input.large}]}\n"))
	if err != nil {
		return err
	}
	flow, err := e.client.PutFlow(x.Context(), parent, []byte("version: v1\ntype: flow\nsteps:\n"+steps+"\n"))
	if err != nil {
		return err
	}
	input := value.Object(value.Member{Key: "large", Value: value.String(strings.Repeat("x", size))})
	if _, err := e.client.Start(x.Context(), engine.StartRequest{Flow: flow, Execution: x.execution(), Input: input}); err != nil {
		return err
	}
	for _, name := range []string{parent, child} {
		start := engine.Wake{Execution: engine.NewID(name, x.execution()), Cause: machine.CauseStart, Due: anHourAgo(), Sent: anHourAgo()}
		if _, err := e.worker.Advance(x.Context(), start); err != nil && !errors.Is(err, errLost) {
			return err
		}
	}
	return nil
}

// losing returns a client whose wakes are lost.
func (s stack) losing(t *testing.T, now func() time.Time) *engine.Client {
	t.Helper()
	client, err := engine.NewClient(s.losingConfig(t, now))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func (s stack) losingConfig(t *testing.T, now func() time.Time) engine.Config {
	t.Helper()
	tables := dynamodb.NewFromConfig(emulator.Config(t))
	store, waits := dynamo.NewLog(tables, s.resources["LogTable"], time.Now), dynamo.NewWaits(tables, s.resources["WaitsTable"], time.Now)
	return engine.Config{
		Log: store, Flows: store, TokenStore: waits, Stops: waits, Wakes: lostWakes{}, Keys: s.keys(t), Now: now,
		Limits: machine.Limits{Data: machine.MaxLargeData}, LargeValues: s3.NewBucket(emulator.Config(t), s.resources["ValuesBucket"]),
	}
}

func anHourAgo() time.Time { return time.Now().Add(-time.Hour) }

// sweepAnew makes the next sweep the first one, which also finds what was overdue before.
func (s stack) sweepAnew(t *testing.T) {
	t.Helper()
	store := dynamo.NewLog(dynamodb.NewFromConfig(emulator.Config(t)), s.resources["LogTable"], time.Now)
	if err := store.SetSweepPlace(t.Context(), []byte("{}")); err != nil {
		t.Fatal(err)
	}
}

// past is the engine an hour ago. Its wakes and the outcomes of its tokens are lost.
type past struct {
	client *engine.Client
	worker *engine.Worker
}

func (s stack) past(t *testing.T) past {
	t.Helper()
	c := s.losingConfig(t, anHourAgo)
	client, err := engine.NewClient(c)
	if err != nil {
		t.Fatal(err)
	}
	worker, err := engine.NewWorker(engine.Config{
		Log: c.Log, Flows: c.Flows, TokenStore: lostOutcomes{c.TokenStore}, Stops: c.Stops, Wakes: c.Wakes, Keys: c.Keys, Now: c.Now,
		Limits: c.Limits, LargeValues: c.LargeValues,
		Joins: c.Log.(engine.Joins), Caller: noCalls{}, TaskQueue: struct{ engine.TaskQueue }{}, // no lanes and no calls
	})
	if err != nil {
		t.Fatal(err)
	}
	return past{client, worker}
}

// noCalls is for flows without functions.
type noCalls struct{ engine.Caller }

func (noCalls) TimeLimits(context.Context, *flow.Flow) (map[string]time.Duration, error) {
	return nil, nil
}

var errLost = errors.New("lost")

// lostOutcomes closes no token.
type lostOutcomes struct{ engine.TokenStore }

func (lostOutcomes) Close(context.Context, string, token.CloseOp) (token.Record, error) {
	return token.Record{}, errLost
}

// lostStop requests to stop an execution, and returns the wake for that, which was not sent.
func (s stack) lostStop(t *testing.T, flow, execution string) engine.Wake {
	t.Helper()
	id := engine.NewID(flow, execution)
	if err := s.losing(t, time.Now).Stop(t.Context(), id, "", ""); err != nil {
		t.Fatal(err)
	}
	return engine.Wake{Execution: id, Cause: machine.CauseStop, Due: time.Now(), Sent: time.Now()}
}

// lostWakes loses all wakes.
type lostWakes struct{}

func (lostWakes) Send(context.Context, engine.Wake) error { return nil }

func (lostWakes) SendAll(context.Context, []engine.Wake) error { return nil }

func (lostWakes) HoldBack(engine.ID) (release func()) { return func() {} }
