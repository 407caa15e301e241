package sqs

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/token"
)

// DeadLetters are the messages that a queue gave up. All fields are required.
type DeadLetters struct {
	Client *Client
	URL    string // of the dead-letter queue
	Source string // the URL of the queue that gave them up
}

// Letter is a dead letter.
type Letter struct {
	ID   string
	Kind string // as in the messages of this package, "event" for a job event, or "" for what cannot be read
	// Wake is nil for other letters, and for a wake of a newer release.
	Wake *engine.Wake
	// About has attributes of the message, without secrets: "execution", "cause", "step", "job" and
	// others.
	About map[string]string
	// Sent is when the message was sent first, as far as SQS knows.
	Sent time.Time
	// Receives is how often it was received, this time included.
	Receives int
	// Replays is how often [DeadLetters.ReplayCounted] sent it again.
	Replays int
	// Problem is the reason why a service could not deliver it; "" for a message that was received
	// too often.
	Problem string
	// Excerpt is how a message that cannot be read begins, with its tokens masked.
	Excerpt string

	body, receipt string
}

// letterLife is for how long received letters are hidden from others.
const letterLife = 2 * time.Minute

// Receive returns letters, ten at most, and hides them for two minutes. There are none if the queue
// is empty, or if all are hidden.
func (d DeadLetters) Receive(ctx context.Context) ([]Letter, error) {
	received, err := d.Client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: &d.URL, MaxNumberOfMessages: batchSize, VisibilityTimeout: seconds(letterLife), WaitTimeSeconds: 1,
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
		MessageAttributeNames:       []string{"All"},
	})
	if err != nil {
		return nil, fmt.Errorf("receive dead letters: %w", err)
	}
	var letters []Letter
	for _, m := range received.Messages {
		letters = append(letters, letterOf(m))
	}
	return letters, nil
}

func letterOf(m types.Message) Letter {
	letter := Letter{
		ID: aws.ToString(m.MessageId), body: aws.ToString(m.Body), receipt: aws.ToString(m.ReceiptHandle),
	}
	if letter.Kind, letter.About = about(letter.body); letter.Kind == "" {
		letter.Excerpt = excerpt(letter.body)
	}
	_, _ = kinds{kindWake: payloadOf(func(_ Message, p wakePayload) (Work, error) {
		if wake, err := p.wake(); err == nil {
			letter.Wake = &wake
		}
		return Work{}, nil
	})}.decode(Message{Body: letter.body}) // the kind and the version decide
	letter.Receives, _ = strconv.Atoi(m.Attributes[string(types.MessageSystemAttributeNameApproximateReceiveCount)])
	if sent, err := strconv.ParseInt(m.Attributes[string(types.MessageSystemAttributeNameSentTimestamp)], 10, 64); err == nil {
		letter.Sent = time.UnixMilli(sent)
	}
	letter.Replays, _ = strconv.Atoi(aws.ToString(m.MessageAttributes[replaysAttribute].StringValue))
	letter.Problem = token.MaskAll(aws.ToString(m.MessageAttributes["ERROR_MESSAGE"].StringValue))
	return letter
}

// excerptSize is how many bytes of a body are shown at most.
const excerptSize = 4096

// excerpt masks before it cuts: a part of a token does not look like one.
func excerpt(body string) string {
	shown := token.MaskAll(body)
	return strings.ToValidUTF8(shown[:min(len(shown), excerptSize)], "")
}

// about returns the kind and the log attributes of a message. Both are empty if its functions would
// discard it.
func about(body string) (kind string, about map[string]string) {
	var e envelope[json.RawMessage]
	_ = json.Unmarshal([]byte(body), &e) // the decoders report mistakes
	if kind = e.Kind; e.Version == 0 {
		kind = "event"
	}
	for _, decode := range []Decode{DecodeWakes(nil, nil), DecodeTasks(TaskHandlers{Now: time.Now}), DecodeJobs(JobHandlers{})} {
		work, err := decode(Message{Body: body})
		if len(work.Attrs) == 0 || err != nil {
			continue
		}
		about = map[string]string{}
		for _, attr := range work.Attrs {
			if attr.Value.Kind() != slog.KindGroup {
				about[attr.Key] = token.MaskAll(attr.Value.String())
			}
		}
		return kind, about
	}
	return "", nil
}

// Count returns about how many letters there are, hidden ones included. It receives none.
func (d DeadLetters) Count(ctx context.Context) (n int, err error) {
	names := []types.QueueAttributeName{
		types.QueueAttributeNameApproximateNumberOfMessages, types.QueueAttributeNameApproximateNumberOfMessagesNotVisible,
	}
	found, err := d.Client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &d.URL, AttributeNames: names})
	if err != nil {
		return 0, fmt.Errorf("count dead letters: %w", err)
	}
	for _, name := range names {
		some, _ := strconv.Atoi(found.Attributes[string(name)])
		n += some
	}
	return n, nil
}

// Release has others see the letters again at once.
func (d DeadLetters) Release(ctx context.Context, letters []Letter) error {
	for some := range slices.Chunk(letters, batchSize) {
		input := &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &d.URL}
		for i, letter := range some {
			input.Entries = append(input.Entries, types.ChangeMessageVisibilityBatchRequestEntry{
				Id: aws.String(strconv.Itoa(i)), ReceiptHandle: &letter.receipt,
			})
		}
		if _, err := d.Client.ChangeMessageVisibilityBatch(ctx, input); err != nil {
			return fmt.Errorf("release dead letters: %w", err)
		}
	}
	return nil
}

// Replay sends a letter to the queue that gave it up, and then deletes it. If the process dies in
// between, the message is there twice, which changes nothing.
func (d DeadLetters) Replay(ctx context.Context, letter Letter) error {
	return d.replay(ctx, letter, nil)
}

// replaysAttribute is the message attribute that counts replays. SQS keeps it when the message is
// dead-lettered again.
const replaysAttribute = "Replays"

// ReplayCounted is [DeadLetters.Replay], after which [Letter.Replays] is one more.
func (d DeadLetters) ReplayCounted(ctx context.Context, letter Letter) error {
	return d.replay(ctx, letter, map[string]types.MessageAttributeValue{
		replaysAttribute: {DataType: aws.String("Number"), StringValue: aws.String(strconv.Itoa(letter.Replays + 1))},
	})
}

func (d DeadLetters) replay(ctx context.Context, letter Letter, attributes map[string]types.MessageAttributeValue) error {
	input := &sqs.SendMessageInput{QueueUrl: &d.Source, MessageBody: &letter.body, MessageAttributes: attributes}
	if _, err := d.Client.SendMessage(ctx, input, withoutLineage); err != nil {
		return fmt.Errorf("replay dead letter %s: %w", letter.ID, err)
	}
	return d.Drop(ctx, letter)
}

// Drop deletes a letter.
func (d DeadLetters) Drop(ctx context.Context, letter Letter) error {
	if _, err := d.Client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &d.URL, ReceiptHandle: &letter.receipt}); err != nil {
		return fmt.Errorf("delete dead letter %s: %w", letter.ID, err)
	}
	return nil
}
