package jobqueue

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/waitless/waitless/pkg/aws/queue"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// Receiver hands what is in the queue to the use cases, side by side. The log
// gets one line a message. All fields are required.
type Receiver struct {
	queue.Receiver
	// Observe is [resume.JobObserver.Observe], and Reconcile [resume.JobObserver.Reconcile].
	Observe   func(ctx context.Context, event []byte) error
	Reconcile func(ctx context.Context, poll resume.Poll) error
}

// Handle handles one batch. It discards what is neither event nor poll, and polls
// that are forged. A poll of a newer release comes again.
func (r *Receiver) Handle(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
	return r.HandleEach(ctx, event, r.work), nil
}

func (r *Receiver) work(m queue.Message) queue.Work {
	parsed, err := read(m.Body)
	switch {
	case err != nil:
		return queue.Unreadable(m, errors.Is(err, errNewer), err)
	case parsed.Poll != nil:
		poll := parsed.Poll.poll()
		poll.Receives = m.Receives
		return r.reconcile(m, poll)
	}
	return r.observe(m, parsed)
}

// observe: an event may end no job, or be none that can be read. It would be no
// better the next time.
func (r *Receiver) observe(m queue.Message, event message) queue.Work {
	note := ""
	do := func(ctx context.Context) (time.Time, error) {
		err := r.Observe(ctx, []byte(m.Body))
		switch {
		case errors.Is(err, jobs.ErrNoEnd):
			note, err = "no end of a job", nil
		case errors.Is(err, resume.ErrNoEvent):
			note, err = err.Error(), nil
		}
		return time.Time{}, err
	}
	return queue.Work{
		Message: m, Do: do,
		Attrs: []slog.Attr{slog.String("event", event.ID), slog.String("source", event.Source), slog.String("detail_type", event.DetailType)},
		After: func() []slog.Attr {
			if note == "" {
				return nil
			}
			return []slog.Attr{slog.String("note", note)}
		},
	}
}

func (r *Receiver) reconcile(m queue.Message, poll resume.Poll) queue.Work {
	do := func(ctx context.Context) (time.Time, error) {
		err := r.Reconcile(ctx, poll)
		if errors.Is(err, token.ErrForged) {
			err = queue.Drop(err)
		}
		return time.Time{}, err
	}
	return queue.Work{Message: m, Do: do, Attrs: []slog.Attr{
		slog.String("kind", poll.Key.Kind), slog.String("job", poll.Key.Name), slog.String("token", token.Mask(poll.Waiter.Handle)), slog.Int("poll", poll.Number),
	}}
}
