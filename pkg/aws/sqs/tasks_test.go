package sqs_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

func someTask(t *testing.T, input value.Value) engine.Task {
	t.Helper()
	return engine.Task{
		Handle: "AQEhandle", Await: true, AtMostOnce: true, TimeLimit: 20 * time.Minute, MAC: "authentic",
		Call: machine.Call{
			Attempt: machine.Attempt{Step: 2, Number: 3}, Flow: machine.FlowRef{Name: "flow", Hash: "h"}, Execution: "run", Step: "Step",
			Resource: parseResource(t, "acs:fc:::services/s/functions/long"), Input: input, Limit: 10 * time.Minute, Traceparent: "00-parent", Tracestate: "a=b",
		},
	}
}

func parseResource(t *testing.T, text string) flow.Resource {
	t.Helper()
	resource, err := fdl.ParseResource(text)
	if err != nil {
		t.Fatal(err)
	}
	return resource
}

func parse(t *testing.T, text string) value.Value {
	t.Helper()
	v, err := value.ParseJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// roundTrip sends a task through a queue, and returns its message and what the receiver got.
func roundTrip(t *testing.T, task engine.Task) (body string, got engine.Task) {
	t.Helper()
	f := tasksFixture(sqs.TaskHandlers{Run: func(_ context.Context, task engine.Task) (engine.Disposition, error) {
		got = task
		return engine.Disposition{}, nil
	}})
	if err := f.tasks().Queue(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	if kept := f.receive(t, f.bodies[0]); kept != 0 {
		t.Fatalf("the message is kept: %s", f.log)
	}
	return f.bodies[0], got
}

func tasksFixture(h sqs.TaskHandlers) *fixture {
	if h.Now == nil {
		h.Now = func() time.Time { return now }
	}
	return newFixture(sqs.DecodeTasks(h))
}

func (f *fixture) tasks() *sqs.Tasks                 { return &sqs.Tasks{Target: f.queue()} }
func (f *fixture) deliveries() *sqs.DeliveryRequests { return &sqs.DeliveryRequests{Target: f.queue()} }

func TestTaskRoundTrip(t *testing.T) {
	t.Parallel()
	for name, input := range map[string]value.Value{
		"nothing":                       value.Object(),
		"numbers as written":            parse(t, `{"n":12345678901234567890.50,"m":1e400}`),
		"characters that SQS rejects":   parse(t, `{"a\ufffe":"\uffff\u0001 <&> \u2028"}`),
		"characters that HTML escapes":  value.Object(value.Member{Key: "page", Value: value.String(strings.Repeat("<&>", 250<<10/3))}),
		"as much as a step's input has": value.Object(value.Member{Key: "a", Value: value.String(strings.Repeat("a", 256<<10))}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			task := someTask(t, input)
			task.Call.Iteration, task.Call.Values = "3.0", flow.Values{Any: true, Each: 7, LambdaErrors: true}
			body, got := roundTrip(t, task)
			if strings.ContainsAny(body, "\ufffe\uffff") {
				t.Error("the message has characters that SQS rejects")
			}
			if !value.Equal(got.Call.Input, input) {
				t.Errorf("the input is %s", got.Call.Input)
			}
			got.Call.Input, task.Call.Input, task.Receives = value.Value{}, value.Value{}, 2 // as it was received
			if got != task {
				t.Errorf("the task is %+v, want %+v", got, task)
			}
		})
	}
}

// The name of a job in a flow is enough to start it from the queue.
func TestTaskThatStartsJobRoundTrip(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"batch:SubmitJob", "arn:aws:dms:eu-west-1:123456789012:task:LOAD7"} {
		task := someTask(t, value.Object())
		task.Call.Resource = parseResource(t, text)
		if _, got := roundTrip(t, task); got.Call.Resource != task.Call.Resource || got.Call.Resource.Function != flow.StartJob {
			t.Errorf("%s: the resource is %+v, want %+v", text, got.Call.Resource, task.Call.Resource)
		}
	}
}

func TestTaskOfPollKeepsItsKey(t *testing.T) {
	t.Parallel()
	for _, poll := range []int{0, 7} {
		task := someTask(t, value.Object())
		task.Call.Attempt.Poll = poll
		if body, got := roundTrip(t, task); got.Call.Key() != task.Call.Key() {
			t.Errorf("poll %d: key %s of %s, want %s", poll, got.Call.Key(), body, task.Call.Key())
		}
	}
}

func TestQueueFailsIfTaskIsNotSent(t *testing.T) {
	t.Parallel()
	f := newFixture(nil)
	f.err = errors.New("denied")
	if err := f.tasks().Queue(t.Context(), someTask(t, value.Object())); !errors.Is(err, f.err) {
		t.Errorf("error %v", err)
	}
	large := value.Object(value.Member{Key: "a", Value: value.String(strings.Repeat("a", 1<<20))})
	err := f.tasks().Queue(t.Context(), someTask(t, large))
	if engine.CodeOf(err) != engine.CodeInvalid || !strings.Contains(err.Error(), "the limit of SQS is 1048576") || len(f.bodies) != 1 {
		t.Errorf("too large: error %v with code %s", err, engine.CodeOf(err))
	}
}

func TestBatchOfTasks(t *testing.T) {
	t.Parallel()
	dispositions := make(chan engine.Disposition, 2)
	dispositions <- engine.Disposition{}
	dispositions <- engine.Disposition{RetryAt: now.Add(time.Hour)}
	f := tasksFixture(sqs.TaskHandlers{Run: func(context.Context, engine.Task) (engine.Disposition, error) {
		select {
		case v := <-dispositions:
			return v, nil
		default:
			return engine.Disposition{}, errors.New("broken")
		}
	}})
	if err := f.tasks().Queue(t.Context(), someTask(t, value.Object())); err != nil {
		t.Fatal(err)
	}
	good := f.bodies[0]
	kept := f.receive(t, good, good, good, `{"v":3,"kind":7}`,
		`forged`, strings.Replace(good, `"v":1`, `"v":0`, 1), strings.Replace(good, "AQEhandle", "", 1),
		strings.Replace(good, "acs:fc", "acs:oss", 1), strings.Replace(good, `"input"`, `"x"`, 1),
	)
	if kept != 3 {
		t.Errorf("%d are kept, want one to retry, one that failed, one of a newer release", kept)
	}
	attrs := `"execution":"` + engine.NewID("flow", "run").String() + `","step":"Step","attempt":3,"outcome":`
	f.wantLog(t, map[string]int{
		`"outcome":"discarded"`: 5, attrs + `"done"`: 1, attrs + `"retry"`: 1, attrs + `"failed"`: 1, "AQEhandle": 0,
	})
}

func TestForgedTaskIsDiscarded(t *testing.T) {
	t.Parallel()
	f := tasksFixture(sqs.TaskHandlers{Run: func(context.Context, engine.Task) (engine.Disposition, error) {
		return engine.Disposition{}, token.ErrForged
	}})
	if err := f.tasks().Queue(t.Context(), someTask(t, value.Object())); err != nil {
		t.Fatal(err)
	}
	if kept := f.receive(t, f.bodies[0]); kept != 0 || !strings.Contains(f.log.String(), `"outcome":"discarded"`) {
		t.Errorf("%d are kept; logged %s", kept, f.log)
	}
}

// ends records the ends that it gets, or fails.
type ends struct {
	states []machine.State
	err    error
}

func (e *ends) Ended(_ context.Context, execution engine.ID, state machine.State) error {
	if execution != state.ID() {
		return errors.New("another id")
	}
	e.states = append(e.states, state)
	return e.err
}

func TestEndRoundTrip(t *testing.T) {
	t.Parallel()
	state := machine.State{
		Flow: machine.FlowRef{Name: "flow", Hash: "hash"}, Execution: "run", Status: machine.StatusFailed, Error: "E", Cause: "why",
		Started: now, At: now.Add(time.Hour),
	}
	sent := newFixture(nil)
	if err := (&sqs.Ends{Target: sent.queue()}).Ended(t.Context(), state.ID(), state); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		ends *ends
		kept int
	}{"published": {&ends{}, 0}, "failed": {&ends{err: errors.New("no bus")}, 1}} {
		if kept := tasksFixture(sqs.TaskHandlers{Ends: tt.ends}).receive(t, sent.bodies[0]); kept != tt.kept {
			t.Errorf("%s: %d are kept", name, kept)
		}
		if len(tt.ends.states) != 1 || !reflect.DeepEqual(tt.ends.states[0], state) {
			t.Errorf("%s: %+v", name, tt.ends.states)
		}
	}
	sent.err = errors.New("no queue")
	if err := (&sqs.Ends{Target: sent.queue()}).Ended(t.Context(), state.ID(), state); !errors.Is(err, sent.err) {
		t.Errorf("error %v", err)
	}
}

// delivery is the message of a delivery that was sent at an instant.
func delivery(t *testing.T, at time.Time) string {
	t.Helper()
	f := newFixture(nil)
	if err := f.deliveries().Send(t.Context(), token.ID{}, handle, at); err != nil {
		t.Fatal(err)
	}
	return f.bodies[0]
}

func heartbeat(t *testing.T, at time.Time) string {
	t.Helper()
	f := newFixture(nil)
	if err := f.deliveries().SendBeat(t.Context(), handle, at); err != nil {
		t.Fatal(err)
	}
	return f.bodies[0]
}

func TestDeliveryRoundTrip(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		retryAt time.Time
		err     error
		kept    int
	}{"delivered": {}, "not closed yet": {retryAt: now, kept: 1}, "throttled": {err: errors.New("throttled"), kept: 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ""
			f := tasksFixture(sqs.TaskHandlers{Deliver: func(_ context.Context, handle string, sent time.Time) (time.Time, error) {
				got = handle + " " + sent.Format(time.RFC3339Nano)
				return tt.retryAt, tt.err
			}})
			if kept := f.receive(t, delivery(t, now)); kept != tt.kept {
				t.Errorf("%d are kept, want %d", kept, tt.kept)
			}
			if want := handle + " " + now.Format(time.RFC3339Nano); got != want {
				t.Errorf("delivered %s, want %s", got, want)
			}
			if strings.Contains(f.log.String(), handle) || !strings.Contains(f.log.String(), `"delivery":"`+token.Mask(handle)+`"`) {
				t.Errorf("logged %s", f.log)
			}
		})
	}
}

// A delivery that hangs ends, and is redelivered.
func TestDeliveryThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		f := tasksFixture(sqs.TaskHandlers{Deliver: func(ctx context.Context, _ string, _ time.Time) (time.Time, error) {
			<-ctx.Done()
			return time.Time{}, ctx.Err()
		}})
		kept := f.receive(t, delivery(t, now))
		if took := time.Since(begin); kept != 1 || took != 30*time.Second {
			t.Errorf("after %s: %d are kept", took, kept)
		}
	})
}

func TestHeartbeatRoundTrip(t *testing.T) {
	t.Parallel()
	var got []string
	f := tasksFixture(sqs.TaskHandlers{Heartbeat: func(_ context.Context, handle string) error {
		if got = append(got, handle); len(got) == 1 {
			return errors.New("throttled")
		}
		return nil
	}})
	for i, want := range []int{1, 0} {
		if kept := f.receive(t, heartbeat(t, now)); kept != want || len(got) != i+1 || got[i] != handle {
			t.Errorf("%d are kept, want %d; heartbeats of %q", kept, want, got)
		}
	}
}

// An old heartbeat would feign that its sender is alive.
func TestOldHeartbeatIsDiscarded(t *testing.T) {
	t.Parallel()
	for age, want := range map[time.Duration]string{time.Minute: "beat outcome", time.Minute + time.Second: "outcome", 24 * time.Hour: "outcome"} {
		var got []string
		f := tasksFixture(sqs.TaskHandlers{
			Now: func() time.Time { return now.Add(age) },
			Heartbeat: func(context.Context, string) error {
				got = append(got, "beat")
				return nil
			},
			Deliver: func(context.Context, string, time.Time) (time.Time, error) {
				got = append(got, "outcome")
				return time.Time{}, nil
			},
		})
		if kept := f.receive(t, heartbeat(t, now)) + f.receive(t, delivery(t, now)); kept != 0 || strings.Join(got, " ") != want {
			t.Errorf("after %s %d are kept, and %q is delivered, want %q", age, kept, got, want)
		}
	}
}

// A function that may send to one queue of the task runner cannot make it do the work of another
// one.
func TestMessageOfAnotherQueueIsDiscarded(t *testing.T) {
	t.Parallel()
	sent := newFixture(nil)
	_ = (&sqs.Notices{Target: sent.queue()}).Notify(t.Context(), someNotice())
	_ = (&sqs.Ends{Target: sent.queue()}).Ended(t.Context(), engine.ID{}, machine.State{})
	notice, end := sent.bodies[0], sent.bodies[1]
	own, anyQueue, other := [2]string{queueURL, queueURL}, [2]string{}, [2]string{queueURL + "-other", queueURL + "-other"}
	for name, tt := range map[string]struct {
		queues [2]string // of deliveries and of notices
		want   string
	}{
		"own":   {own, "delivery,heartbeat,end,notice"},
		"any":   {anyQueue, "delivery,heartbeat,end,notice"},
		"mixed": {[2]string{other[0], queueURL}, "notice"},
		"other": {other, ""},
	} {
		var got []string
		did := func(what string) { got = append(got, what) }
		f := tasksFixture(sqs.TaskHandlers{
			DeliveryQueue: tt.queues[0], NoticeQueue: tt.queues[1], Ends: endFunc(did),
			Deliver: func(context.Context, string, time.Time) (retryAt time.Time, err error) {
				did("delivery")
				return retryAt, err
			},
			Heartbeat: func(context.Context, string) error { did("heartbeat"); return nil },
			Notify:    func(context.Context, engine.Notice) error { did("notice"); return nil },
		})
		kept := 0
		for _, body := range []string{delivery(t, now), heartbeat(t, now), end, notice} {
			kept += f.receive(t, body)
		}
		if strings.Join(got, ",") != tt.want || kept != 0 || strings.Count(f.log.String(), `"discarded"`) != 4-len(got) {
			t.Errorf("%s: %q is done, want %s; %d are kept:\n%s", name, got, tt.want, kept, f.log)
		}
	}
}

type endFunc func(what string)

func (f endFunc) Ended(context.Context, engine.ID, machine.State) error { f("end"); return nil }

func TestDeliveriesThatAreNotMade(t *testing.T) {
	t.Parallel()
	good := delivery(t, now)
	for body, want := range map[string]int{
		strings.Replace(good, `"v":1`, `"v":3`, 1): 1,
		strings.Replace(good, `"v":1`, `"v":0`, 1): 0, strings.Replace(good, handle, "x.y", 1): 0, `{"v":1,"kind":"delivery","payload":7}`: 0,
	} {
		if kept := tasksFixture(sqs.TaskHandlers{}).receive(t, body); kept != want {
			t.Errorf("%s: %d are kept, want %d", body, kept, want)
		}
	}
	f := newFixture(nil)
	f.err = errors.New("no queue")
	if err := f.deliveries().Send(t.Context(), token.ID{}, handle, now); !errors.Is(err, f.err) {
		t.Errorf("error %v", err)
	}
	if err := f.deliveries().Send(t.Context(), token.ID{}, "handle.secret", now); err == nil || strings.Contains(err.Error(), "secret") || len(f.bodies) != 1 {
		t.Errorf("a token is sent, or in the error: %v", err)
	}
}
