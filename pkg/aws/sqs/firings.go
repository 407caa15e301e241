package sqs

import (
	"context"
	"log/slog"
	"time"

	"github.com/waitless/waitless/pkg/schedule"
)

// firing says that a schedule is due. Time is the minute: a text to encode, an instant when it was
// read.
type firing[T any] struct {
	Flow     string `json:"flow"`
	Schedule string `json:"schedule"`
	Time     T      `json:"time"`
	Second   int    `json:"second,omitempty"`
	Nonce    string `json:"nonce,omitempty"` // release 0.1.0 does not read it
}

// EncodeFiring returns the message of a schedule that is due in the given second of a minute.
// minute is the text of the instant, or a placeholder that the sender replaces by it. The message
// has no MAC but the nonce of the schedule: it outlives token keys.
func EncodeFiring(s schedule.Schedule, minute string, second int) (string, error) {
	return encode(kindFiring, firing[string]{s.Flow, s.Name, minute, second, s.Nonce})
}

// Fire starts the execution of a schedule that is due, as [schedule.Starter] does. It returns when
// the message is to be redelivered, or the zero time.
type Fire func(ctx context.Context, due schedule.Firing) (retryAt time.Time, err error)

// decodeFirings decodes firings and executes them with fire. It discards a firing that would fail
// again.
func decodeFirings(fire Fire) func(m Message, p firing[time.Time]) (Work, error) {
	return func(_ Message, p firing[time.Time]) (Work, error) {
		due := schedule.Firing{Flow: p.Flow, Name: p.Schedule, Nonce: p.Nonce, At: p.Time.Add(time.Duration(p.Second) * time.Second)}
		return Work{
			Do: func(ctx context.Context) (time.Time, error) {
				retryAt, err := fire(ctx, due)
				if err != nil && schedule.IsFinal(err) {
					err = discard(err)
				}
				return retryAt, err
			},
			Attrs: []slog.Attr{slog.String("flow", p.Flow), slog.String("schedule", p.Schedule), slog.Time("due", due.At)},
		}, nil
	}
}
