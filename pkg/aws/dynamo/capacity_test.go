package dynamo_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/internal/suite/resumetest"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/jobs/simulated"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// capacity is what is billed: read units, write units of the tables, write units
// of the index, and messages of the wake queue. MiniStack counts one unit for each consistent read,
// whatever its size; what was written with one unit is read with one on AWS too.
type capacity struct {
	read, write, index float64
	messages           int
}

// meter adds up what the calls of a client consume.
type meter struct {
	mu           sync.Mutex
	sum          capacity
	readRequests int // all of them; a batch is one
}

// take is what was consumed since the last time.
func (m *meter) take() capacity {
	m.mu.Lock()
	defer m.mu.Unlock()
	sum := m.sum
	m.sum = capacity{}
	return sum
}

func (m *meter) options(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("meter", m.call), middleware.Before)
	})
}

func (m *meter) call(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
	middleware.InitializeOutput, middleware.Metadata, error,
) {
	const ask = types.ReturnConsumedCapacityIndexes
	switch call := in.Parameters.(type) {
	case *dynamodb.PutItemInput:
		call.ReturnConsumedCapacity = ask
	case *dynamodb.UpdateItemInput:
		call.ReturnConsumedCapacity = ask
	case *dynamodb.TransactWriteItemsInput:
		call.ReturnConsumedCapacity = ask
	case *dynamodb.GetItemInput:
		call.ReturnConsumedCapacity = ask
	case *dynamodb.QueryInput:
		call.ReturnConsumedCapacity = ask
	}
	out, metadata, err := next.HandleInitialize(ctx, in)
	if refusal, refused := errors.AsType[*types.ConditionalCheckFailedException](err); refused {
		attempts, _ := retry.GetAttemptResults(metadata)
		m.refused(in.Parameters, refusal.Item, len(attempts.Results) > 1)
	}
	if err != nil {
		return out, metadata, err
	}
	switch answer := out.Result.(type) {
	case *dynamodb.PutItemOutput:
		m.wrote(answer.ConsumedCapacity)
	case *dynamodb.UpdateItemOutput:
		m.wrote(answer.ConsumedCapacity)
	case *dynamodb.TransactWriteItemsOutput:
		m.wrote(&types.ConsumedCapacity{Table: &types.Capacity{CapacityUnits: answer.ConsumedCapacity[0].WriteCapacityUnits}})
	case *dynamodb.GetItemOutput:
		m.read(answer.ConsumedCapacity)
	case *dynamodb.QueryOutput:
		m.read(answer.ConsumedCapacity)
	case *dynamodb.BatchGetItemOutput:
		m.readBatch(in.Parameters)
	}
	return out, metadata, err
}

func (m *meter) read(consumed *types.ConsumedCapacity) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sum.read += *consumed.CapacityUnits
	m.readRequests++
}

// readBatch counts a unit for each item. MiniStack does not tell what a batch consumed.
func (m *meter) readBatch(input any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, asked := range input.(*dynamodb.BatchGetItemInput).RequestItems { //nolint:forcetypeassert // as its output
		m.sum.read += float64(len(asked.Keys))
	}
	m.readRequests++
}

// refused counts a write that its condition refused, which is billed by the size of the item that
// is there, though the answer does not tell. A put that the client repeated after a lost response
// is refused by itself: it is one write, of the index as well if the item has an entry there.
func (m *meter) refused(input any, there map[string]types.AttributeValue, repeated bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	const unit = 1 << 10
	m.sum.write++
	put, ok := input.(*dynamodb.PutItemInput)
	if !ok {
		return
	}
	body, _ := put.Item["b"].(*types.AttributeValueMemberB)
	m.sum.write += float64(len(body.Value) / unit)
	if _, listed := put.Item["x"]; listed && repeated && reflect.DeepEqual(put.Item, there) {
		m.sum.index++
	}
}

func (m *meter) wrote(consumed *types.ConsumedCapacity) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sum.write += *consumed.Table.CapacityUnits
	for _, index := range consumed.GlobalSecondaryIndexes {
		m.sum.index += *index.CapacityUnits
	}
}

// sent counts a message.
func (m *meter) sent() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sum.messages++
}

// losing is a server whose first response to each write is lost.
type losing struct {
	dynamodb.HTTPClient
	mu   sync.Mutex
	lost map[string]bool // by SDK call
}

// Do implements [dynamodb.HTTPClient].
func (l *losing) Do(r *http.Request) (*http.Response, error) {
	response, err := l.HTTPClient.Do(r)
	l.mu.Lock()
	defer l.mu.Unlock()
	id := r.Header.Get("Amz-Sdk-Invocation-Id")
	if target := r.Header.Get("X-Amz-Target"); err != nil || l.lost[id] || !strings.HasSuffix(target, ".PutItem") && !strings.HasSuffix(target, ".UpdateItem") {
		return response, err
	}
	l.lost[id] = true
	return nil, errors.Join(io.ErrUnexpectedEOF, response.Body.Close())
}

func (l *losing) options(o *dynamodb.Options) {
	l.HTTPClient, o.HTTPClient = o.HTTPClient, l
	o.Retryer = retry.AddWithMaxBackoffDelay(retry.NewStandard(), time.Millisecond)
}

// A request that the client repeats is one write, whether the item is new or another's.
func TestARepeatedRequestIsCountedOnce(t *testing.T) {
	t.Parallel()
	m, l := &meter{}, &losing{lost: map[string]bool{}}
	store := newTables(t, atEpoch, m.options, l.options)
	own, other := itemOf("flow/one", 0, machine.StatusStarting, 0), itemOf("flow/one", 0, machine.StatusStarting, time.Second)
	for _, c := range []struct {
		name string
		put  engine.Item
		want capacity
	}{
		{"an item with an entry", own, capacity{write: 1, index: 1}},
		{"an item where another one is", other, capacity{write: 1}},
		{"an item without an entry", itemOf("flow/one", 1, machine.StatusRunning, 0), capacity{write: 1}},
	} {
		m.take()
		if err := store.Append(t.Context(), c.put); engine.CodeOf(err) != engine.CodeConflict {
			t.Errorf("%s: error %v, want a conflict with itself or the other", c.name, err)
		}
		if got := m.take(); got != c.want {
			t.Errorf("%s consumed %+v, want %+v", c.name, got, c.want)
		}
	}
	if len(l.lost) != 3 {
		t.Errorf("%d responses were lost, want 3", len(l.lost))
	}
}

// flowRun is an execution of a sample on DynamoDB, wake by wake.
type flowRun struct {
	*engine.Client
	*engine.Worker
	t        *testing.T
	store    tables
	tokens   *resume.Tokens
	starter  *resume.JobStarter
	observer *resume.JobObserver
	played   simulated.Services
	// started is the job that was started last, and polled its poll.
	started jobs.Started
	polled  resume.Poll
	meter   *meter
	now     time.Time
	wakes   []engine.Wake
	batches int // of wakes that were sent together, ten at most
	id      engine.ID
	// large counts the requests to the bucket; nil for flows without large values.
	large  *objects
	limits machine.Limits
	sum    capacity // since the start, of the steps
	config engine.Config
	notify machine.Notify
	// writeFormat is that of the worker.
	writeFormat int
}

// Notify implements [engine.Notices].
func (r *flowRun) Notify(context.Context, engine.Notice) error {
	r.meter.sent()
	return nil
}

// Send implements [engine.Wakes].
func (*flowRun) HoldBack(engine.ID) (release func()) { return func() {} }

func (r *flowRun) Send(_ context.Context, wake engine.Wake) error {
	r.wakes = append(r.wakes, wake)
	r.meter.sent()
	return nil
}

// Call implements [engine.Caller].
func (r *flowRun) Call(ctx context.Context, call machine.Call) (token.Outcome, error) {
	if call.Resource.Kind != "" {
		answer, err := r.starter.StartJob(ctx, []byte(call.Input.JSON()))
		return engine.ParseReply(answer, "StartJob"), err
	}
	function, _ := simulated.Lookup(call.Resource.Function)
	output, err := function(call.Input, r.now, [10]byte{})
	if err != nil {
		return token.Outcome{}, err
	}
	return engine.ParseReply([]byte(output.JSON()), call.Step), nil // the reply of a Lambda function shares nothing with the input
}

// TimeLimits implements [engine.Caller]: all functions are quick.
func (r *flowRun) TimeLimits(context.Context, *flow.Flow) (map[string]time.Duration, error) {
	return nil, nil
}

// noTasks is the task queue of flows that have no long calls.
type noTasks struct{}

func (noTasks) Queue(context.Context, engine.Task) error { return errors.ErrUnsupported }

var testKeys = token.Keys{Current: token.Key{ID: 1, Secret: []byte(strings.Repeat("k", token.SecretSize))}}

// tokenWakes sends the wakes of those who close tokens.
type tokenWakes struct{ *flowRun }

// Send implements [resume.Wakes].
func (w tokenWakes) Send(ctx context.Context, id token.ID, handle string, at time.Time) error {
	return w.flowRun.Send(ctx, engine.Wake{Execution: id.Execution, Cause: handle, Due: at, Sent: at})
}

// playedServices are services that are played.
type playedServices struct{ *flowRun }

// Start implements [resume.Services].
func (p playedServices) Start(_ context.Context, kind jobs.Kind, params []byte) ([]byte, error) {
	answer, err := p.played.Start(kind, params, "", p.now)
	if err == nil {
		p.started, err = kind.ReadStart(simulated.Account, simulated.Region, params, answer)
	}
	return answer, err
}

// Describe implements [resume.Services].
func (p playedServices) Describe(_ context.Context, kind jobs.Kind, params []byte) ([]byte, error) {
	return p.played.Describe(kind, params, p.now)
}

// Stop implements [resume.Services].
func (p playedServices) Stop(_ context.Context, kind jobs.Kind, params []byte) error {
	return p.played.Stop(kind, params, p.now)
}

// polls counts polls, and keeps the last one.
type polls struct{ *flowRun }

// Send implements [resume.Polls].
func (p polls) Send(_ context.Context, poll resume.Poll) error {
	p.polled = poll
	p.meter.sent()
	return nil
}

// sample is the flow of a scenario folder.
func sample(t *testing.T, scenario string) string {
	t.Helper()
	text, err := os.ReadFile("../../../events/" + scenario + "/flow.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// startSample starts the flow of a scenario folder.
func startSample(t *testing.T, scenario string, input value.Value) *flowRun {
	t.Helper()
	return startFlow(t, scenario, sample(t, scenario), input)
}

// startFlow starts a flow in tables of its own.
func startFlow(t *testing.T, name, text string, input value.Value) *flowRun {
	t.Helper()
	r := &flowRun{t: t, meter: &meter{}, now: epoch}
	r.store = newTables(t, atEpoch, r.meter.options)
	return r.start(name, text, input)
}

func (r *flowRun) start(name, text string, input value.Value) *flowRun {
	t := r.t
	t.Helper()
	now := func() time.Time { return r.now }
	var err error
	r.config = engine.Config{
		Log: r.store, Flows: r.store, TokenStore: r.store, Stops: r.store, Joins: r.store, Wakes: r, Caller: r, TaskQueue: noTasks{}, Keys: testKeys, Now: now,
		Notices: r, WriteFormat: r.writeFormat,
	}
	client := engine.Config{Log: r.store, Flows: r.store, TokenStore: r.store, Stops: r.store, Wakes: r, Keys: testKeys, Now: now}
	client.CheckTarget = func(string) error { return nil }
	if r.large != nil {
		r.limits.Data, r.config.LargeValues, client.LargeValues = machine.MaxLargeData, r.large, r.large
	}
	r.config.Limits, client.Limits = r.limits, r.limits
	r.newWorker()
	r.Client, err = engine.NewClient(client)
	if err != nil {
		t.Fatal(err)
	}
	r.tokens = resume.NewTokens(resume.TokensConfig{Keys: resume.FixedKeys(testKeys), Store: r.store, Wakes: tokenWakes{r}, Now: now})
	config := resume.JobsConfig{
		JobDescriber: resume.JobDescriber{Services: playedServices{r}, Account: simulated.Account, Region: simulated.Region, Now: now},
		Tokens:       r.tokens, Rendezvous: r.store, Polls: polls{r},
	}
	r.starter, r.observer = resume.NewJobStarter(config), resume.NewJobObserver(config)
	flow, err := r.store.Put(t.Context(), name, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	r.meter.take()
	r.meter.readRequests = 0
	r.id = engine.NewID(name, "run-1")
	if _, err := r.Start(t.Context(), engine.StartRequest{Flow: flow, Execution: "run-1", Input: input, Notify: r.notify}); err != nil {
		t.Fatal(err)
	}
	return r
}

// newWorker replaces the worker, which keeps what it has read.
func (r *flowRun) newWorker() {
	r.t.Helper()
	var err error
	if r.Worker, err = engine.NewWorker(r.config); err != nil {
		r.t.Fatal(err)
	}
}

// turn applies the next wake when it is due and tells what that consumed.
func (r *flowRun) turn() capacity {
	r.t.Helper()
	wake := r.wakes[0]
	r.wakes = r.wakes[1:]
	r.now = wake.Due
	r.meter.take()
	if _, err := r.Advance(r.t.Context(), wake); err != nil {
		r.t.Fatal(err)
	}
	return r.meter.take()
}

func (r *flowRun) want(what string, got, want capacity) {
	r.t.Helper()
	if got != want {
		r.t.Errorf("%s consumed %+v, want %+v", what, got, want)
	}
}

func (r *flowRun) wantSucceeded() {
	r.t.Helper()
	state, err := r.Describe(r.t.Context(), r.id)
	if err != nil || state.Status != machine.StatusSucceeded {
		r.t.Errorf("the execution is %s, error %v", state.Status, err)
	}
}

func TestAPollIsOneReadAndOneWrite(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		extra []value.Member
		start capacity
	}{
		{"the sample", nil, capacity{write: 1, index: 1, messages: 1}},
		{"an input of 5 KB", []value.Member{{Key: "more", Value: value.String(strings.Repeat("x", 5<<10))}}, capacity{write: 6, index: 1, messages: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			pollsCost(t, c.extra, c.start)
		})
	}
}

// aPoll is what a poll costs that is not the last one.
var aPoll = capacity{read: 1, write: 1, messages: 1}

// others puts executions of the same flow into the tables, of which some have
// ended and some sleep.
func (r *flowRun) others() {
	r.t.Helper()
	const others = 20
	for i := range others {
		name := fmt.Sprintf("polling/other-%d-%s", i, rand.Text())
		mustAppend(r.t, r.store, itemOf(name, 0, machine.StatusStarting, 0), itemOf(name, 1, machine.StatusRunning, 0))
		if i%2 == 0 {
			mustAppend(r.t, r.store, itemOf(name, 2, machine.StatusSucceeded, 0))
		}
	}
}

// However long a history is, a poll costs the same.
func TestAPollCostsTheSameAfterALongHistory(t *testing.T) {
	t.Parallel()
	const polls = 200
	const flow = `version: v1
type: flow
steps:
  - type: task
    name: StartJob
    resourceArn: acs:fc:::services/any/functions/StartJob
  - type: wait
    name: Pause
    duration: 10
  - type: task
    name: GetJobStatus
    resourceArn: acs:fc:::services/any/functions/GetJobStatus
    inputMappings: [{target: job_id, source: $local.job_id}, {target: delay, source: $input.delay}]
  - type: choice
    name: Done
    inputMappings: [{target: status, source: $local.job_status}]
    choices: [{condition: $.status == "running", goto: Pause}]
`
	r := startFlow(t, "loop", flow, value.Object(value.Member{Key: "delay", Value: value.Int(10 * polls)}))
	r.turn()
	for i := range polls - 1 {
		r.want(fmt.Sprintf("poll %d", i+1), r.turn(), aPoll)
	}
	r.want("the last poll", r.turn(), capacity{read: 1, write: 1, index: 1})
	r.wantSucceeded()
}

// A poll of a task that waits for a condition costs as much as one of a loop, and
// adds no event to the history.
func TestAPollOfAConditionIsOneReadAndOneWrite(t *testing.T) {
	t.Parallel()
	for name, more := range map[string][]value.Member{
		"the sample":       nil,
		"an input of 5 KB": {{Key: "more", Value: value.String(strings.Repeat("x", 5<<10))}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := startSample(t, "wait-for-condition", value.Object(append(more, value.Member{Key: "delay", Value: value.Int(30)})...))
			r.want("the begin: a call, then the first poll", r.turn(), capacity{read: 1, write: 2, messages: 1})
			events := r.events()
			for range 2 {
				r.others()
				r.want("a poll", r.turn(), aPoll)
			}
			if after := r.events(); after != events {
				t.Errorf("%d events after two more polls, %d before", after, events)
			}
			r.want("the last poll", r.turn(), capacity{read: 1, write: 1, index: 1})
			r.wantSucceeded()
		})
	}
}

func (r *flowRun) events() int {
	r.t.Helper()
	state, err := r.Describe(r.t.Context(), r.id)
	if err != nil {
		r.t.Fatal(err)
	}
	return state.Events
}

// pollsCost: however large the input is, a poll costs the same.
func pollsCost(t *testing.T, extra []value.Member, start capacity) {
	t.Helper()
	const delay, polls = 40, 4
	r := startSample(t, "polling", value.Object(append(extra, value.Member{Key: "delay", Value: value.Int(delay)})...))
	r.want("the start", r.meter.take(), start)
	r.want("the begin", r.turn(), aPoll)
	for range polls - 1 {
		r.others()
		r.want("a poll", r.turn(), aPoll)
	}
	r.want("the last poll", r.turn(), capacity{read: 1, write: 1, index: 1})
	r.wantSucceeded()
}

func TestACallbackExecutionIsFiveWritesTwoOfTheIndexAndTwoMessages(t *testing.T) {
	t.Parallel()
	r := startSample(t, "callback", value.Object())
	sum := r.meter.take()
	add := func(c capacity) {
		sum = capacity{sum.read + c.read, sum.write + c.write, sum.index + c.index, sum.messages + c.messages}
	}
	add(r.turn()) // enters, submits
	state, err := r.Describe(t.Context(), r.id)
	if err != nil {
		t.Fatal(err)
	}
	r.others()
	r.meter.take()
	id, _ := token.HandleID(state.Waiting.Handle())
	if _, _, err := resumetest.Close(t.Context(), r.tokens, testKeys.Sign(id), token.Success(value.Object())); err != nil {
		t.Fatal(err)
	}
	add(r.meter.take())
	add(r.turn()) // leaves
	r.want("the execution", sum, capacity{read: 3, write: 5, index: 2, messages: 2})
	r.wantSucceeded()
}

// observe brings the event of a scenario folder, about the job that was started.
func (r *flowRun) observe(scenario, file string) {
	r.t.Helper()
	text, err := os.ReadFile("../../../events/" + scenario + "/" + file)
	if err != nil {
		r.t.Fatal(err)
	}
	about := strings.NewReplacer("{job_key}", r.started.Key.Name, "{job_id}", r.started.ID)
	if err := r.observer.Observe(r.t.Context(), []byte(about.Replace(string(text)))); err != nil {
		r.t.Fatal(err)
	}
}

func TestAWaitOnAJobByEventIsSixWritesAndThreeReads(t *testing.T) {
	t.Parallel()
	r := startSample(t, "batch-callback", value.Object(
		value.Member{Key: "queue", Value: value.String("night")}, value.Member{Key: "definition", Value: value.String("report:3")}))
	r.meter.take()
	r.want("enter, submitted, bind; the timer of the deadline and the first poll", r.turn(), capacity{read: 1, write: 3, messages: 2})
	r.others()
	r.wakes = nil // the deadline, which is far
	r.meter.take()
	r.observe("batch-callback", "succeeded.json")
	r.want("event, close; the wake", r.meter.take(), capacity{write: 2, messages: 1})
	r.want("leave", r.turn(), capacity{read: 2, write: 1, index: 1})
	r.wantSucceeded()
	// The poll under way is no part of the six and three: it looks once, and tells
	// again of what it may have been alone to tell of.
	r.meter.take()
	r.polled.Due = time.Time{} // it is not early
	if err := r.observer.Reconcile(t.Context(), r.polled); err != nil {
		t.Fatal(err)
	}
	r.want("the poll after the end", r.meter.take(), capacity{read: 1, messages: 1})
	r.want("its wake", r.turn(), capacity{read: 1})
}
