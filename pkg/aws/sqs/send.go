package sqs

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// LongestDelay is the longest delay of a message that SQS accepts.
const LongestDelay = 900 * time.Second

// Client is a client of SQS.
type Client = sqs.Client

// NewClient returns a client of SQS.
func NewClient(config aws.Config) *Client { return sqs.NewFromConfig(config) }

// Sender is the part of a [Client] that sends messages.
type Sender interface {
	SendMessage(ctx context.Context, input *sqs.SendMessageInput, options ...func(*sqs.Options)) (*sqs.SendMessageOutput, error)
	SendMessageBatch(ctx context.Context, input *sqs.SendMessageBatchInput, options ...func(*sqs.Options)) (*sqs.SendMessageBatchOutput, error)
}

// Queue is a queue that messages are sent to. Client and URL are required.
type Queue struct {
	Client Sender
	URL    string
	// Keys are for the MACs of notices, deliveries, heartbeats, ends and replays; nil for none.
	// Polls and tasks have MACs in their payloads, which their senders make.
	Keys resume.KeySource
}

// send sends a message that is due.
func (q Queue) send(ctx context.Context, kind string, payload any) error {
	var keys token.Keys
	if q.Keys != nil && kind != kindTask {
		var err error
		if keys, err = q.Keys.Get(ctx); err != nil {
			return err
		}
	}
	body, err := sign(keys, kind, payload)
	if err != nil {
		return err
	}
	return q.sendText(ctx, body, 0)
}

// sendText sends a message. SQS delivers it no earlier than after the delay, which is at most
// [LongestDelay] and is rounded up to seconds.
func (q Queue) sendText(ctx context.Context, body string, delay time.Duration) error {
	delaySeconds := seconds(delay)
	if limit := seconds(LongestDelay); delaySeconds > limit {
		return fmt.Errorf("delay a message by %d s: the limit is %d s", delaySeconds, limit)
	}
	_, err := q.Client.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &q.URL, MessageBody: &body, DelaySeconds: delaySeconds}, withoutLineage)
	return err
}

// batchSize is how many messages SQS accepts in one request.
const batchSize = 10

// sendTexts sends messages without a delay, ten in a request. It returns an error if one was not
// accepted; others may have been.
func (q Queue) sendTexts(ctx context.Context, bodies []string) error {
	for some := range slices.Chunk(bodies, batchSize) {
		input := &sqs.SendMessageBatchInput{QueueUrl: &q.URL}
		for i, body := range some {
			input.Entries = append(input.Entries, types.SendMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), MessageBody: &body})
		}
		sent, err := q.Client.SendMessageBatch(ctx, input, withoutLineage)
		switch {
		case err != nil:
			return err
		case len(sent.Failed) > 0:
			failed := sent.Failed[0]
			return fmt.Errorf("messages not accepted: %d of %d: %s: %s", len(sent.Failed), len(some), aws.ToString(failed.Code), aws.ToString(failed.Message))
		}
	}
	return nil
}

// seconds returns d in whole seconds, rounded up, and 0 if d is negative.
func seconds(d time.Duration) int32 {
	return int32(max(0, d+time.Second-1) / time.Second) //nolint:gosec // delays and periods of hours
}

// withoutLineage keeps the SDK from sending the lineage of the invocation. A flow that polls is a
// function that invokes itself through a queue, and Lambda stops such a lineage as a recursive loop
// after about 16 rounds.
func withoutLineage(o *sqs.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		id := (*awsmiddleware.RecursionDetection)(nil).ID()
		if _, ok := stack.Build.Get(id); !ok {
			return nil
		}
		_, err := stack.Build.Remove(id)
		return err
	})
}
