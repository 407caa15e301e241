package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	awsscheduler "github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/waitless/waitless/pkg/aws/dynamo"
	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/aws/faults"
	"github.com/waitless/waitless/pkg/aws/scheduler"
	"github.com/waitless/waitless/pkg/aws/secrets"
	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/telemetry"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

func TestMain(m *testing.M) { os.Exit(emulator.Main(m)) }

// faultyText has a direct call, a timer beyond the longest delay of a message, a callback, and a
// long call.
const faultyText = `version: v1
type: flow
steps:
  - {type: task, name: Short, resourceArn: acs:fc:::services/s/functions/short}
  - {type: wait, name: Pause, duration: 3600}
  - type: task
    name: Ask
    resourceArn: acs:fc:::services/s/functions/ask
    pattern: waitForCallback
    inputMappings: [{target: token, source: $context.task.token}]
    outputMappings: [{target: answer, source: $local.answer}]
  - {type: task, name: Long, resourceArn: acs:fc:::services/s/functions/long}
`

// TestAFaultAtEachRequest runs a flow on the tables and queues of the emulator, once for each of
// its requests: that one fails, or its response is lost. Clients do not repeat requests, so each
// fault reaches the use case. Then nothing is lost, a close that succeeded is in the history, no
// call is made more than twice, and a fault of a worker is in the metric that the alarm reads.
func TestAFaultAtEachRequest(t *testing.T) {
	t.Parallel()
	at := newTables(t)
	whole := newRun(t, at, 0, 0)
	whole.finish()
	requests := whole.proxy.Requests()
	for _, operation := range []string{
		"DynamoDB.PutItem", "DynamoDB.UpdateItem", "DynamoDB.Query", "DynamoDB.GetItem", "SQS.SendMessage", "Scheduler.CreateSchedule",
		"Secrets Manager.GetSecretValue",
	} {
		if !slices.Contains(requests, operation) {
			t.Errorf("the flow does not request %s", operation)
		}
	}
	if whole.counted(telemetry.MessagesFailed) > 0 {
		t.Error("messages failed without a fault")
	}
	for _, calls := range whole.calls {
		if calls != 1 {
			t.Errorf("calls without a fault: %v", whole.calls)
		}
	}
	var failures atomic.Int32
	t.Cleanup(func() {
		if least := len(requests) / 2; int(failures.Load()) < least {
			t.Errorf("%d of the faults are in the metric of failed messages, want %d at least", failures.Load(), least)
		}
	})
	for number, operation := range requests {
		for fault, name := range map[faults.Fault]string{faults.Fail: "fails", faults.Lose: "has no response"} {
			t.Run(fmt.Sprintf("%d %s %s", number+1, operation, name), func(t *testing.T) {
				t.Parallel()
				r := newRun(t, at, fault, number+1)
				r.finish()
				failures.Add(int32(min(r.counted(telemetry.MessagesFailed), 1)))
			})
		}
	}
}

// TestFaultsThatStay: a service fails for longer, Scheduler is late, or the token key is replaced
// while a token is open.
func TestFaultsThatStay(t *testing.T) {
	t.Parallel()
	at := newTables(t)
	const all = 1000
	for name, tt := range map[string]struct {
		fault     faults.Fault
		operation string
		times     int
		late      time.Duration // of schedules
		rotates   bool
		raises    *telemetry.Metric // above least
		least     float64
	}{
		// A timer that Scheduler rejects goes through the queue: four times 15 minutes are an hour.
		"Scheduler rejects":    {fault: faults.Throttle, operation: "Scheduler.CreateSchedule", times: all},
		"Scheduler fails":      {fault: faults.Fail, operation: "Scheduler.CreateSchedule", times: all},
		"Scheduler is late":    {late: 5 * time.Minute, raises: telemetry.WakeAge, least: 60_000},
		"no token key":         {fault: faults.Fail, operation: "Secrets Manager.GetSecretValue", times: 4, raises: telemetry.MessagesFailed},
		"the log is throttled": {fault: faults.Throttle, operation: "DynamoDB.Query", times: 4, raises: telemetry.MessagesFailed},
		"the queue is gone":    {fault: faults.Refuse, operation: "SQS.SendMessage", times: 3},
		"the key is replaced":  {rotates: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRun(t, at, 0, 0)
			r.late, r.rotates = tt.late, tt.rotates
			r.proxy.Inject(tt.fault, tt.operation, tt.times)
			r.finish()
			if tt.raises != nil && r.counted(tt.raises) <= tt.least {
				t.Errorf("%s is %g, and the alarm needs more than %g", tt.raises.Name, r.counted(tt.raises), tt.least)
			}
		})
	}
}

// tableNames are those of all runs.
type tableNames struct{ log, waits string }

func newTables(t *testing.T) tableNames {
	t.Helper()
	names := tableNames{"log-" + rand.Text(), "waits-" + rand.Text()}
	client := dynamodb.NewFromConfig(faults.Direct(emulator.Config(t)))
	for name, keys := range map[string]map[string]types.ScalarAttributeType{
		names.log:   {"p": types.ScalarAttributeTypeB, "s": types.ScalarAttributeTypeB},
		names.waits: {"k": types.ScalarAttributeTypeS},
	} {
		input := &dynamodb.CreateTableInput{TableName: &name, BillingMode: types.BillingModePayPerRequest}
		for i, key := range slices.Sorted(maps.Keys(keys)) {
			input.AttributeDefinitions = append(input.AttributeDefinitions, types.AttributeDefinition{AttributeName: &key, AttributeType: keys[key]})
			input.KeySchema = append(input.KeySchema, types.KeySchemaElement{
				AttributeName: &key, KeyType: []types.KeyType{types.KeyTypeHash, types.KeyTypeRange}[i],
			})
		}
		if _, err := client.CreateTable(t.Context(), input); err != nil {
			t.Fatal(err)
		}
	}
	return names
}

// run is one execution, with a queue and a clock of its own. It delivers the messages of the queue
// as SQS does, and those of schedules as Scheduler does.
type run struct {
	*testing.T

	proxy      *faults.Proxy
	wakes      *sqs.Receiver
	tasks      *sqs.Receiver
	client     *engine.Client
	tokens     *resume.Tokens
	queues     *awssqs.Client
	schedules  *awsscheduler.Client
	url, group string
	flow       machine.FlowRef
	metrics    bytes.Buffer
	batch      *telemetry.Batch
	held       []*heldMessage
	receipts   map[string]*heldMessage
	asked      string // the token of the callback
	closed     bool
	secret     string // the ARN of the token key
	late       time.Duration
	rotates    bool
	log        bytes.Buffer

	mu    sync.Mutex
	now   time.Time
	calls map[string]int // by idempotency key
}

// heldMessage was received from SQS, which does not deliver it again: the run does.
type heldMessage struct {
	id, body string
	receives int
	from     time.Time // when it is delivered
}

func newRun(t *testing.T, at tableNames, fault faults.Fault, number int) *run {
	t.Helper()
	direct := faults.Direct(emulator.Config(t))
	r := &run{
		T: t, proxy: faults.NewProxy(t, *direct.BaseEndpoint), queues: awssqs.NewFromConfig(direct), schedules: awsscheduler.NewFromConfig(direct),
		group: "run-" + rand.Text(), receipts: map[string]*heldMessage{}, calls: map[string]int{}, now: time.Now(),
	}
	queue, err := r.queues.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: &r.group})
	if err == nil {
		r.url = *queue.QueueUrl
		_, err = r.schedules.CreateScheduleGroup(t.Context(), &awsscheduler.CreateScheduleGroupInput{Name: &r.group})
	}
	var secret *secretsmanager.CreateSecretOutput
	if err == nil {
		secret, err = secretsmanager.NewFromConfig(direct).CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{
			Name: &r.group, SecretString: aws.String(`{"id":1,"secret":"` + strings.Repeat("s", token.SecretSize) + `"}`),
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	if r.flow, err = dynamo.NewLog(dynamodb.NewFromConfig(direct), at.log, r.clock).Put(t.Context(), "faulty", []byte(faultyText)); err != nil {
		t.Fatal(err)
	}
	r.secret = *secret.ARN
	r.compose(at)
	r.proxy.InjectAt(fault, number)
	return r
}

// compose composes the worker, the task runner and the clients, whose requests pass the proxy.
func (r *run) compose(at tableNames) {
	config := r.proxy.Config(emulator.Config(r.T))
	config.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	tables := dynamodb.NewFromConfig(config)
	store, waits := dynamo.NewLog(tables, at.log, r.clock), dynamo.NewWaits(tables, at.waits, r.clock)
	queue := sqs.Queue{Client: undelayed{awssqs.NewFromConfig(config)}, URL: r.url}
	log := slog.New(slog.NewTextHandler(&r.log, nil))
	arn := "arn:aws:sqs:us-east-1:" + emulator.Account + ":" + r.group
	wakes := sqs.NewWakes(sqs.WakesConfig{Queue: queue, Now: r.clock, Log: log, Schedule: &scheduler.Group{
		Client: awsscheduler.NewFromConfig(config), Name: r.group, QueueARN: arn, DeadLettersARN: arn, RoleARN: "arn:aws:iam::" + emulator.Account + ":role/r",
	}})
	keys := &secrets.Keys{Client: secretsmanager.NewFromConfig(config), Secret: r.secret, Now: r.clock}
	nap := func(context.Context, time.Duration) error { return nil }
	limits := machine.Limits{Direct: machine.DefaultDirect}
	worker, err := engine.NewWorker(engine.Config{
		Log: store, Flows: store, Joins: store, TokenStore: waits, Stops: waits, Wakes: wakes, TaskQueue: &sqs.Tasks{Target: queue}, Caller: r,
		Now: r.clock, Limits: limits, NewerKeys: keys.Newer, Sleep: nap,
	})
	if err != nil {
		r.Fatal(err)
	}
	clients := engine.Config{Log: store, Flows: store, TokenStore: waits, Stops: waits, Wakes: wakes, Now: r.clock, Limits: limits}
	if r.client, err = engine.NewClient(clients); err != nil {
		r.Fatal(err)
	}
	r.batch = &telemetry.Batch{Now: r.clock, Out: &r.metrics}
	i := interpreter{keys, worker, store, clients, r.batch}
	receiver := sqs.Receiver{Client: &hider{r, awssqs.NewFromConfig(config)}, URLs: []string{r.url}, AnySource: true, Now: r.clock, Log: log, Metrics: r.batch}
	onWakes, onTasks := receiver, receiver
	onWakes.Decode = sqs.DecodeWakes(i.advance, i.fire)
	onTasks.Decode = sqs.DecodeTasks(sqs.TaskHandlers{Now: r.clock, Run: func(ctx context.Context, task engine.Task) (d engine.Disposition, err error) {
		taskConfig := engine.Config{TokenStore: waits, Now: r.clock, Limits: limits, Wakes: wakes, Caller: r, Sleep: nap, NewerKeys: keys.Newer}
		if taskConfig.Keys, err = keys.Get(ctx); err != nil {
			return d, err
		}
		runner, err := engine.NewTaskRunner(taskConfig)
		if err != nil {
			return d, err
		}
		return runner.RunTask(ctx, task)
	}})
	r.wakes, r.tasks = &onWakes, &onTasks
	r.tokens = resume.NewTokens(resume.TokensConfig{Keys: keys, Store: waits, Wakes: sqs.TokenWakes{Wakes: wakes}, Now: r.clock})
}

func (r *run) clock() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

// undelayed sends messages without their delay, which the run adds.
type undelayed struct{ *awssqs.Client }

func (u undelayed) SendMessage(
	ctx context.Context, input *awssqs.SendMessageInput, options ...func(*awssqs.Options),
) (*awssqs.SendMessageOutput, error) {
	input.DelaySeconds = 0
	return u.Client.SendMessage(ctx, input, options...)
}

// hider hides messages of the run. After a fault the visibility timeout of the queue applies.
type hider struct {
	run    *run
	client *awssqs.Client
}

func (h *hider) ChangeMessageVisibility(
	ctx context.Context, input *awssqs.ChangeMessageVisibilityInput, options ...func(*awssqs.Options),
) (*awssqs.ChangeMessageVisibilityOutput, error) {
	held := h.run.receipts[*input.ReceiptHandle]
	held.from = h.run.clock().Add(3 * time.Minute)
	hidden := time.Duration(input.VisibilityTimeout) * time.Second
	input.VisibilityTimeout = int32((6 * time.Hour).Seconds())
	output, err := h.client.ChangeMessageVisibility(ctx, input, options...)
	if err == nil {
		held.from = h.run.clock().Add(hidden)
	}
	return output, err
}

// Call implements [engine.Caller].
func (r *run) Call(_ context.Context, call machine.Call) (token.Outcome, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls[call.Key()]++
	if call.Step == "Ask" {
		r.asked = call.Input.Get("token").Text()
	}
	return token.Success(value.Object()), nil
}

// TimeLimits implements [engine.Caller].
func (*run) TimeLimits(context.Context, *flow.Flow) (map[string]time.Duration, error) {
	return map[string]time.Duration{
		"acs:fc:::services/s/functions/short": time.Second, "acs:fc:::services/s/functions/ask": time.Second,
		"acs:fc:::services/s/functions/long": time.Minute,
	}, nil
}

// mostTries is how often a caller repeats a request.
const mostTries = 5

// finish starts the execution, and delivers messages until it ended and none is left.
func (r *run) finish() {
	r.Helper()
	r.until("start", func() error {
		_, err := r.client.Start(r.Context(), engine.StartRequest{Flow: r.flow, Execution: r.group})
		return err
	})
	for deliveries := 0; r.step(); deliveries++ {
		if deliveries > 200 {
			r.Fatal("the messages do not end")
		}
	}
	r.check()
}

// until makes a request until it succeeds.
func (r *run) until(what string, request func() error) {
	r.Helper()
	var err error
	for range mostTries {
		if err = request(); err == nil {
			return
		}
	}
	r.Fatalf("%s: %v", what, err)
}

// step delivers the next message, or closes the token that waits. It returns false when nothing is
// left.
func (r *run) step() bool {
	r.receive()
	if len(r.held) == 0 {
		r.fire()
	}
	switch {
	case len(r.held) > 0:
		r.deliver()
	case r.asked != "" && !r.closed:
		if r.rotates {
			r.rotate()
		}
		r.until("close the token", r.closeToken)
		r.closed = true
	default:
		return false
	}
	return true
}

func (r *run) closeToken() error {
	verified, err := r.tokens.Verify(r.Context(), r.asked)
	if err == nil {
		_, _, err = verified.Close(r.Context(), token.Success(value.Object(value.Member{Key: "answer", Value: value.Int(42)})))
	}
	return err
}

// rotate replaces the token key as operators do: the old key still verifies. The functions read it
// a while later.
func (r *run) rotate() {
	if _, err := secretsmanager.NewFromConfig(faults.Direct(emulator.Config(r.T))).PutSecretValue(r.Context(), &secretsmanager.PutSecretValueInput{
		SecretId: &r.secret, SecretString: aws.String(fmt.Sprintf(`{"id":2,"secret":%q,"verify":[{"id":1,"secret":%q}]}`,
			strings.Repeat("n", token.SecretSize), strings.Repeat("s", token.SecretSize))),
	}); err != nil {
		r.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = r.now.Add(10 * time.Minute)
}

// receive takes the messages that SQS has.
func (r *run) receive() {
	for {
		received, err := r.queues.ReceiveMessage(r.Context(), &awssqs.ReceiveMessageInput{
			QueueUrl: &r.url, MaxNumberOfMessages: 10, VisibilityTimeout: int32((6 * time.Hour).Seconds()),
		})
		if err != nil {
			r.Fatal(err)
		}
		for _, m := range received.Messages {
			r.hold(*m.ReceiptHandle, *m.Body)
		}
		if len(received.Messages) == 0 {
			return
		}
	}
}

// hold keeps a message until it is due, as the delay of SQS or a schedule would. A wake that is due
// later is delivered after the longest delay.
func (r *run) hold(receipt, body string) {
	var m struct{ Payload struct{ Due time.Time } }
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		r.Fatal(err)
	}
	from := m.Payload.Due
	if latest := r.clock().Add(sqs.LongestDelay); from.After(latest) {
		from = latest
	}
	held := &heldMessage{id: receipt, body: body, from: from}
	r.held, r.receipts[receipt] = append(r.held, held), held
}

// fire puts what is scheduled into the queue.
func (r *run) fire() {
	listed, err := r.schedules.ListSchedules(r.Context(), &awsscheduler.ListSchedulesInput{GroupName: &r.group})
	if err != nil {
		r.Fatal(err)
	}
	for _, s := range listed.Schedules {
		found, err := r.schedules.GetSchedule(r.Context(), &awsscheduler.GetScheduleInput{GroupName: &r.group, Name: s.Name})
		if err == nil {
			_, err = r.queues.SendMessage(r.Context(), &awssqs.SendMessageInput{QueueUrl: &r.url, MessageBody: found.Target.Input})
		}
		if err == nil {
			_, err = r.schedules.DeleteSchedule(r.Context(), &awsscheduler.DeleteScheduleInput{GroupName: &r.group, Name: s.Name})
		}
		if err != nil {
			r.Fatal(err)
		}
		if at, err := time.Parse("at(2006-01-02T15:04:05)", *found.ScheduleExpression); err == nil && at.After(r.clock()) {
			r.mu.Lock()
			r.now = at.Add(r.late)
			r.mu.Unlock()
		}
	}
	r.receive()
}

// deliver delivers the message that is next, at its time.
func (r *run) deliver() {
	next := slices.MinFunc(r.held, func(a, b *heldMessage) int { return a.from.Compare(b.from) })
	r.mu.Lock()
	if next.from.After(r.now) {
		r.now = next.from
	}
	r.mu.Unlock()
	next.receives++
	receiver := r.wakes
	if strings.Contains(next.body, `"kind":"task"`) {
		receiver = r.tasks
	}
	response, err := receiver.Handle(r.Context(), events.SQSEvent{Records: []events.SQSMessage{{
		MessageId: next.id, ReceiptHandle: next.id, Body: next.body, Attributes: map[string]string{"ApproximateReceiveCount": fmt.Sprint(next.receives)},
	}}})
	if err != nil {
		r.Fatal(err)
	}
	if len(response.BatchItemFailures) == 0 {
		r.held = slices.DeleteFunc(r.held, func(m *heldMessage) bool { return m == next })
	}
}

// check compares the end with that of a run without a fault.
func (r *run) check() {
	r.Helper()
	var state machine.State
	r.until("describe", func() (err error) {
		state, err = r.client.Describe(r.Context(), engine.NewID("faulty", r.group))
		return err
	})
	if state.Status != machine.StatusSucceeded || state.Output.JSON() != `{"answer":42}` {
		r.Errorf("it is %s: %s %s with output %s", state.Status, state.Error, state.Cause, state.Output.JSON())
	}
	if len(r.calls) != 3 {
		r.Errorf("calls of %d attempts, want 3: %v", len(r.calls), r.calls)
	}
	for key, calls := range r.calls {
		if calls > 2 {
			r.Errorf("call %s was made %d times", key, calls)
		}
	}
	if failed := float64(strings.Count(r.log.String(), "outcome=failed")); failed != r.counted(telemetry.MessagesFailed) {
		r.Errorf("%g messages failed, and the metric is %g", failed, r.counted(telemetry.MessagesFailed))
	}
}

// counted returns the sum of a metric in the lines that CloudWatch reads.
func (r *run) counted(m *telemetry.Metric) (sum float64) {
	for line := range strings.Lines(r.metrics.String()) {
		var members map[string]any
		if err := json.Unmarshal([]byte(line), &members); err != nil {
			r.Fatal(err)
		}
		if n, ok := members[m.Name].(float64); ok {
			sum += n
		}
	}
	return sum
}
