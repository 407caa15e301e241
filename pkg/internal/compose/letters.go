package compose

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/waitless/waitless/pkg/aws/call"
	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/internal/cli/target"
)

// DeadLetters implements [target.AWS].
func (a account) DeadLetters(ctx context.Context, stack string) (target.DeadLetters, error) {
	found := &deadLetters{queues: map[string]sqs.DeadLetters{}, received: map[string]sqs.Letter{}}
	urls := map[string]string{}
	resources, err := stackResources(ctx, call.New(a.Config), stack)
	if err != nil {
		return nil, err
	}
	for _, r := range resources {
		if r.Type == target.TypeQueue {
			urls[r.Name] = r.ID
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

// deadLetters are the queues of a stack by their logical names. It remembers the received messages,
// because only received messages can be deleted.
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
			ID: r.ID, Queue: queue, Kind: r.Kind, About: r.About, SentTime: r.Sent.UTC(), Receives: r.Receives, Problem: r.Problem, Body: r.Excerpt,
		})
	}
	return letters, ofQueue(err)
}

// ofQueue returns [target.ErrNoQueue] for the error that says so, and other errors as they are.
func ofQueue(err error) error {
	if _, gone := errors.AsType[*types.QueueDoesNotExist](err); gone {
		return target.ErrNoQueue
	}
	return err
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
	return ofQueue(d.queues[letter.Queue].Replay(ctx, d.received[letter.ID]))
}

// Drop implements [target.DeadLetters].
func (d *deadLetters) Drop(ctx context.Context, letter target.Letter) error {
	return d.queues[letter.Queue].Drop(ctx, d.received[letter.ID])
}
