package sqs

import (
	"context"
	"log/slog"
	"time"

	"github.com/waitless/waitless/pkg/schedule"
)

// firing says that a schedule is due. Time is the minute: a text to encode, an instant when it was read.
type firing[T any] struct {
	Flow     string `json:"flow"`
	Schedule string `json:"schedule"`
	Time     T      `json:"time"`
	Second   int    `json:"second,omitempty"`
}

// EncodeFiring returns the message of a schedule that is due in that second of a minute. The minute is the text of the
// instant, or what the sender replaces by it.
func EncodeFiring(flow, name, minute string, second int) (string, error) {
	return encode(kindFiring, firing[string]{flow, name, minute, second})
}

// Fire starts the execution of a schedule for an instant, as [schedule.Starter] does. It returns when the message is to be
// redelivered, or the zero time.
type Fire func(ctx context.Context, flow, name string, at time.Time) (retryAt time.Time, err error)

// decodeFirings decodes firings, which fire carries out. One that would fail again is discarded.
func decodeFirings(fire Fire) func(m Message, p firing[time.Time]) (Work, error) {
	return func(_ Message, p firing[time.Time]) (Work, error) {
		at := p.Time.Add(time.Duration(p.Second) * time.Second)
		return Work{
			Do: func(ctx context.Context) (time.Time, error) {
				retryAt, err := fire(ctx, p.Flow, p.Schedule, at)
				if err != nil && schedule.IsFinal(err) {
					err = discard(err)
				}
				return retryAt, err
			},
			Attrs: []slog.Attr{slog.String("flow", p.Flow), slog.String("schedule", p.Schedule), slog.Time("due", at)},
		}, nil
	}
}
