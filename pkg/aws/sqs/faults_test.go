package sqs_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/aws/environment"
	"github.com/waitless/waitless/pkg/aws/faults"
	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

var faultyWake = engine.Wake{Execution: engine.NewID("flow", "run"), Cause: "start", Due: now, Sent: now}

func atNow() time.Time { return now }

// wakesTo returns wakes of that queue without a schedule.
func wakesTo(q sqs.Queue) *sqs.Wakes {
	return sqs.NewWakes(sqs.WakesConfig{Queue: q, Now: atNow, Log: slog.New(slog.DiscardHandler)})
}

// senders send one message.
var senders = map[string]func(ctx context.Context, to sqs.Queue) error{
	"sqs.Wakes.Send": func(ctx context.Context, to sqs.Queue) error { return wakesTo(to).Send(ctx, faultyWake) },
	"sqs.Wakes.SendAll": func(ctx context.Context, to sqs.Queue) error {
		return wakesTo(to).SendAll(ctx, []engine.Wake{faultyWake})
	},
	"sqs.TokenWakes.Send": func(ctx context.Context, to sqs.Queue) error {
		return sqs.TokenWakes{Wakes: wakesTo(to)}.Send(ctx, token.ID{Execution: faultyWake.Execution}, "handle", now)
	},
	"sqs.Tasks.Queue": func(ctx context.Context, to sqs.Queue) error {
		resource, err := fdl.ParseResource("acs:fc:::services/s/functions/f")
		if err != nil {
			return err
		}
		return (&sqs.Tasks{Target: to}).Queue(ctx, engine.Task{Handle: "handle", Call: machine.Call{Step: "S", Resource: resource, Input: value.Object()}})
	},
	"sqs.Ends.Ended": func(ctx context.Context, to sqs.Queue) error {
		return (&sqs.Ends{Target: to}).Ended(ctx, faultyWake.Execution, machine.State{Status: machine.StatusSucceeded})
	},
	"sqs.Notices.Notify": func(ctx context.Context, to sqs.Queue) error {
		return (&sqs.Notices{Target: to}).Notify(ctx, engine.Notice{Execution: faultyWake.Execution, ID: "id", Target: "https://example.com", Body: "{}"})
	},
	"sqs.Polls.Replay": func(ctx context.Context, to sqs.Queue) error {
		return (&sqs.Polls{Target: to, Now: atNow}).Replay(ctx, jobs.Key{Name: "job"})
	},
	"sqs.Polls.Send": func(ctx context.Context, to sqs.Queue) error {
		return (&sqs.Polls{Target: to, Now: atNow}).Send(ctx, resume.Poll{Key: jobs.Key{Name: "job"}, Waiter: resume.Waiter{Handle: handle}, Due: now})
	},
	"sqs.DeliveryRequests.Send": func(ctx context.Context, to sqs.Queue) error {
		return (&sqs.DeliveryRequests{Target: to}).Send(ctx, token.ID{}, handle, now)
	},
	"sqs.DeliveryRequests.SendBeat": func(ctx context.Context, to sqs.Queue) error {
		return (&sqs.DeliveryRequests{Target: to}).SendBeat(ctx, handle, now)
	},
}

func TestFaultTable(t *testing.T) {
	t.Parallel()
	var entries []faults.Entry
	for name, send := range senders {
		entries = append(entries, faults.Entry{Name: name, New: func(t *testing.T, p *faults.Proxy) faults.Call {
			t.Helper()
			s, client := newQueue(t), boundedClient(t, p)
			return faults.Call{
				Do:    func(ctx context.Context) error { return send(ctx, sqs.Queue{Client: client, URL: s.url}) },
				State: func() []string { return s.bodies(t) }, Limited: true,
			}
		}})
	}
	entries = append(entries, faults.Entry{Name: "sqs.Receiver.Handle", New: redelivery})
	for name, call := range letterCalls {
		entries = append(entries, faults.Entry{Name: name, New: func(t *testing.T, p *faults.Proxy) faults.Call { t.Helper(); return ofLetter(t, p, call) }})
	}
	faults.Compare(t, *emulator.Config(t).BaseEndpoint, "SQS", entries...)
}

// boundedClient returns a client as functions have it.
func boundedClient(t *testing.T, p *faults.Proxy) *sqs.Client {
	t.Helper()
	return sqs.NewClient(environment.Bounded(p.Config(emulator.Config(t)), p.ResponseLimit()))
}

// bodies returns the bodies of the messages of the queue, and leaves them there. It does not hide
// them, so an answer that is lost on its way hides none from the next request.
func (s stack) bodies(t *testing.T) (bodies []string) {
	t.Helper()
	shown := &awssqs.SetQueueAttributesInput{QueueUrl: &s.url, Attributes: map[string]string{"VisibilityTimeout": "0"}}
	if _, err := s.sqs.SetQueueAttributes(t.Context(), shown); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for before := -1; before < len(seen); {
		before = len(seen)
		received, err := s.sqs.ReceiveMessage(t.Context(), &awssqs.ReceiveMessageInput{QueueUrl: &s.url, MaxNumberOfMessages: 10})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range received.Messages {
			if !seen[*m.MessageId] {
				seen[*m.MessageId] = true
				bodies = append(bodies, *m.Body)
			}
		}
	}
	slices.Sort(bodies)
	return bodies
}

// redelivery handles a message that is to be redelivered: the response must name it, whether it is
// hidden or not.
func redelivery(t *testing.T, p *faults.Proxy) faults.Call {
	t.Helper()
	s := newQueue(t)
	if err := wakesTo(sqs.Queue{Client: s.sqs, URL: s.url}).Send(t.Context(), faultyWake); err != nil {
		t.Fatal(err)
	}
	event := s.received(t)
	r := s.receiver(func(context.Context, engine.Wake) (engine.Disposition, error) {
		return engine.Disposition{RetryAt: now.Add(time.Hour)}, nil
	})
	r.Client, r.Now = boundedClient(t, p), atNow
	return faults.Call{Limited: true, Do: func(ctx context.Context) error {
		response, err := r.Handle(ctx, event)
		if err == nil && len(response.BatchItemFailures) != 1 {
			err = errors.New("the message would be deleted")
		}
		return err
	}}
}

func (s stack) received(t *testing.T) events.SQSEvent {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if event, ok := s.poll(t); ok {
			return event
		}
	}
	t.Fatal("the message does not come")
	return events.SQSEvent{}
}

// letterCalls are calls of a dead letter that was received.
var letterCalls = map[string]func(ctx context.Context, d sqs.DeadLetters, letter sqs.Letter) error{
	"sqs.DeadLetters.Receive": func(ctx context.Context, d sqs.DeadLetters, _ sqs.Letter) error {
		_, err := d.Receive(ctx)
		return err
	},
	"sqs.DeadLetters.Release": func(ctx context.Context, d sqs.DeadLetters, letter sqs.Letter) error {
		return d.Release(ctx, []sqs.Letter{letter})
	},
	"sqs.DeadLetters.Replay": func(ctx context.Context, d sqs.DeadLetters, letter sqs.Letter) error { return d.Replay(ctx, letter) },
	"sqs.DeadLetters.ReplayCounted": func(ctx context.Context, d sqs.DeadLetters, letter sqs.Letter) error {
		return d.ReplayCounted(ctx, letter)
	},
	"sqs.DeadLetters.Count": func(ctx context.Context, d sqs.DeadLetters, _ sqs.Letter) error {
		_, err := d.Count(ctx)
		return err
	},
	"sqs.DeadLetters.Drop": func(ctx context.Context, d sqs.DeadLetters, letter sqs.Letter) error { return d.Drop(ctx, letter) },
}

func ofLetter(t *testing.T, p *faults.Proxy, call func(ctx context.Context, d sqs.DeadLetters, letter sqs.Letter) error) faults.Call {
	t.Helper()
	source := newQueue(t)
	letters, d, letter := receivedLetter(t, source)
	d.Client = sqs.NewClient(p.Config(emulator.Config(t)))
	return faults.Call{
		Do: func(ctx context.Context) error {
			err := call(ctx, d, letter)
			if _, ok := errors.AsType[*sqstypes.ReceiptHandleIsInvalid](err); ok { // SQS accepts a second deletion, the emulator does not
				return nil
			}
			return err
		},
		State: func() []string { return append(source.bodies(t), letters.count(t)...) },
	}
}

// receivedLetter returns a queue with a dead letter that was received. A receipt that is lost on
// its way hides the letter for longer than the test is patient, so the next try is another queue.
func receivedLetter(t *testing.T, source stack) (letters stack, d sqs.DeadLetters, letter sqs.Letter) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		letters = newQueue(t)
		if err := wakesTo(sqs.Queue{Client: letters.sqs, URL: letters.url}).Send(t.Context(), faultyWake); err != nil {
			t.Fatal(err)
		}
		d = sqs.DeadLetters{Client: letters.sqs, URL: letters.url, Source: source.url}
		for range 10 { // each waits for a second
			received, err := d.Receive(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(received) > 0 {
				return letters, d, received[0]
			}
		}
	}
	t.Fatal("no letter comes")
	return letters, d, letter
}

// count returns a text for each message of the queue, hidden or not.
func (s stack) count(t *testing.T) []string {
	t.Helper()
	found, err := s.sqs.GetQueueAttributes(t.Context(), &awssqs.GetQueueAttributesInput{QueueUrl: &s.url, AttributeNames: []sqstypes.QueueAttributeName{"All"}})
	if err != nil {
		t.Fatal(err)
	}
	if found.Attributes["ApproximateNumberOfMessages"]+found.Attributes["ApproximateNumberOfMessagesNotVisible"] == "00" {
		return nil
	}
	return []string{"a dead letter"}
}
