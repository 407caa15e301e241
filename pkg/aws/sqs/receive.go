package sqs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/waitless/waitless/pkg/telemetry"
)

// Hider is the part of a [Client] that hides messages.
type Hider interface {
	ChangeMessageVisibility(
		ctx context.Context, input *sqs.ChangeMessageVisibilityInput, options ...func(*sqs.Options),
	) (*sqs.ChangeMessageVisibilityOutput, error)
}

const (
	// concurrency is how many messages of a batch are handled at once.
	concurrency = 10
	// longestHide is the longest time for which a message is hidden: SQS counts twelve hours from
	// when it was received, and handling it took some time.
	longestHide = 12*time.Hour - 20*time.Minute
	// hideTime is the part of a worker's time that is kept for hiding messages.
	hideTime = time.Second
	// The pause after an error doubles with each receive.
	firstPause, longestPause = 2 * time.Second, 5 * time.Minute
	// unknownReceives is the receive at which a message of an unknown kind is discarded. The pauses
	// before it take 20 to 40 minutes: an update of the stack is over by then.
	unknownReceives = 15
)

// Message is a received message.
type Message struct {
	ID       string
	Body     string
	Receives int // how often it was received, this time included

	url, receipt string

	kind    string // of the decoded message, as payload and mac
	payload []byte
	mac     string
}

// Work is the work that a message requests.
type Work struct {
	// Do executes it. It returns when the message is to be redelivered, or the zero time to delete
	// the message. After an error the message is redelivered after a pause, unless the error is
	// [ErrDiscard].
	Do func(ctx context.Context) (retryAt time.Time, err error)
	// Pause is the pause after an error; 0 means a pause that grows with each receive, up to five
	// minutes.
	Pause time.Duration
	// Group is the name of a group. The messages of a group are handled one after the other,
	// messages without a group concurrently.
	Group string
	// Failures is the metric that counts errors of Do; nil for none.
	Failures *telemetry.Metric
	// Attrs are attributes of the log line.
	Attrs []slog.Attr
	// After returns more attributes of the log line. It is called when the work is done; nil for
	// none.
	After func() []slog.Attr
}

// ErrDiscard is in the error of [Work.Do] for a message that must not be redelivered.
var ErrDiscard = errors.New("discarded")

// discard marks the error with [ErrDiscard].
func discard(err error) error { return fmt.Errorf("%w: %w", ErrDiscard, err) }

// ErrSource says that an event is not from a queue of the function: another principal invoked it.
var ErrSource = errors.New("the event is not from a queue of this function")

// Receiver handles the messages that a Lambda function receives from its queues. Lambda deletes
// every message of the batch that the response does not name. A message that is to be redelivered
// is therefore named there, and hidden until its time. MinTime, Random and Hold are optional.
type Receiver struct {
	Client Hider
	// URLs are the queues of the function.
	URLs []string
	// AnySource accepts events of other queues too, as `sam local invoke` sends them.
	AnySource bool
	Decode    Decode
	Now       func() time.Time
	// Log gets one line a message, with the text LogMessage.
	Log        *slog.Logger
	LogMessage string
	// MinTime is the least time that a message needs. If the worker has less left, the message is
	// redelivered to another one.
	MinTime time.Duration
	// Random returns a random duration in [0, n).
	Random func(n time.Duration) time.Duration
	// Hold is how long a message stays hidden after its worker died; 0 leaves that to the queue's
	// visibility timeout, which Lambda rejects below the function's time limit.
	Hold time.Duration
	// Metrics counts what became of the messages, and is written after each batch; nil for none.
	Metrics *telemetry.Batch
}

// received is a message with its work, or the error of decoding it.
type received struct {
	Message
	Work
	err error
}

// Handle handles one batch, and returns the messages to redeliver: a message is deleted by not
// being named in the response. It returns [ErrSource] for an event of another queue.
func (r *Receiver) Handle(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
	url, err := r.source(event)
	if err != nil {
		return events.SQSEventResponse{}, err
	}
	var (
		mu        sync.Mutex
		redeliver = []events.SQSBatchItemFailure{} // null is not a list
		running   sync.WaitGroup
		free      = make(chan struct{}, concurrency)
	)
	for _, group := range r.groups(url, event) {
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			for _, d := range group {
				if r.handle(ctx, d) {
					continue
				}
				mu.Lock()
				redeliver = append(redeliver, events.SQSBatchItemFailure{ItemIdentifier: d.ID})
				mu.Unlock()
			}
		})
	}
	running.Wait()
	r.Metrics.Flush()
	return events.SQSEventResponse{BatchItemFailures: redeliver}, nil
}

// source returns the URL of the queue that all messages of the event are from.
func (r *Receiver) source(event events.SQSEvent) (url string, err error) {
	for _, url := range r.URLs {
		name := url[strings.LastIndexByte(url, '/')+1:]
		other := func(m events.SQSMessage) bool { return !strings.HasSuffix(m.EventSourceARN, ":"+name) }
		if !slices.ContainsFunc(event.Records, other) {
			return url, nil
		}
	}
	if r.AnySource {
		return r.URLs[0], nil
	}
	return "", ErrSource
}

// groups decodes the messages and groups them by [Work.Group]. The messages of a group are handled
// one after the other.
func (r *Receiver) groups(url string, event events.SQSEvent) (groups [][]received) {
	index := map[string]int{}
	for _, record := range event.Records {
		receives, _ := strconv.Atoi(record.Attributes["ApproximateReceiveCount"]) // 0 if it is missing
		d := received{Message: Message{ID: record.MessageId, Body: record.Body, Receives: receives, url: url, receipt: record.ReceiptHandle}}
		d.Work, d.err = r.Decode(d.Message)
		i, ok := index[d.Group]
		if d.Group == "" || !ok {
			i = len(groups)
			groups = append(groups, nil)
			index[d.Group] = i
		}
		groups[i] = append(groups[i], d)
	}
	return groups
}

// outcome is what became of a message: the word of its log line, and whether it is deleted.
type outcome struct {
	word     string
	level    slog.Level
	finished bool
}

var (
	done      = outcome{"done", slog.LevelInfo, true}
	discarded = outcome{"discarded", slog.LevelWarn, true}
	retried   = outcome{"retry", slog.LevelInfo, false}
	failed    = outcome{"failed", slog.LevelError, false}
	noTime    = outcome{"no time", slog.LevelWarn, false}
)

// handle does the work of one message, and reports whether to delete the message. It hides a
// message that is to be redelivered.
func (r *Receiver) handle(ctx context.Context, d received) bool {
	begin := r.Now()
	r.Log.LogAttrs(ctx, slog.LevelDebug, r.LogMessage+" begins", append(slices.Clone(d.Attrs), slog.String("message", d.ID))...)
	outcome, pause, err := r.do(ctx, d)
	switch outcome {
	case failed:
		r.Metrics.Add(telemetry.MessagesFailed, "", 1)
		if d.Failures != nil {
			r.Metrics.Add(d.Failures, "", 1)
		}
	case discarded:
		r.Metrics.Add(telemetry.MessagesDiscarded, "", 1)
	}
	attrs := append(d.Attrs,
		slog.String("outcome", outcome.word), slog.Int("receives", d.Receives), slog.Int64("duration_ms", r.Now().Sub(begin).Milliseconds()))
	if err != nil {
		attrs = append(attrs, slog.String("error", err.Error()))
	}
	if d.After != nil && d.err == nil {
		attrs = append(attrs, d.After()...)
	}
	if !outcome.finished {
		if err := r.hide(ctx, d.Message, pause); err != nil { // the queue's visibility timeout then applies
			attrs = append(attrs, slog.String("visibility_error", err.Error()))
		}
	}
	r.Log.LogAttrs(ctx, outcome.level, r.LogMessage, attrs...)
	return outcome.finished
}

// do returns the outcome of the work, and how long to hide a message that is to be redelivered.
func (r *Receiver) do(ctx context.Context, d received) (is outcome, pause time.Duration, err error) {
	switch {
	case errors.Is(d.err, ErrNewer):
		return failed, r.pause(d.Receives), d.err
	case errors.Is(d.err, ErrUnknownKind) && d.Receives < unknownReceives:
		return retried, r.pause(d.Receives), d.err
	case d.err != nil:
		return discarded, 0, d.err
	}
	if deadline, ok := ctx.Deadline(); ok {
		if time.Until(deadline) < r.MinTime+hideTime {
			return noTime, 0, nil
		}
		limited, cancel := context.WithDeadline(ctx, deadline.Add(-hideTime))
		defer cancel()
		ctx = limited
	}
	release := r.hold(ctx, d.Message)
	retryAt, err := d.Do(ctx)
	release()
	switch {
	case errors.Is(err, ErrDiscard):
		return discarded, 0, err
	case err != nil:
		return failed, cmp.Or(d.Pause, r.pause(d.Receives)), err
	case !retryAt.IsZero():
		return retried, retryAt.Sub(r.Now()), nil
	}
	return done, 0, nil
}

// pause returns a time in the upper half of the pause, so that messages that failed together are
// redelivered apart.
func (r *Receiver) pause(receives int) time.Duration {
	pause := firstPause
	for ; receives > 1 && pause < longestPause; receives-- {
		pause *= 2
	}
	half := min(pause, longestPause) / 2
	random := r.Random
	if random == nil {
		random = rand.N[time.Duration]
	}
	return half + random(half)
}

const (
	// renewals is how often a held message is hidden again within Hold: one renewal that fails does
	// not release the message.
	renewals = 3
	// renewalLimit bounds one request to hide a held message.
	renewalLimit = 5 * time.Second
)

// hold hides the message for Hold from now on, and renews that until release is called. release
// waits for a pending request, so that it does not arrive after the request that ends the hold.
func (r *Receiver) hold(ctx context.Context, m Message) (release func()) {
	if r.Hold == 0 {
		return func() {}
	}
	released := make(chan struct{})
	var renewing sync.WaitGroup
	renewing.Go(func() {
		again := time.NewTicker(r.Hold / renewals)
		defer again.Stop()
		for {
			limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewalLimit)
			if err := r.hide(limited, m, r.Hold); err != nil {
				r.Log.LogAttrs(ctx, slog.LevelWarn, r.LogMessage+" not held", slog.String("message", m.ID), slog.String("error", err.Error()))
			}
			cancel()
			select {
			case <-released:
				return
			case <-again.C:
			}
		}
	})
	return func() {
		close(released)
		renewing.Wait()
	}
}

// hide keeps SQS from delivering the message for the duration d.
func (r *Receiver) hide(ctx context.Context, m Message, d time.Duration) error {
	_, err := r.Client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl: &m.url, ReceiptHandle: &m.receipt, VisibilityTimeout: seconds(min(d, longestHide)),
	})
	return err
}
