package wakes

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"time"

	"github.com/waitless/waitless/pkg/aws/queue"
	"github.com/waitless/waitless/pkg/engine"
)

// Schedule puts messages into the queue at a later instant.
type Schedule interface {
	// At puts the body into the queue no earlier than at, and within a minute
	// of it. The same name again changes nothing and is no error.
	At(ctx context.Context, name string, at time.Time, body string) error
}

// lead is how long before its instant a scheduled wake comes to the queue: a
// schedule is late by up to a minute, and the delay of a message by a second.
const lead = time.Minute

// Config is what wakes are sent with. Client, URL, Now and Log are required.
type Config struct {
	Client queue.Sender
	URL    string // of the queue
	Now    func() time.Time
	Log    *slog.Logger
	// Schedule carries wakes that are due later than Limit; nil where none is
	// sent: one that is sent all the same goes through the queue many times.
	Schedule Schedule
	// Limit is the longest wait that is a delay of the message, at most
	// [queue.LongestDelay], which 0 stands for.
	Limit time.Duration
}

// Wakes sends wakes to a queue. It implements [engine.Wakes].
type Wakes struct{ Config }

// New checks the configuration.
func New(config Config) (*Wakes, error) {
	if config.Limit == 0 {
		config.Limit = queue.LongestDelay
	}
	if config.Limit < 2*time.Second || config.Limit > queue.LongestDelay {
		return nil, fmt.Errorf("the limit of a message's delay is %s; allowed: 2s to %s", config.Limit, queue.LongestDelay)
	}
	return &Wakes{config}, nil
}

// Send implements [engine.Wakes]. A wake that no schedule takes, be it for a
// quota, a throttle or a missing right, comes from the queue after the longest
// delay, and whoever receives it sends it again: it costs a message each time
// and is neither lost nor late.
func (w *Wakes) Send(ctx context.Context, wake engine.Wake) error {
	body, err := Encode(wake)
	if err != nil {
		return err
	}
	delay := wake.Due.Sub(w.Now())
	if delay > w.Limit {
		if w.schedule(ctx, wake, body) {
			return nil
		}
		delay = w.Limit
	}
	if err := queue.Send(ctx, w.Client, w.URL, body, delay); err != nil {
		return fmt.Errorf("send a wake to execution %s: %w", wake.Execution, err)
	}
	return nil
}

// schedule reports whether the wake will come to the queue by itself. It does
// so before it is due, and the rest is the delay of a message: that is why it
// goes there earlier than the limit.
func (w *Wakes) schedule(ctx context.Context, wake engine.Wake, body string) bool {
	if w.Schedule == nil {
		return false
	}
	at := wake.Due.Add(-min(lead, w.Limit/2))
	err := w.Schedule.At(ctx, scheduleName(wake), at, body)
	if err != nil {
		w.Log.WarnContext(ctx, "no schedule", "execution", wake.Execution.String(), "due", wake.Due, "error", err.Error())
	}
	return err == nil
}

// scheduleName is the same for the same timer with the same instant. The
// instant is part of it because a schedule that has come may still be there
// under its name, and must not stand in for one of a later instant.
func scheduleName(wake engine.Wake) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", wake.Cause, wake.Due.UnixNano()))
	return wake.Execution.String() + "-" + hex.EncodeToString(sum[:16])
}
