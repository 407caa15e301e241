package main

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/waitless/waitless/pkg/aws/secrets"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/schedule"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// TestCompose: the function starts with the variables of the template, so each port of its worker
// is there.
func TestCompose(t *testing.T) {
	t.Parallel()
	numbers := map[string]string{
		"WAITLESS_TIME_LIMIT": "30", "WAITLESS_EXECUTION_DAYS": "90", "WAITLESS_RETENTION_DAYS": "30", "WAITLESS_WRITE_FORMAT": "2",
		"WAITLESS_LONGEST_DELAY": "900", "WAITLESS_DATA_LIMIT": "32768", "WAITLESS_FUNCTIONS": "echo=stack-echo",
		"WAITLESS_TRACE_RATIO": "0.5", "WAITLESS_INDEX_SHARDS": "8",
	}
	if _, err := compose(func(name string) string {
		if number, ok := numbers[name]; ok {
			return number
		}
		return "text-of-" + name
	}); err != nil {
		t.Error(err)
	}
}

const eachText = `version: v1
type: flow
steps:
  - type: foreach
    name: Each
    iterationMapping: {collection: $.list, item: one}
    steps:
      - {type: pass, name: Nothing}
`

// TestWakesShareALargeValue: the wakes that begin a foreach and its lanes need the large list. The
// function reads it from the bucket once, although its keys change between the wakes.
func TestWakesShareALargeValue(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start(t, value.Object(value.Member{Key: "list", Value: value.Array(value.String(strings.Repeat(".", machine.MaxData)), value.String("small"))}))
	f.advance(t) // begins the foreach, and so sends the wakes of its lanes
	if len(f.wakes) != 2 {
		t.Fatalf("%d lanes, want 2", len(f.wakes))
	}
	f.advance(t)
	f.now = f.now.Add(10 * time.Minute) // after which the keys are read again
	f.key++
	f.advance(t)
	if n := f.loads.Load(); n != 1 {
		t.Errorf("the large value was read %d times, want once", n)
	}
	f.advance(t) // of the join
	if state, err := f.client.Describe(t.Context(), engine.NewID("each", "run")); err != nil || state.Status != machine.StatusSucceeded {
		t.Errorf("the execution is %s: %s %s, error %v", state.Status, state.Error, state.Cause, err)
	}
}

// fixture is an interpreter beside a store in memory. It counts the reads of large values.
type fixture struct {
	store.Memory
	interpreter interpreter
	client      *engine.Client
	wakes       []engine.Wake
	loads       atomic.Int32
	now         time.Time
	key         int // the id of the token key
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{now: time.Unix(1, 0), key: 1}
	clock := func() time.Time { return f.now }
	limits := machine.Limits{Data: machine.MaxLargeData}
	worker, err := engine.NewWorker(engine.Config{
		Log: f, Flows: f, Joins: f, TokenStore: f, Stops: f, Wakes: f, TaskQueue: f, Caller: f, LargeValues: f, Now: clock, Limits: limits,
	})
	if err != nil {
		t.Fatal(err)
	}
	clients := engine.Config{Log: f, Flows: f, TokenStore: f, Stops: f, Wakes: f, LargeValues: f, Now: clock, Limits: limits}
	f.interpreter = interpreter{&secrets.Keys{Client: f, Now: clock}, worker, f, clients, nil}
	f.client, err = engine.NewClient(clients)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fixture) start(t *testing.T, input value.Value) {
	t.Helper()
	flow, err := f.Put(t.Context(), "each", []byte(eachText))
	if err == nil {
		_, err = f.client.Start(t.Context(), engine.StartRequest{Flow: flow, Execution: "run", Input: input})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// advance handles the oldest wake.
func (f *fixture) advance(t *testing.T) {
	t.Helper()
	if len(f.wakes) == 0 {
		t.Fatal("no wake is left")
	}
	wake := f.wakes[0]
	f.wakes = f.wakes[1:]
	if _, err := f.interpreter.advance(t.Context(), wake); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) SendAll(ctx context.Context, wakes []engine.Wake) error {
	return engine.SendEach(ctx, wakes, f.Send)
}

func (*fixture) HoldBack(engine.ID) (release func()) { return func() {} }

func (f *fixture) Send(_ context.Context, wake engine.Wake) error {
	f.wakes = append(f.wakes, wake)
	return nil
}

func (f *fixture) LoadValue(ctx context.Context, name string) ([]byte, error) {
	f.loads.Add(1)
	return f.Memory.LoadValue(ctx, name)
}

func (f *fixture) GetSecretValue(
	context.Context, *secretsmanager.GetSecretValueInput, ...func(*secretsmanager.Options),
) (*secretsmanager.GetSecretValueOutput, error) {
	text := fmt.Sprintf(`{"id":%d,"secret":%q}`, f.key, strings.Repeat("s", token.SecretSize))
	return &secretsmanager.GetSecretValueOutput{SecretString: aws.String(text)}, nil
}

func (*fixture) Queue(context.Context, engine.Task) error { panic("no long call") }

func (*fixture) Call(context.Context, machine.Call) (token.Outcome, error) { panic("no call") }

func (*fixture) TimeLimits(context.Context, *flow.Flow) (map[string]time.Duration, error) {
	return nil, nil
}

// TestFiring: a schedule that is due starts one execution, however often it is told. One that is
// told early is told again.
func TestFiring(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	due := f.now.Add(time.Second)
	firing := schedule.Firing{Flow: "each", Name: "s", Nonce: "n", At: due}
	if _, err := f.Put(t.Context(), "each", []byte(eachText)); err != nil {
		t.Fatal(err)
	}
	entry, err := schedule.Schedule{Flow: "each", Name: "s", Enabled: true, Payload: `[1]`, Nonce: "n"}.Entry()
	if err == nil {
		err = f.SetSchedule(t.Context(), entry, "")
	}
	if err != nil {
		t.Fatal(err)
	}
	if retryAt, err := f.interpreter.fire(t.Context(), firing); err != nil || !retryAt.Equal(due) || len(f.wakes) > 0 {
		t.Errorf("early: again at %s, %v, wakes %v", retryAt, err, f.wakes)
	}
	f.now = due
	for range 2 {
		if retryAt, err := f.interpreter.fire(t.Context(), firing); err != nil || !retryAt.IsZero() {
			t.Errorf("due: again at %s, %v", retryAt, err)
		}
	}
	state, err := f.client.Describe(t.Context(), engine.NewID("each", "s-19700101T000002Z"))
	if want := `{"payload":[1],"triggerName":"s","triggerTime":"1970-01-01T00:00:02.000Z"}`; err != nil || state.Input.JSON() != want {
		t.Errorf("input %s, %v; want %s", state.Input.JSON(), err, want)
	}
	for _, other := range []schedule.Firing{{Flow: "each", Name: "none", Nonce: "n", At: due}, {Flow: "each", Name: "s", At: due}} {
		if _, err := f.interpreter.fire(t.Context(), other); !schedule.IsFinal(err) {
			t.Errorf("%+v: %v", other, err)
		}
	}
}

// rules: NO-12
//
// An execution of a schedule notifies the default target, and a default that cannot be told is an
// error.
func TestSchedulesNotifyTheDefault(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	flow, err := f.Put(t.Context(), "each", []byte(eachText))
	if err != nil {
		t.Fatal(err)
	}
	entry, err := schedule.Schedule{Flow: flow.Name, Name: "s", Enabled: true, Payload: `[1]`}.Entry()
	if err == nil {
		err = f.SetSchedule(t.Context(), entry, "")
	}
	if err != nil {
		t.Fatal(err)
	}
	f.interpreter.clientConfig.Notify = machine.Notify{Target: "https://example.org/"}
	f.interpreter.clientConfig.CheckTarget = func(target string) error { return engine.CheckURL(target, false) }
	if _, err := f.interpreter.fire(t.Context(), schedule.Firing{Flow: "each", Name: "s", At: f.now}); err != nil {
		t.Fatal(err)
	}
	state, err := f.client.Describe(t.Context(), engine.NewID("each", "s-19700101T000001Z"))
	if err != nil || state.Notify != f.interpreter.clientConfig.Notify {
		t.Errorf("the execution notifies %+v, error %v", state.Notify, err)
	}
	f.interpreter.clientConfig.Notify.Target = "http://example.org/"
	f.now = f.now.Add(time.Second)
	if _, err := f.interpreter.fire(t.Context(), schedule.Firing{Flow: "each", Name: "s", At: f.now}); err == nil || schedule.IsFinal(err) {
		t.Errorf("error %v", err)
	}
}
