package resume

import (
	"context"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
)

// Poll is a reconcile poll: the job of one waiter is to be described, in case its
// event never comes. The same message ends a wait at its deadline.
type Poll struct {
	Key    jobs.Key
	JobID  string
	Waiter Waiter
	// Number is 1 for the first poll of the wait, and so on.
	Number int
	// Due is when it is of use.
	Due time.Time
	// Deadline is when the token is closed if it is still open then; zero where
	// an engine of ours sees to that.
	Deadline time.Time
}

// Polls carries polls to whoever calls Jobs.Reconcile.
type Polls interface {
	// Send delivers the poll at least once, never before its Due. When Send
	// returns nil it will not be lost.
	Send(ctx context.Context, poll Poll) error
}

// Reconcile carries out a poll. After an error the same poll is to come again.
func (j *Jobs) Reconcile(ctx context.Context, poll Poll) error { return nil }
