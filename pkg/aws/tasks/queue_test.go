package tasks_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/waitless/waitless/pkg/aws/queue"
	"github.com/waitless/waitless/pkg/aws/tasks"
	"github.com/waitless/waitless/pkg/aws/tasks/deliveries"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// messages is a queue that notes what it is given.
type messages struct {
	mu     sync.Mutex
	bodies []string
	hidden int
	err    error
}

func (m *messages) SendMessage(_ context.Context, input *sqs.SendMessageInput, _ ...func(*sqs.Options)) (*sqs.SendMessageOutput, error) {
	m.bodies = append(m.bodies, *input.MessageBody)
	return &sqs.SendMessageOutput{}, m.err
}

func (m *messages) ChangeMessageVisibility(
	context.Context, *sqs.ChangeMessageVisibilityInput, ...func(*sqs.Options),
) (*sqs.ChangeMessageVisibilityOutput, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hidden++
	return &sqs.ChangeMessageVisibilityOutput{}, nil
}

func someTask(input value.Value) engine.Task {
	call := callOf("long")
	call.Input, call.Limit = input, 10*time.Minute
	return engine.Task{Call: call, Handle: "AQEhandle", Await: true, AtMostOnce: true, TimeLimit: 20 * time.Minute}
}

func TestATaskGoesThroughTheQueue(t *testing.T) {
	t.Parallel()
	for name, input := range map[string]value.Value{
		"nothing":                       value.Object(),
		"numbers as written":            parse(t, `{"n":12345678901234567890.50,"m":1e400}`),
		"what SQS does not take":        parse(t, `{"a\ufffe":"\uffff\u0001 <&> \u2028"}`),
		"what HTML would escape":        value.Object(value.Member{Key: "page", Value: value.String(strings.Repeat("<&>", 250<<10/3))}),
		"as much as a step's input has": value.Object(value.Member{Key: "a", Value: value.String(strings.Repeat("a", 256<<10))}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &messages{}
			task := someTask(input)
			if err := (&tasks.Queue{Client: m, URL: "queue"}).Queue(t.Context(), task); err != nil {
				t.Fatal(err)
			}
			if strings.ContainsAny(m.bodies[0], "\ufffe\uffff") {
				t.Error("the message has characters that SQS refuses")
			}
			var got engine.Task
			r := receiver(m, &bytes.Buffer{}, func(_ context.Context, task engine.Task) (engine.Disposition, error) {
				got = task
				return engine.Disposition{}, nil
			})
			answer, err := r.Handle(t.Context(), events.SQSEvent{Records: []events.SQSMessage{{MessageId: "1", Body: m.bodies[0]}}})
			if err != nil || len(answer.BatchItemFailures) > 0 {
				t.Fatalf("answer %+v, error %v", answer, err)
			}
			if !value.Equal(got.Call.Input, input) {
				t.Errorf("the input is %s", got.Call.Input)
			}
			got.Call.Input, task.Call.Input = value.Value{}, value.Value{}
			if got != task {
				t.Errorf("the task is %+v, want %+v", got, task)
			}
		})
	}
}

// What names a job in a flow is enough to start it from the queue.
func TestAJobGoesThroughTheQueue(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"batch:SubmitJob", "arn:aws:dms:eu-west-1:123456789012:task:LOAD7"} {
		m, task := &messages{}, someTask(value.Object())
		resource, err := fdl.ParseResource(text)
		if err != nil {
			t.Fatal(err)
		}
		task.Call.Resource = resource
		if err := (&tasks.Queue{Client: m, URL: "queue"}).Queue(t.Context(), task); err != nil {
			t.Fatal(err)
		}
		var got engine.Task
		r := receiver(m, &bytes.Buffer{}, func(_ context.Context, task engine.Task) (engine.Disposition, error) {
			got = task
			return engine.Disposition{}, nil
		})
		if _, err := r.Handle(t.Context(), events.SQSEvent{Records: []events.SQSMessage{{MessageId: "1", Body: m.bodies[0]}}}); err != nil {
			t.Fatal(err)
		}
		if got.Call.Resource != resource || resource.Function != fdl.StartJob {
			t.Errorf("%s: the resource is %+v, want %+v", text, got.Call.Resource, resource)
		}
	}
}

// TestAPollKeepsItsKey: a task runner of the release before would not, so it must
// not take the message for a task.
func TestAPollKeepsItsKey(t *testing.T) {
	t.Parallel()
	for poll, version := range map[int]string{0: `"v":1,`, 7: `"v":2,`} {
		m, task := &messages{}, someTask(value.Object())
		task.Call.Attempt.Poll = poll
		if err := (&tasks.Queue{Client: m, URL: "queue"}).Queue(t.Context(), task); err != nil {
			t.Fatal(err)
		}
		var got engine.Task
		r := receiver(m, &bytes.Buffer{}, func(_ context.Context, task engine.Task) (engine.Disposition, error) {
			got = task
			return engine.Disposition{}, nil
		})
		if _, err := r.Handle(t.Context(), events.SQSEvent{Records: []events.SQSMessage{{MessageId: "1", Body: m.bodies[0]}}}); err != nil {
			t.Fatal(err)
		}
		if got.Call.Key() != task.Call.Key() || !strings.Contains(m.bodies[0], version) {
			t.Errorf("poll %d: key %s of %s, want %s", poll, got.Call.Key(), m.bodies[0], task.Call.Key())
		}
	}
}

func parse(t *testing.T, text string) value.Value {
	t.Helper()
	v, err := value.ParseJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func receiver(m *messages, log *bytes.Buffer, run func(context.Context, engine.Task) (engine.Disposition, error)) *tasks.Receiver {
	return &tasks.Receiver{Run: run, Receiver: queue.Receiver{
		Client: m, URL: "queue", Now: time.Now, Log: slog.New(slog.NewJSONHandler(log, nil)), Line: "task",
	}}
}

func TestATaskThatIsNotQueuedIsAnError(t *testing.T) {
	t.Parallel()
	m := &messages{err: errors.New("denied")}
	q := &tasks.Queue{Client: m, URL: "queue"}
	if err := q.Queue(t.Context(), someTask(value.Object())); !errors.Is(err, m.err) {
		t.Errorf("error %v", err)
	}
	large := value.Object(value.Member{Key: "a", Value: value.String(strings.Repeat("a", 1<<20))})
	err := q.Queue(t.Context(), someTask(large))
	if engine.CodeOf(err) != engine.CodeInvalid || !strings.Contains(err.Error(), "the limit of SQS is 1048576") || len(m.bodies) != 1 {
		t.Errorf("too large: error %v with code %s", err, engine.CodeOf(err))
	}
}

func TestTheTasksOfABatch(t *testing.T) {
	t.Parallel()
	m, log := &messages{}, &bytes.Buffer{}
	if err := (&tasks.Queue{Client: m, URL: "queue"}).Queue(t.Context(), someTask(value.Object())); err != nil {
		t.Fatal(err)
	}
	good := m.bodies[0]
	record := func(id, body string) events.SQSMessage { return events.SQSMessage{MessageId: id, Body: body} }
	verdicts := make(chan engine.Disposition, 2)
	verdicts <- engine.Disposition{}
	verdicts <- engine.Disposition{RetryAt: time.Now().Add(time.Hour)}
	r := receiver(m, log, func(context.Context, engine.Task) (engine.Disposition, error) {
		select {
		case v := <-verdicts:
			return v, nil
		default:
			return engine.Disposition{}, errors.New("broken")
		}
	})
	answer, err := r.Handle(t.Context(), events.SQSEvent{Records: []events.SQSMessage{
		record("1", good), record("2", good), record("3", good), record("4", `{"v":3,"flow":7}`),
		record("5", `forged`), record("6", strings.Replace(good, `"v":1`, `"v":0`, 1)), record("7", strings.Replace(good, "AQEhandle", "", 1)),
		record("8", strings.Replace(good, "acs:fc", "acs:oss", 1)), record("9", strings.Replace(good, `"input"`, `"x"`, 1)),
	}})
	if err != nil || len(answer.BatchItemFailures) != 3 || m.hidden != 3 {
		t.Errorf("answer %+v with %d put back, error %v; want one put back, one failed, one of a newer release", answer, m.hidden, err)
	}
	if n := strings.Count(log.String(), `"outcome":"dropped"`); n != 5 {
		t.Errorf("%d were dropped, want 5:\n%s", n, log)
	}
	id := engine.NewID("flow", "run").String()
	if n := strings.Count(log.String(), `"execution":"`+id+`","step":"Step","attempt":3`); n != 3 || strings.Contains(log.String(), "AQEhandle") {
		t.Errorf("%d lines name the execution, want 3, and none the handle:\n%s", n, log)
	}
}

// ends notes what it is told, or fails.
type ends struct {
	told []machine.State
	err  error
}

func (e *ends) Ended(_ context.Context, execution engine.ID, state machine.State) error {
	if execution != state.ID() {
		return errors.New("another id")
	}
	e.told = append(e.told, state)
	return e.err
}

func TestAnEndGoesThroughTheQueue(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 31, 10, 0, 0, 123456789, time.UTC)
	state := machine.State{
		Flow: machine.Flow{Name: "flow", Hash: "hash"}, Execution: "run", Status: machine.StatusFailed, Error: "E", Cause: "why",
		Started: at, At: at.Add(time.Hour),
	}
	m := &messages{}
	if err := (&tasks.Queue{Client: m, URL: "queue"}).Ended(t.Context(), state.ID(), state); err != nil {
		t.Fatal(err)
	}
	event := events.SQSEvent{Records: []events.SQSMessage{{MessageId: "1", Body: m.bodies[0]}}}
	for name, tt := range map[string]struct {
		ends *ends
		kept int
	}{"told": {&ends{}, 0}, "told in vain": {&ends{err: errors.New("no bus")}, 1}, "nobody": {nil, 0}} {
		r := receiver(m, &bytes.Buffer{}, nil)
		if tt.ends != nil {
			r.Ends = tt.ends
		}
		answer, err := r.Handle(t.Context(), event)
		if err != nil || len(answer.BatchItemFailures) != tt.kept {
			t.Errorf("%s: answer %+v, error %v", name, answer, err)
		}
		if tt.ends != nil && (len(tt.ends.told) != 1 || !reflect.DeepEqual(tt.ends.told[0], state)) {
			t.Errorf("%s: %+v", name, tt.ends.told)
		}
	}
	m.err = errors.New("no queue")
	if err := (&tasks.Queue{Client: m, URL: "queue"}).Ended(t.Context(), state.ID(), state); err == nil {
		t.Error("an end that was not queued is no error")
	}
}

// aHandle is a token's.
func aHandle() string {
	keys := token.Keys{Current: token.Key{ID: 1, Secret: make([]byte, token.SecretSize)}}
	return keys.Handle(token.ID{Flags: token.FlagForeign, Expires: time.Unix(2_000_000_000, 0)})
}

func TestADeliveryGoesThroughTheQueue(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 31, 10, 0, 0, 123456789, time.UTC)
	m := &messages{}
	if err := (&deliveries.Queue{Client: m, URL: "queue"}).Send(t.Context(), token.ID{}, aHandle(), at); err != nil {
		t.Fatal(err)
	}
	event := events.SQSEvent{Records: []events.SQSMessage{{MessageId: "1", Body: m.bodies[0]}}}
	for name, tt := range map[string]struct {
		putBack time.Time
		err     error
		kept    int
	}{"delivered": {}, "not closed yet": {putBack: at, kept: 1}, "throttled": {err: errors.New("throttled"), kept: 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log, asked := &bytes.Buffer{}, ""
			r := receiver(m, log, nil)
			r.Deliver = func(_ context.Context, handle string, sent time.Time) (time.Time, error) {
				asked = handle + " " + sent.Format(time.RFC3339Nano)
				return tt.putBack, tt.err
			}
			answer, err := r.Handle(t.Context(), event)
			if err != nil || len(answer.BatchItemFailures) != tt.kept {
				t.Errorf("answer %+v, error %v", answer, err)
			}
			if want := aHandle() + " " + at.Format(time.RFC3339Nano); asked != want {
				t.Errorf("asked for %s, want %s", asked, want)
			}
			if strings.Contains(log.String(), aHandle()) || !strings.Contains(log.String(), `"delivery":"`+token.Mask(aHandle())+`"`) {
				t.Errorf("logged %s", log)
			}
		})
	}
}

// A delivery that hangs ends, and comes again.
func TestDeliveryThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &messages{}
		if err := (&deliveries.Queue{Client: m, URL: "queue"}).Send(t.Context(), token.ID{}, aHandle(), time.Now()); err != nil {
			t.Fatal(err)
		}
		begin, r := time.Now(), receiver(m, &bytes.Buffer{}, nil)
		r.Deliver = func(ctx context.Context, _ string, _ time.Time) (time.Time, error) {
			<-ctx.Done()
			return time.Time{}, ctx.Err()
		}
		answer, err := r.Handle(t.Context(), events.SQSEvent{Records: []events.SQSMessage{{MessageId: "1", Body: m.bodies[0]}}})
		if took := time.Since(begin); err != nil || len(answer.BatchItemFailures) != 1 || took != 30*time.Second {
			t.Errorf("after %s: answer %+v, error %v", took, answer, err)
		}
	})
}

func TestAHeartbeatGoesThroughTheQueue(t *testing.T) {
	t.Parallel()
	m := &messages{}
	if err := (&deliveries.Queue{Client: m, URL: "queue"}).SendBeat(t.Context(), aHandle(), time.Now()); err != nil {
		t.Fatal(err)
	}
	event := events.SQSEvent{Records: []events.SQSMessage{{MessageId: "1", Body: m.bodies[0]}}}
	var beat, failed string
	r := receiver(m, &bytes.Buffer{}, nil)
	r.Deliver = func(context.Context, string, time.Time) (time.Time, error) {
		t.Error("an outcome is delivered")
		return time.Time{}, nil
	}
	r.Beat = func(_ context.Context, handle string) error {
		beat = handle
		if failed == "" {
			failed = handle
			return errors.New("throttled")
		}
		return nil
	}
	for _, kept := range []int{1, 0} {
		if answer, err := r.Handle(t.Context(), event); err != nil || len(answer.BatchItemFailures) != kept || beat != aHandle() {
			t.Errorf("answer %+v, error %v, handed on for %q; want %d kept", answer, err, beat, kept)
		}
	}
}

// One that was put back for a while would feign life.
func TestAnOldHeartbeatIsDropped(t *testing.T) {
	t.Parallel()
	sent := time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)
	m := &messages{}
	q := &deliveries.Queue{Client: m, URL: "queue"}
	if err := errors.Join(q.SendBeat(t.Context(), aHandle(), sent), q.Send(t.Context(), token.ID{}, aHandle(), sent)); err != nil {
		t.Fatal(err)
	}
	for age, want := range map[time.Duration]string{time.Minute: "beat outcome", time.Minute + time.Second: "outcome", 24 * time.Hour: "outcome"} {
		var handed []string
		r := receiver(m, &bytes.Buffer{}, nil)
		r.Now = func() time.Time { return sent.Add(age) }
		r.Beat = func(context.Context, string) error {
			handed = append(handed, "beat")
			return nil
		}
		r.Deliver = func(context.Context, string, time.Time) (time.Time, error) {
			handed = append(handed, "outcome")
			return time.Time{}, nil
		}
		for _, body := range m.bodies {
			answer, err := r.Handle(t.Context(), events.SQSEvent{Records: []events.SQSMessage{{MessageId: "1", Body: body}}})
			if err != nil || len(answer.BatchItemFailures) != 0 {
				t.Errorf("after %s: answer %+v, error %v", age, answer, err)
			}
		}
		if got := strings.Join(handed, " "); got != want {
			t.Errorf("after %s %q is handed on, want %q", age, got, want)
		}
	}
}

// A delivery that nobody makes here waits for somebody who does; what is none
// is dropped.
func TestDeliveriesThatAreNotMade(t *testing.T) {
	t.Parallel()
	m := &messages{}
	q := &deliveries.Queue{Client: m, URL: "queue"}
	if err := q.Send(t.Context(), token.ID{}, aHandle(), time.Now()); err != nil {
		t.Fatal(err)
	}
	good := m.bodies[0]
	for body, kept := range map[string]int{
		good: 1, strings.Replace(good, `"v":2`, `"v":3`, 1): 1,
		strings.Replace(good, `"v":2`, `"v":1`, 1): 0, strings.Replace(good, aHandle(), "x.y", 1): 0, `{"v":2,"delivery":7}`: 0,
	} {
		answer, err := receiver(m, &bytes.Buffer{}, nil).Handle(t.Context(), events.SQSEvent{Records: []events.SQSMessage{{MessageId: "1", Body: body}}})
		if err != nil || len(answer.BatchItemFailures) != kept {
			t.Errorf("%s: answer %+v, error %v; want %d kept", body, answer, err, kept)
		}
	}
	m.err = errors.New("no queue")
	if err := q.Send(t.Context(), token.ID{}, aHandle(), time.Now()); !errors.Is(err, m.err) {
		t.Errorf("error %v", err)
	}
	if err := q.Send(t.Context(), token.ID{}, "handle.secret", time.Now()); err == nil || strings.Contains(err.Error(), "secret") || len(m.bodies) != 2 {
		t.Errorf("a token is sent, or told: error %v", err)
	}
}
