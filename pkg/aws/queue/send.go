package queue

import (
	"context"
	"fmt"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go/middleware"
)

// LongestDelay is the longest delay of a message that SQS knows.
const LongestDelay = 900 * time.Second

// Sender is the part of an SQS client that sends.
type Sender interface {
	SendMessage(ctx context.Context, input *sqs.SendMessageInput, options ...func(*sqs.Options)) (*sqs.SendMessageOutput, error)
}

// Send puts a message into the queue. It is delivered no earlier than after
// the delay, which is at most [LongestDelay] and is rounded up to seconds.
func Send(ctx context.Context, client Sender, url, body string, delay time.Duration) error {
	seconds := Seconds(delay)
	if most := Seconds(LongestDelay); seconds > most {
		return fmt.Errorf("delay a message by %d s: the limit is %d s", seconds, most)
	}
	_, err := client.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &url, MessageBody: &body, DelaySeconds: seconds}, withoutLineage)
	return err
}

// Seconds is d in whole seconds, rounded up, and 0 for what is negative.
func Seconds(d time.Duration) int32 {
	return int32(max(0, d+time.Second-1) / time.Second) //nolint:gosec // delays and periods of hours
}

// withoutLineage keeps the SDK from telling whose child the message is. A flow
// that polls is a function that calls itself by a queue, which Lambda takes for
// a runaway loop after some 16 rounds of one lineage.
func withoutLineage(o *sqs.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		id := (*awsmiddleware.RecursionDetection)(nil).ID()
		if _, ok := stack.Build.Get(id); !ok {
			return nil // the client does without already
		}
		_, err := stack.Build.Remove(id)
		return err
	})
}
