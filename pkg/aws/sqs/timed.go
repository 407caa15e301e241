package sqs

import (
	"context"
	"log/slog"
	"time"
)

// Schedule puts messages into a queue at a later instant.
type Schedule interface {
	// At puts the body into the queue no earlier than at, and within a minute of it. If the name
	// exists, At does nothing and returns nil.
	At(ctx context.Context, name string, at time.Time, body string) error
}

// scheduleLead is how long before its instant a scheduled message enters the queue: a schedule is
// late by up to a minute, and the delay of a message by a second.
const scheduleLead = time.Minute

// timed sends messages that are due later.
type timed struct {
	queue    Queue
	now      func() time.Time
	log      *slog.Logger
	schedule Schedule      // carries messages that are due later than limit; nil for none
	limit    time.Duration // the longest delay of a message
}

// send sends a message. Without a schedule, or if it rejects the message, the queue delivers the
// message after the longest delay, and its receiver sends it again. It is then neither lost nor
// late, and costs a message each time.
func (t timed) send(ctx context.Context, m timedMessage) error {
	delay := m.due.Sub(t.now())
	if delay > t.limit && t.schedule != nil {
		// The schedule runs before the message is due; the delay of the message is the rest.
		err := t.schedule.At(ctx, m.name, m.due.Add(-min(scheduleLead, t.limit/2)), m.body)
		if err == nil {
			return nil
		}
		t.log.WarnContext(ctx, "no schedule", m.what, "due", m.due, "error", err.Error())
	}
	return t.queue.sendText(ctx, m.body, min(delay, t.limit))
}

// timedMessage is a message that is due later.
type timedMessage struct {
	// name is the name of its schedule, and the same for the same message. It includes the instant,
	// because a schedule may keep its name for some time after it ran, and must not replace a later
	// schedule.
	name string
	due  time.Time
	body string
	what slog.Attr // for the log
}
