package dynamo_test

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/jobs/simulated"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// capacity is what DynamoDB bills: read units, write units of the tables, and
// write units of the index. MiniStack counts one unit for each consistent read,
// whatever its size; what was written with one unit is read with one on AWS too.
type capacity struct{ read, write, index float64 }

// meter adds up what the calls of a client consume.
type meter struct {
	mu  sync.Mutex
	sum capacity
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
	case *dynamodb.GetItemInput:
		call.ReturnConsumedCapacity = ask
	case *dynamodb.QueryInput:
		call.ReturnConsumedCapacity = ask
	}
	out, metadata, err := next.HandleInitialize(ctx, in)
	switch answer := out.Result.(type) {
	case *dynamodb.PutItemOutput:
		m.wrote(answer.ConsumedCapacity)
	case *dynamodb.UpdateItemOutput:
		m.wrote(answer.ConsumedCapacity)
	case *dynamodb.GetItemOutput:
		m.read(answer.ConsumedCapacity)
	case *dynamodb.QueryOutput:
		m.read(answer.ConsumedCapacity)
	}
	return out, metadata, err
}

func (m *meter) read(consumed *types.ConsumedCapacity) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sum.read += *consumed.CapacityUnits
}

func (m *meter) wrote(consumed *types.ConsumedCapacity) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sum.write += *consumed.Table.CapacityUnits
	for _, index := range consumed.GlobalSecondaryIndexes {
		m.sum.index += *index.CapacityUnits
	}
}

// flowRun is an execution of a sample on DynamoDB, wake by wake.
type flowRun struct {
	*engine.Engine
	t     *testing.T
	meter *meter
	now   time.Time
	wakes []engine.Wake
	id    engine.ID
}

// Send implements [engine.Wakes].
func (r *flowRun) Send(_ context.Context, wake engine.Wake) error {
	r.wakes = append(r.wakes, wake)
	return nil
}

// Call implements [engine.Tasks].
func (r *flowRun) Call(_ context.Context, call machine.Call) (token.Outcome, error) {
	function, _ := simulated.Lookup(call.Resource.Function)
	answer, err := function([]byte(call.Input.JSON()), r.now, [10]byte{})
	if err != nil {
		return token.Outcome{}, err
	}
	output, err := expr.ParseJSON(answer)
	return token.Success(output), err
}

// TimeLimits implements [engine.Tasks]: all functions are quick.
func (r *flowRun) TimeLimits(context.Context, *fdl.Flow) (map[string]time.Duration, error) {
	return nil, nil
}

var testKeys = token.Keys{Current: token.Key{ID: 1, Secret: []byte(strings.Repeat("k", token.SecretSize))}}

// startSample starts the flow of a scenario folder.
func startSample(t *testing.T, scenario string, input expr.Value) *flowRun {
	t.Helper()
	text, err := os.ReadFile("../../../events/" + scenario + "/flow.yaml")
	if err != nil {
		t.Fatal(err)
	}
	r := &flowRun{t: t, meter: &meter{}, now: epoch}
	store := newTables(t, atEpoch, r.meter.options)
	r.Engine = engine.New(engine.Config{
		Log: store, Flows: store, Outcomes: store, Wakes: r, Tasks: r, Keys: testKeys, Now: func() time.Time { return r.now },
	})
	flow, err := store.Put(t.Context(), scenario, text)
	if err != nil {
		t.Fatal(err)
	}
	r.meter.take()
	r.id = engine.NewID(scenario, "run-1")
	if _, err := r.Start(t.Context(), engine.StartRequest{Flow: flow, Execution: "run-1", Input: input}); err != nil {
		t.Fatal(err)
	}
	return r
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
	const delay, polls = 40, 4
	r := startSample(t, "polling", expr.Object(expr.Member{Key: "delay", Value: expr.Int(delay)}))
	r.want("the start", r.meter.take(), capacity{write: 1, index: 1})
	r.want("the begin", r.turn(), capacity{read: 1, write: 1})
	for range polls - 1 {
		r.want("a poll", r.turn(), capacity{read: 1, write: 1})
	}
	r.want("the last poll", r.turn(), capacity{read: 1, write: 1, index: 1})
	r.wantSucceeded()
}

func TestACallbackExecutionIsFiveWritesAndTwoOfTheIndex(t *testing.T) {
	t.Parallel()
	r := startSample(t, "callback", expr.Object())
	sum := r.meter.take()
	add := func(c capacity) { sum = capacity{sum.read + c.read, sum.write + c.write, sum.index + c.index} }
	add(r.turn()) // enters, submits
	state, err := r.Describe(t.Context(), r.id)
	if err != nil {
		t.Fatal(err)
	}
	r.meter.take()
	closing := token.Closing{Outcome: token.Success(expr.Object()), By: token.ClosedByHand, At: r.now}
	if _, err := r.Outcomes.Close(t.Context(), state.Waiting.Handle, closing); err != nil {
		t.Fatal(err)
	}
	r.wakes = []engine.Wake{{Execution: r.id, Cause: state.Waiting.Handle, Due: r.now, Sent: r.now}}
	add(r.meter.take())
	add(r.turn()) // leaves
	r.want("the execution", sum, capacity{read: 3, write: 5, index: 2})
	r.wantSucceeded()
}
