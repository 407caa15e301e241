package jobqueue_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/waitless/waitless/pkg/aws/jobqueue"
	"github.com/waitless/waitless/pkg/aws/queue"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

var now = time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)

func clock() time.Time { return now }

// handle is a token's, as every poll has one.
func handle() string {
	keys := token.Keys{Current: token.Key{ID: 1, Secret: make([]byte, token.SecretSize)}}
	return keys.Handle(token.ID{Execution: [12]byte{1}, Number: 7, Expires: now.Add(time.Hour)})
}

func somePoll() resume.Poll {
	return resume.Poll{
		Key: jobs.Key{Kind: "dms-task", Account: "123456789012", Region: "eu-central-1", Name: "arn:aws:dms:t"}, JobID: "arn:aws:dms:t",
		Waiter: resume.Waiter{Handle: handle(), Run: jobs.Run{Name: "r", Since: now.Add(-time.Minute)}},
		Number: 3, Due: now.Add(4 * time.Minute), Deadline: now.Add(24 * time.Hour), MAC: "authentic",
	}
}

// sent is a queue that notes what is put there, and for how long.
type sent struct {
	mu     sync.Mutex
	bodies []string
	delays []int32
	hidden int
	err    error
}

func (s *sent) SendMessage(_ context.Context, input *sqs.SendMessageInput, _ ...func(*sqs.Options)) (*sqs.SendMessageOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bodies, s.delays = append(s.bodies, *input.MessageBody), append(s.delays, input.DelaySeconds)
	return &sqs.SendMessageOutput{}, s.err
}

func (s *sent) ChangeMessageVisibility(
	context.Context, *sqs.ChangeMessageVisibilityInput, ...func(*sqs.Options),
) (*sqs.ChangeMessageVisibilityOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hidden++
	return &sqs.ChangeMessageVisibilityOutput{}, nil
}

func sender(s *sent) *jobqueue.Queue { return &jobqueue.Queue{Client: s, URL: "queue", Now: clock} }

// useCases note what they are given.
type useCases struct {
	mu         sync.Mutex
	events     []string
	reconciled []resume.Poll
	err        error
}

func (u *useCases) observe(_ context.Context, event []byte) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.events = append(u.events, string(event))
	return u.err
}

func (u *useCases) reconcile(_ context.Context, poll resume.Poll) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.reconciled = append(u.reconciled, poll)
	return u.err
}

// handle receives the bodies at an instant, and answers how many are kept.
func (u *useCases) handle(t *testing.T, s *sent, at time.Time, log *bytes.Buffer, bodies ...string) (kept int) {
	t.Helper()
	r := &jobqueue.Receiver{
		Receiver: queue.Receiver{
			Client: s, URL: "queue", Now: func() time.Time { return at }, Log: slog.New(slog.NewJSONHandler(log, nil)), Line: "job",
		},
		Observe: u.observe, Reconcile: u.reconcile,
	}
	var event events.SQSEvent
	for i, body := range bodies {
		event.Records = append(event.Records, events.SQSMessage{
			MessageId: strconv.Itoa(i), Body: body, Attributes: map[string]string{"ApproximateReceiveCount": "2"},
		})
	}
	answer, err := r.Handle(t.Context(), event)
	if err != nil {
		t.Fatal(err)
	}
	return len(answer.BatchItemFailures)
}

func TestAPollGoesThroughTheQueue(t *testing.T) {
	t.Parallel()
	bare := somePoll()
	bare.Waiter.Run.Name, bare.Deadline = "", time.Time{}
	odd := somePoll()
	odd.Key.Name = "\ufffe\uffff\u2028<&>"
	for name, poll := range map[string]resume.Poll{"with all it may have": somePoll(), "with the least": bare, "with an odd name": odd} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, u := &sent{}, &useCases{}
			if err := sender(s).Send(t.Context(), poll); err != nil {
				t.Fatal(err)
			}
			if s.delays[0] != 240 || strings.ContainsAny(s.bodies[0], "\ufffe\uffff") {
				t.Errorf("a delay of %d s: %s", s.delays[0], s.bodies[0])
			}
			if kept := u.handle(t, s, poll.Due, &bytes.Buffer{}, s.bodies[0]); kept != 0 {
				t.Errorf("%d are kept", kept)
			}
			poll.Receives = 2
			if len(u.reconciled) != 1 || !reflect.DeepEqual(u.reconciled[0], poll) {
				t.Errorf("got %+v, want %+v", u.reconciled, poll)
			}
		})
	}
}

// A message can be delayed by a quarter of an hour; whoever receives it too early
// sends it again.
func TestAPollIsDelayedForAsLongAsAMessageMay(t *testing.T) {
	t.Parallel()
	s := &sent{}
	late := somePoll()
	late.Due = now.Add(time.Hour)
	if err := sender(s).Send(t.Context(), late); err != nil || s.delays[0] != 900 {
		t.Errorf("sent with delays %d, error %v", s.delays, err)
	}
}

func TestAForgedPollIsDiscarded(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err  error
		kept int
		log  string
	}{
		"forged":                      {fmt.Errorf("reconcile: %w", token.ErrForged), 0, `"level":"WARN","msg":"job","kind":"dms-task"`},
		"of a key that is not known":  {fmt.Errorf("reconcile: %w", token.ErrUnknownKey), 1, `"outcome":"failed"`},
		"of a table that is not here": {errors.New("throttled"), 1, `"outcome":"failed"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, u, log := &sent{}, &useCases{err: tt.err}, &bytes.Buffer{}
			if err := sender(s).Send(t.Context(), somePoll()); err != nil {
				t.Fatal(err)
			}
			kept := u.handle(t, s, now, log, s.bodies[0])
			if kept != tt.kept || !strings.Contains(log.String(), tt.log) || strings.Contains(log.String(), "dropped") != (tt.kept == 0) {
				t.Errorf("%d are kept, want %d; logged %s", kept, tt.kept, log)
			}
		})
	}
}

func TestAPollThatIsNotSentIsAnError(t *testing.T) {
	t.Parallel()
	s := &sent{err: errors.New("denied")}
	if err := sender(s).Send(t.Context(), somePoll()); !errors.Is(err, s.err) {
		t.Errorf("error %v", err)
	}
	keys := token.Keys{Current: token.Key{ID: 1, Secret: make([]byte, token.SecretSize)}}
	secret := somePoll()
	secret.Waiter.Handle = keys.Sign(token.ID{Expires: now.Add(time.Hour)})
	if err := sender(s).Send(t.Context(), secret); err == nil || strings.Contains(err.Error(), secret.Waiter.Handle) || len(s.bodies) != 1 {
		t.Errorf("a token is sent, or told: error %v, %d messages", err, len(s.bodies))
	}
}

const event = `{"version":"0","id":"e-1","detail-type":"Batch Job State Change","source":"aws.batch","detail":{"status":"FAILED"}}`

func TestAnEventIsPassedOnAsItIs(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err  error
		kept int
		log  string
	}{
		"taken":                 {nil, 0, `"source":"aws.batch","detail_type":"Batch Job State Change","outcome":"done"`},
		"no end of a job":       {jobs.ErrNoEnd, 0, `"note":"no end of a job"`},
		"what nobody can read":  {fmt.Errorf("%w: no key", resume.ErrNoEvent), 0, `no key"`},
		"what is to come again": {errors.New("throttled"), 1, `"error":"throttled"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, u, log := &sent{}, &useCases{err: tt.err}, &bytes.Buffer{}
			if kept := u.handle(t, s, now, log, event); kept != tt.kept || s.hidden != tt.kept {
				t.Errorf("%d are kept and %d put back, want %d", kept, s.hidden, tt.kept)
			}
			if len(u.events) != 1 || u.events[0] != event {
				t.Errorf("observed %q", u.events)
			}
			if !strings.Contains(log.String(), tt.log) || strings.Count(log.String(), "\n") != 1 {
				t.Errorf("logged %s, want one line with %s", log, tt.log)
			}
		})
	}
}

func TestTheMessagesOfABatch(t *testing.T) {
	t.Parallel()
	s, u, log := &sent{}, &useCases{}, &bytes.Buffer{}
	if err := sender(s).Send(t.Context(), somePoll()); err != nil {
		t.Fatal(err)
	}
	good := s.bodies[0]
	kept := u.handle(t, s, somePoll().Due, log,
		good, good, event, strings.Replace(event, `"detail":`, `"poll":{},"detail":`, 1),
		`{"v":2,"poll":7}`, // of a newer release
		`forged`, `[]`, `{}`, `{"v":1}`, `{"source":"aws.batch"}`, strings.Replace(good, handle(), "x.y", 1), strings.Replace(good, `"v":1`, `"v":-1`, 1),
	)
	if kept != 1 || len(u.reconciled) != 2 || len(u.events) != 2 {
		t.Errorf("%d are kept, %d polls, %d events; want one of a newer release, 2, 2", kept, len(u.reconciled), len(u.events))
	}
	if n := strings.Count(log.String(), `"outcome":"dropped"`); n != 7 {
		t.Errorf("%d were dropped, want 7:\n%s", n, log)
	}
	if n := strings.Count(log.String(), `"job":"arn:aws:dms:t","token":"`+token.Mask(handle())+`","poll":3`); n != 2 || strings.Contains(log.String(), handle()) {
		t.Errorf("%d lines name the job, want 2, and none the handle:\n%s", n, log)
	}
}
