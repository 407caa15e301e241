package sqs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/token"
)

var now = time.Date(2026, 1, 31, 10, 0, 0, 123456789, time.UTC)

const queueURL = "https://sqs.us-east-1.amazonaws.com/123456789012/queue"

// fixture is a queue that records what it is sent, with a receiver and its log.
type fixture struct {
	sqs.Receiver
	log *bytes.Buffer

	mu     sync.Mutex
	bodies []string
	delays []int32
	// batches are the sizes of the batches that were sent. The entry with the number refused is not
	// accepted.
	batches []int
	refused int
	hidden  map[string]int32 // seconds, by message id
	err     error            // of all requests
}

func newFixture(decode sqs.Decode) *fixture {
	f := &fixture{log: &bytes.Buffer{}, hidden: map[string]int32{}}
	f.Receiver = sqs.Receiver{
		Client: f, URLs: []string{queueURL}, Decode: decode, Now: func() time.Time { return now }, LogMessage: "work",
		Log: slog.New(slog.NewJSONHandler(f.log, nil)), Random: func(n time.Duration) time.Duration { return n },
	}
	return f
}

func (f *fixture) queue() sqs.Queue { return sqs.Queue{Client: f, URL: queueURL} }

func (f *fixture) SendMessage(_ context.Context, input *awssqs.SendMessageInput, _ ...func(*awssqs.Options)) (*awssqs.SendMessageOutput, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if *input.QueueUrl != queueURL {
		return nil, errors.New("another queue")
	}
	f.bodies, f.delays = append(f.bodies, *input.MessageBody), append(f.delays, input.DelaySeconds)
	return &awssqs.SendMessageOutput{}, f.err
}

func (f *fixture) SendMessageBatch(
	_ context.Context, input *awssqs.SendMessageBatchInput, _ ...func(*awssqs.Options),
) (*awssqs.SendMessageBatchOutput, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.batches = append(f.batches, len(input.Entries))
	output := &awssqs.SendMessageBatchOutput{}
	for i, entry := range input.Entries {
		if f.bodies = append(f.bodies, *entry.MessageBody); i+1 == f.refused {
			output.Failed = append(output.Failed, types.BatchResultErrorEntry{Id: entry.Id, Code: aws.String("Throttled"), Message: aws.String("too many")})
		}
	}
	return output, f.err
}

func (f *fixture) ChangeMessageVisibility(
	ctx context.Context, input *awssqs.ChangeMessageVisibilityInput, _ ...func(*awssqs.Options),
) (*awssqs.ChangeMessageVisibilityOutput, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if *input.QueueUrl != queueURL {
		return nil, errors.New("another queue")
	}
	f.hidden[strings.TrimPrefix(*input.ReceiptHandle, "receipt ")] = input.VisibilityTimeout
	return &awssqs.ChangeMessageVisibilityOutput{}, errors.Join(f.err, ctx.Err())
}

// batch is an event with these messages, which are received for the second time. Their ids are
// their numbers from 1.
func batch(bodies ...string) (event events.SQSEvent) {
	for i, body := range bodies {
		event.Records = append(event.Records, events.SQSMessage{
			MessageId: fmt.Sprint(i + 1), ReceiptHandle: fmt.Sprint("receipt ", i+1), Body: body,
			EventSourceARN: "arn:aws:sqs:us-east-1:123456789012:queue", Attributes: map[string]string{"ApproximateReceiveCount": "2"},
		})
	}
	return event
}

// receive handles a batch and returns how many messages the queue keeps.
func (f *fixture) receive(t *testing.T, bodies ...string) (kept int) {
	t.Helper()
	response, err := f.Handle(t.Context(), batch(bodies...))
	if err != nil {
		t.Fatal(err)
	}
	for _, failure := range response.BatchItemFailures {
		if _, ok := f.hidden[failure.ItemIdentifier]; !ok {
			t.Errorf("message %s is kept and was not hidden", failure.ItemIdentifier)
		}
	}
	return len(response.BatchItemFailures)
}

// wantLog wants each text in the log, as often as it says.
func (f *fixture) wantLog(t *testing.T, texts map[string]int) {
	t.Helper()
	for text, want := range texts {
		if got := strings.Count(f.log.String(), text); got != want {
			t.Errorf("the log has %d times %s, want %d:\n%s", got, text, want, f.log)
		}
	}
}

var keys = token.Keys{Current: token.Key{ID: 1, Secret: make([]byte, token.SecretSize)}}

// handle is the handle of a token of an external recipient.
var handle = keys.Handle(token.ID{Execution: [12]byte{1}, Number: 7, Flags: token.FlagExternal, Expires: now.Add(time.Hour)})
