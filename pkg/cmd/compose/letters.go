package compose

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/cli/target"
)

// DeadLetters implements [target.AWS].
func (a account) DeadLetters(ctx context.Context, stack string) (target.DeadLetters, error) {
	found := &deadLetters{queues: map[string]sqs.DeadLetters{}, received: map[string]sqs.Letter{}}
	urls := map[string]string{}
	pages := cloudformation.NewListStackResourcesPaginator(cloudformation.NewFromConfig(a.Config), &cloudformation.ListStackResourcesInput{StackName: &stack})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, r := range page.StackResourceSummaries {
			if aws.ToString(r.ResourceType) == "AWS::SQS::Queue" {
				urls[aws.ToString(r.LogicalResourceId)] = aws.ToString(r.PhysicalResourceId)
			}
		}
	}
	client := sqs.NewClient(a.Config)
	for name, url := range urls {
		if kind, ok := strings.CutSuffix(name, "DeadLetters"); ok && urls[kind+"Queue"] != "" {
			found.queues[name] = sqs.DeadLetters{Client: client, URL: url, Source: urls[kind+"Queue"]}
		}
	}
	return found, nil
}

// deadLetters are the queues of a stack by their logical names. It remembers what was received, which alone can be deleted.
type deadLetters struct {
	queues   map[string]sqs.DeadLetters
	received map[string]sqs.Letter
}

// Queues implements [target.DeadLetters].
func (d *deadLetters) Queues() []string { return slices.Sorted(maps.Keys(d.queues)) }

// Receive implements [target.DeadLetters].
func (d *deadLetters) Receive(ctx context.Context, queue string) (letters []target.Letter, err error) {
	received, err := d.queues[queue].Receive(ctx)
	for _, r := range received {
		d.received[r.ID] = r
		letters = append(letters, target.Letter{
			ID: r.ID, Queue: queue, Kind: r.Kind, About: r.About, SentTime: r.Sent.UTC(), Receives: r.Receives, Problem: r.Problem,
		})
	}
	return letters, err
}

// Release implements [target.DeadLetters].
func (d *deadLetters) Release(ctx context.Context, letters []target.Letter) error {
	of := map[string][]sqs.Letter{}
	for _, letter := range letters {
		of[letter.Queue] = append(of[letter.Queue], d.received[letter.ID])
	}
	for queue, letters := range of {
		if err := d.queues[queue].Release(ctx, letters); err != nil {
			return err
		}
	}
	return nil
}

// Replay implements [target.DeadLetters].
func (d *deadLetters) Replay(ctx context.Context, letter target.Letter) error {
	return d.queues[letter.Queue].Replay(ctx, d.received[letter.ID])
}

// Drop implements [target.DeadLetters].
func (d *deadLetters) Drop(ctx context.Context, letter target.Letter) error {
	return d.queues[letter.Queue].Drop(ctx, d.received[letter.ID])
}
