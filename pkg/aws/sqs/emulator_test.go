package sqs_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	awsscheduler "github.com/aws/aws-sdk-go-v2/service/scheduler"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/aws/faults"
	"github.com/waitless/waitless/pkg/aws/scheduler"
	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/internal/suite/enginetest"
)

func TestMain(m *testing.M) { os.Exit(emulator.Main(m)) }

// stack is what wakes need on AWS.
type stack struct {
	sqs       *awssqs.Client
	scheduler *awsscheduler.Client
	url, arn  string // of the queue
	group     string // of the schedules
}

func newStack(t *testing.T) stack {
	t.Helper()
	s := newQueue(t)
	if _, err := s.scheduler.CreateScheduleGroup(t.Context(), &awsscheduler.CreateScheduleGroupInput{Name: &s.group}); err != nil {
		t.Fatal(err)
	}
	return s
}

// newQueue makes a stack without the group of schedules.
func newQueue(t *testing.T) stack {
	t.Helper()
	config, name := faults.Direct(emulator.Config(t)), "wakes-"+rand.Text()
	s := stack{sqs: awssqs.NewFromConfig(config), scheduler: awsscheduler.NewFromConfig(config), group: name}
	// A message whose receipt was lost on its way is seen again well within our
	// patience.
	created, err := s.sqs.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: &name, Attributes: map[string]string{"VisibilityTimeout": "20"}})
	if err != nil {
		t.Fatal(err)
	}
	s.url = *created.QueueUrl
	attributes, err := s.sqs.GetQueueAttributes(t.Context(), &awssqs.GetQueueAttributesInput{
		QueueUrl: &s.url, AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameQueueArn},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.arn = attributes.Attributes["QueueArn"]
	return s
}

func (s stack) schedules() *scheduler.Group {
	role := "arn:aws:iam::" + emulator.Account + ":role/wakes"
	return &scheduler.Group{Client: s.scheduler, Name: s.group, QueueARN: s.arn, RoleARN: role, DeadLettersARN: s.arn}
}

func (s stack) wakes(t *testing.T, schedule sqs.Schedule, limit time.Duration, now func() time.Time) *sqs.Wakes {
	t.Helper()
	return sqs.NewWakes(sqs.WakesConfig{
		Queue: sqs.Queue{Client: s.sqs, URL: s.url}, Schedule: schedule, Limit: limit, Now: now, Log: slog.New(slog.DiscardHandler),
	})
}

func (s stack) receiver(advance func(context.Context, engine.Wake) (engine.Disposition, error)) *sqs.Receiver {
	return &sqs.Receiver{
		Client: s.sqs, URLs: []string{s.url}, AnySource: true, Decode: sqs.DecodeWakes(advance, nil),
		Now: time.Now, Log: slog.New(slog.DiscardHandler), LogMessage: "wake",
	}
}

// pending are the names of the schedules that have not come.
func (s stack) pending(t *testing.T) []string {
	t.Helper()
	listed, err := s.scheduler.ListSchedules(t.Context(), &awsscheduler.ListSchedulesInput{GroupName: &s.group})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, schedule := range listed.Schedules {
		names = append(names, *schedule.Name)
	}
	return names
}

// poll takes one message, as Lambda would hand it to a function, and waits a
// second for it.
func (s stack) poll(t *testing.T) (events.SQSEvent, bool) {
	t.Helper()
	answer, err := s.sqs.ReceiveMessage(t.Context(), &awssqs.ReceiveMessageInput{
		QueueUrl: &s.url, MaxNumberOfMessages: 1, WaitTimeSeconds: 1,
		MessageSystemAttributeNames: []sqstypes.MessageSystemAttributeName{sqstypes.MessageSystemAttributeNameApproximateReceiveCount},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(answer.Messages) == 0 {
		return events.SQSEvent{}, false
	}
	m := answer.Messages[0]
	return events.SQSEvent{Records: []events.SQSMessage{{
		MessageId: *m.MessageId, ReceiptHandle: *m.ReceiptHandle, Body: *m.Body, Attributes: m.Attributes,
	}}}, true
}

// finish deletes the messages that the response does not keep, as Lambda does.
func (s stack) finish(ctx context.Context, event events.SQSEvent, response events.SQSEventResponse) error {
	if len(response.BatchItemFailures) > 0 {
		return nil
	}
	_, err := s.sqs.DeleteMessage(ctx, &awssqs.DeleteMessageInput{QueueUrl: &s.url, ReceiptHandle: &event.Records[0].ReceiptHandle})
	return err
}

// patience is how long a wake that is due may be under way: Scheduler is asked
// every ten seconds, and the machine may be busy.
const patience = time.Minute

// travel is a stack whose clock only moves when a test lets time pass. A few
// seconds pass in fact; for more, the schedules are moved instead.
type travel struct {
	stack
	*sqs.Wakes
	receiver *sqs.Receiver

	mu  sync.Mutex
	now time.Time
	// under are the wakes under way, by their instants; putBack are
	// those of them that may come from then on by the real clock.
	under, putBack map[string]time.Time
	// handed are those that were received and are not finished.
	handed  chan handling
	running map[string]handling
}

// handling is a wake that the receiver has given away and waits for.
type handling struct {
	wake        engine.Wake
	disposition chan engine.Disposition
	ended       <-chan error
}

const (
	suiteLimit = 20 * time.Second
	// inFact is the longest time that passes in fact.
	inFact = 5 * time.Second
)

func newTravel(t *testing.T) *travel {
	t.Helper()
	q := &travel{
		stack: newStack(t), now: time.Date(2026, 1, 31, 10, 0, 0, 123456789, time.UTC), under: map[string]time.Time{}, putBack: map[string]time.Time{},
		handed: make(chan handling), running: map[string]handling{},
	}
	q.Wakes = q.wakes(t, q, suiteLimit, q.Now)
	q.receiver = q.stack.receiver(q.advance)
	q.receiver.Now = q.Now
	return q
}

func keyOf(w engine.Wake) string { return w.Execution.String() + " " + w.Cause }

func (q *travel) Now() time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.now
}

func (q *travel) Send(ctx context.Context, w engine.Wake) error {
	if err := q.Wakes.Send(ctx, w); err != nil {
		return err
	}
	q.sent(w)
	return nil
}

// SendAll implements [engine.Wakes].
func (q *travel) SendAll(ctx context.Context, wakes []engine.Wake) error {
	if err := q.Wakes.SendAll(ctx, wakes); err != nil {
		return err
	}
	q.sent(wakes...)
	return nil
}

func (q *travel) sent(wakes ...engine.Wake) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, w := range wakes {
		q.under[keyOf(w)] = w.Due
	}
}

// At makes the schedule by the clock of the emulator.
func (q *travel) At(ctx context.Context, name string, at time.Time, body string) error {
	return q.schedules().At(ctx, name, time.Now().Add(at.Sub(q.Now())), body)
}

func (q *travel) Pass(d time.Duration) {
	if d <= inFact {
		time.Sleep(d)
	} else if err := q.moveSchedules(d); err != nil {
		panic(err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.now = q.now.Add(d)
}

// moveSchedules makes all schedules come earlier.
func (q *travel) moveSchedules(d time.Duration) error {
	ctx := context.Background()
	listed, err := q.scheduler.ListSchedules(ctx, &awsscheduler.ListSchedulesInput{GroupName: &q.group})
	if err != nil {
		return err
	}
	for _, found := range listed.Schedules {
		s, err := q.scheduler.GetSchedule(ctx, &awsscheduler.GetScheduleInput{GroupName: &q.group, Name: found.Name})
		if err != nil {
			return err
		}
		const form = "at(2006-01-02T15:04:05)"
		at, err := time.Parse(form, *s.ScheduleExpression)
		if err != nil {
			return err
		}
		if _, err := q.scheduler.UpdateSchedule(ctx, &awsscheduler.UpdateScheduleInput{
			GroupName: &q.group, Name: found.Name, ScheduleExpression: aws.String(at.Add(-d).Format(form)), FlexibleTimeWindow: s.FlexibleTimeWindow,
			ActionAfterCompletion: s.ActionAfterCompletion, Target: s.Target,
		}); err != nil {
			return err
		}
	}
	return nil
}

// Receive waits for a wake that is due; when none is, it looks once.
func (q *travel) Receive(t *testing.T) (engine.Wake, bool) {
	t.Helper()
	for end := time.Now().Add(patience); ; {
		event, ok := q.poll(t)
		if ok {
			if w, ok := q.hand(t, event); ok {
				return w, true
			}
		}
		if !q.isDue() || time.Now().After(end) {
			return engine.Wake{}, false
		}
	}
}

func (q *travel) isDue() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for key, due := range q.under {
		if _, received := q.running[key]; !received && !due.After(q.now) {
			return true
		}
	}
	return false
}

// hand gives the message to the receiver, and is false when that has no wake
// for us.
func (q *travel) hand(t *testing.T, event events.SQSEvent) (engine.Wake, bool) {
	t.Helper()
	ended := make(chan error, 1)
	ctx := t.Context()
	go func() {
		response, err := q.receiver.Handle(ctx, event)
		if err == nil {
			err = q.finish(ctx, event, response)
		}
		ended <- err
	}()
	select {
	case h := <-q.handed:
		h.ended = ended
		q.mu.Lock()
		defer q.mu.Unlock()
		q.running[keyOf(h.wake)] = h
		return h.wake, true
	case err := <-ended:
		if err != nil {
			t.Fatal(err)
		}
		return engine.Wake{}, false
	}
}

// advance gives the wake to the test, or sends it again when it is early, as
// the engine does by rule 8.
func (q *travel) advance(ctx context.Context, w engine.Wake) (engine.Disposition, error) {
	if w.Due.After(q.Now()) {
		return engine.Disposition{}, q.Wakes.Send(ctx, w)
	}
	if until, ok := q.comesTooSoon(w); ok {
		return engine.Disposition{RetryAt: until}, nil
	}
	if w.Receives == 0 {
		return engine.Disposition{}, fmt.Errorf("the wake %+v was received %d times", w, w.Receives)
	}
	h := handling{wake: w, disposition: make(chan engine.Disposition, 1)}
	q.handed <- h
	select {
	case disposition := <-h.disposition:
		return disposition, nil
	case <-ctx.Done(): // a test need not finish what it received
		return engine.Disposition{}, ctx.Err()
	}
}

// comesTooSoon reports whether a redelivered wake is early by our clock, which stood still for
// longer than the real one.
func (q *travel) comesTooSoon(w engine.Wake) (until time.Time, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	from, ok := q.putBack[keyOf(w)]
	until = q.under[keyOf(w)]
	return until, ok && until.After(q.now) && !time.Now().Before(from)
}

func (q *travel) Finish(t *testing.T, w engine.Wake, putBack time.Time) {
	t.Helper()
	q.mu.Lock()
	h := q.running[keyOf(w)]
	delete(q.running, keyOf(w))
	if putBack.IsZero() {
		delete(q.under, keyOf(w))
	} else {
		q.under[keyOf(w)], q.putBack[keyOf(w)] = putBack, time.Now().Add(putBack.Sub(q.now))
	}
	q.mu.Unlock()
	h.disposition <- engine.Disposition{RetryAt: putBack}
	if err := <-h.ended; err != nil {
		t.Fatal(err)
	}
}

func TestWakes(t *testing.T) {
	t.Parallel()
	enginetest.Wakes(t, func(t *testing.T, test func(t *testing.T, q enginetest.Queue)) {
		t.Helper()
		test(t, newTravel(t))
	})
}

// Nothing is moved here: a wait beyond the limit, as it passes.
func TestAScheduledWakeIsNotEarlyAndLeavesNothing(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	w := s.wakes(t, s.schedules(), 6*time.Second, time.Now)
	sent := time.Now()
	wake := engine.Wake{Execution: engine.NewID("flow", "run"), Cause: "0123456789abcdef", Due: sent.Add(10 * time.Second), Sent: sent, Seq: 1}
	for range 2 { // the same timer again
		if err := w.Send(t.Context(), wake); err != nil {
			t.Fatal(err)
		}
	}
	if pending := s.pending(t); len(pending) != 1 {
		t.Errorf("the schedules are %q, want one", pending)
	}
	var advanced int
	r := s.receiver(func(ctx context.Context, w2 engine.Wake) (engine.Disposition, error) {
		if w2.Due.After(time.Now()) {
			return engine.Disposition{}, w.Send(ctx, w2)
		}
		advanced++
		return engine.Disposition{}, nil
	})
	for end := time.Now().Add(patience); advanced == 0 && time.Now().Before(end); {
		event, ok := s.poll(t)
		if !ok {
			continue
		}
		response, err := r.Handle(t.Context(), event)
		if err == nil {
			err = s.finish(t.Context(), event, response)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if advanced != 1 {
		t.Fatalf("it came %d times within %s", advanced, patience)
	}
	for end := time.Now().Add(patience); len(s.pending(t)) > 0 && time.Now().Before(end); {
	}
	if pending := s.pending(t); len(pending) > 0 {
		t.Errorf("the schedules %q are left", pending)
	}
}

func TestTheReceivesOfAWakeAreCounted(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	w := s.wakes(t, nil, 0, time.Now)
	if err := w.Send(t.Context(), engine.Wake{Execution: engine.NewID("flow", "run"), Cause: "start", Due: time.Now(), Sent: time.Now()}); err != nil {
		t.Fatal(err)
	}
	var receives string
	r := s.receiver(func(_ context.Context, w engine.Wake) (engine.Disposition, error) {
		receives += strconv.Itoa(w.Receives)
		return engine.Disposition{RetryAt: time.Now()}, nil // at once
	})
	for end := time.Now().Add(patience); len(receives) < 3 && time.Now().Before(end); {
		if event, ok := s.poll(t); ok {
			if _, err := r.Handle(t.Context(), event); err != nil {
				t.Fatal(err)
			}
		}
	}
	if receives != "123" {
		t.Errorf("it was received as number %s", receives)
	}
}
