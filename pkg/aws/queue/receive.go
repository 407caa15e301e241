package queue

import (
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
)

// Hider is the part of an SQS client that puts messages back.
type Hider interface {
	ChangeMessageVisibility(
		ctx context.Context, input *sqs.ChangeMessageVisibilityInput, options ...func(*sqs.Options),
	) (*sqs.ChangeMessageVisibilityOutput, error)
}

const (
	// sideBySide is how many messages of a batch are handled at once.
	sideBySide = 10
	// longestHide is for how long at most a message is put back: SQS counts
	// twelve hours from when it was received, and its handling took some time.
	longestHide = 12*time.Hour - 20*time.Minute
	// farewell is the part of a worker's time that is kept for putting back.
	farewell = time.Second
	// The pause after an error doubles with each receive.
	firstPause, longestPause = 2 * time.Second, 5 * time.Minute
)

// Message is one that was received.
type Message struct {
	ID       string
	Body     string
	Receives int // how often it was received, this time included

	receipt string
}

// Messages are the messages of an event.
func Messages(event events.SQSEvent) []Message {
	messages := make([]Message, len(event.Records))
	for i, r := range event.Records {
		receives, _ := strconv.Atoi(r.Attributes["ApproximateReceiveCount"]) // 0 when nobody counted
		messages[i] = Message{ID: r.MessageId, Body: r.Body, Receives: receives, receipt: r.ReceiptHandle}
	}
	return messages
}

// ErrSource says that an event is not one of the queues that a function receives
// from: another principal invoked the function.
var ErrSource = errors.New("the event is not from a queue of this function")

// From returns the URL of the queue that all messages of an event are from, one
// of urls. The error is [ErrSource], beside the first URL. An event without
// messages is from the first one.
func From(event events.SQSEvent, urls ...string) (string, error) {
	for _, url := range urls {
		name := url[strings.LastIndexByte(url, '/')+1:]
		other := func(m events.SQSMessage) bool { return !strings.HasSuffix(m.EventSourceARN, ":"+name) }
		if !slices.ContainsFunc(event.Records, other) {
			return url, nil
		}
	}
	return urls[0], ErrSource
}

// Work is what a message asks for.
type Work struct {
	Message Message
	// Do does it. It answers when the message is to come again, zero when it is
	// done; after an error it comes again after a pause, unless the error is
	// [ErrDrop].
	Do func(ctx context.Context) (putBack time.Time, err error)
	// Dropped, unless nil, is why the message means nothing to anybody: it is
	// deleted, and Do is not called.
	Dropped error
	// Attrs are what the log line tells of the work, and After what it tells
	// besides once that was done; nil for nothing.
	Attrs []slog.Attr
	After func() []slog.Attr
}

// Unreadable is the work of a message that cannot be read: none, unless a newer
// release can read it, for which it then comes again.
func Unreadable(m Message, newer bool, err error) Work {
	if newer {
		return Work{Message: m, Do: func(context.Context) (time.Time, error) { return time.Time{}, err }}
	}
	return Work{Message: m, Dropped: err}
}

// ErrDrop is what [Work.Do] returns of a message that must not come again.
var ErrDrop = errors.New("discarded")

// Drop returns the error as [ErrDrop].
func Drop(err error) error { return fmt.Errorf("%w: %w", ErrDrop, err) }

// Receiver does the work of the messages of one queue, as a Lambda function
// receives them: what is not done is put back for as long as it is of no use,
// and named in the response, so that SQS keeps it. All fields but the last three
// are required.
type Receiver struct {
	Client Hider
	URL    string
	Now    func() time.Time
	// Log gets one line a message, with the text Line.
	Log  *slog.Logger
	Line string
	// Needs is how much of the worker's time a message needs at least: with
	// less left it is put back for another worker.
	Needs time.Duration
	// Random draws from [0, n); nil means at random.
	Random func(n time.Duration) time.Duration
	// Hold is how long a message stays hidden after its worker died; 0 leaves
	// that to the queue's visibility timeout, which Lambda does not accept below
	// the function's time limit.
	Hold time.Duration
}

// HandleEach does what each message of an event asks for, all side by side.
func (r *Receiver) HandleEach(ctx context.Context, event events.SQSEvent, work func(Message) Work) events.SQSEventResponse {
	var groups [][]Work
	for _, m := range Messages(event) {
		groups = append(groups, []Work{work(m)})
	}
	return r.Handle(ctx, groups)
}

// Handle does the work: groups side by side, what is in a group one after the
// other.
func (r *Receiver) Handle(ctx context.Context, groups [][]Work) events.SQSEventResponse {
	var mu sync.Mutex
	kept := []events.SQSBatchItemFailure{} // an empty list, since not everybody takes null for one
	var running sync.WaitGroup
	free := make(chan struct{}, sideBySide)
	for _, group := range groups {
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			for _, w := range group {
				if r.handle(ctx, w) {
					continue
				}
				mu.Lock()
				kept = append(kept, events.SQSBatchItemFailure{ItemIdentifier: w.Message.ID})
				mu.Unlock()
			}
		})
	}
	running.Wait()
	return events.SQSEventResponse{BatchItemFailures: kept}
}

// The outcomes that a log line names.
const (
	outcomeDone    = "done"
	outcomeDropped = "dropped"
	outcomePutBack = "put back"
	outcomeFailed  = "failed"
	outcomeNoTime  = "no time"
)

// handle reports whether the message is to be deleted.
func (r *Receiver) handle(ctx context.Context, w Work) bool {
	begin := r.Now()
	r.Log.LogAttrs(ctx, slog.LevelDebug, r.Line+" begins", append(slices.Clone(w.Attrs), slog.String("message", w.Message.ID))...)
	outcome, pause, err := r.do(ctx, w)
	attrs := append(w.Attrs,
		slog.String("outcome", outcome), slog.Int("receives", w.Message.Receives), slog.Int64("duration_ms", r.Now().Sub(begin).Milliseconds()))
	if err != nil {
		attrs = append(attrs, slog.String("error", err.Error()))
	}
	if w.After != nil {
		attrs = append(attrs, w.After()...)
	}
	finished := outcome == outcomeDone || outcome == outcomeDropped
	if !finished {
		if err := r.hide(ctx, w.Message, pause); err != nil {
			// It comes again all the same, when the queue's own time has passed.
			attrs = append(attrs, slog.String("put_back_error", err.Error()))
		}
	}
	r.Log.LogAttrs(ctx, level(outcome), r.Line, attrs...)
	return finished
}

func level(outcome string) slog.Level {
	switch outcome {
	case outcomeFailed:
		return slog.LevelError
	case outcomeDropped, outcomeNoTime:
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

// do answers what became of the work and for how long its message is put back.
func (r *Receiver) do(ctx context.Context, w Work) (outcome string, pause time.Duration, err error) {
	if w.Dropped != nil {
		return outcomeDropped, 0, w.Dropped
	}
	if deadline, ok := ctx.Deadline(); ok {
		if time.Until(deadline) < r.Needs+farewell {
			return outcomeNoTime, 0, nil
		}
		limited, cancel := context.WithDeadline(ctx, deadline.Add(-farewell))
		defer cancel()
		ctx = limited
	}
	release := r.hold(ctx, w.Message)
	putBack, err := w.Do(ctx)
	release()
	switch {
	case errors.Is(err, ErrDrop):
		return outcomeDropped, 0, err
	case err != nil:
		return outcomeFailed, r.pause(w.Message.Receives), err
	case !putBack.IsZero():
		return outcomePutBack, putBack.Sub(r.Now()), nil
	}
	return outcomeDone, 0, nil
}

// pause is random within its upper half, so that what failed together does not
// come again together.
func (r *Receiver) pause(receives int) time.Duration {
	pause := firstPause
	for ; receives > 1 && pause < longestPause; receives-- {
		pause *= 2
	}
	half := min(pause, longestPause) / 2
	draw := r.Random
	if draw == nil {
		draw = rand.N[time.Duration]
	}
	return half + draw(half)
}

const (
	// renewals is how often a held message is hidden again within Hold: one
	// renewal that fails does not release the message.
	renewals = 3
	// renewalLimit bounds one request to hide a held message.
	renewalLimit = 5 * time.Second
)

// hold hides the message for Hold from now on, again and again until release is
// called. Release waits for a request that is under way, so that the request
// does not arrive after the one that puts the message back.
func (r *Receiver) hold(ctx context.Context, m Message) (release func()) {
	if r.Hold == 0 {
		return func() {}
	}
	done := make(chan struct{})
	var renewing sync.WaitGroup
	renewing.Go(func() {
		again := time.NewTicker(r.Hold / renewals)
		defer again.Stop()
		for {
			r.renew(ctx, m)
			select {
			case <-done:
				return
			case <-again.C:
			}
		}
	})
	return func() {
		close(done)
		renewing.Wait()
	}
}

func (r *Receiver) renew(ctx context.Context, m Message) {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewalLimit)
	defer cancel()
	if err := r.hide(limited, m, r.Hold); err != nil {
		r.Log.LogAttrs(ctx, slog.LevelWarn, r.Line+" not held", slog.String("message", m.ID), slog.String("error", err.Error()))
	}
}

// hide keeps the message from everybody for that long.
func (r *Receiver) hide(ctx context.Context, m Message, d time.Duration) error {
	_, err := r.Client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl: &r.URL, ReceiptHandle: &m.receipt, VisibilityTimeout: Seconds(min(d, longestHide)),
	})
	return err
}
