package resume

import (
	"context"
	"errors"

	"github.com/waitless/waitless/pkg/jobs"
)

// UnmatchedEvents lists the job events in a [Rendezvous] that match no wait.
type UnmatchedEvents interface {
	// Unmatched returns a page of the jobs that have an end and no waiter, the latest end first: at
	// most limit. After is the text next of the previous page, empty for the first one; for any
	// other text the error is [ErrPage]. Next is empty on the last page; pages before it may be
	// short. An event may be missing for a moment after its Note. It may also be missing if its
	// waiters were released: it matched a wait.
	Unmatched(ctx context.Context, after string, limit int) (events []UnmatchedEvent, next string, err error)
}

// UnmatchedEvent is the latest end of a job that has no waiter.
type UnmatchedEvent struct {
	Key jobs.Key
	End jobs.Sighting
}

// ErrPage says that a text does not name a page.
var ErrPage = errors.New("resume: the text does not name a page; use next of the previous page")

// IsUnmatched reports whether the job has an end and no waiter.
func (m JobRecord) IsUnmatched() bool { return m.End != nil && len(m.Waiters) == 0 }

// Replay handles the stored end of a job again, as [JobObserver.Observe] does after it stored the
// end: it closes the tokens that are bound to the job and sends their wakes. It has no effect if no
// end is stored, or no token is bound. After an error, call it again.
func (o *JobObserver) Replay(ctx context.Context, key jobs.Key) error {
	record, err := o.config.Rendezvous.JobRecord(ctx, key)
	if err != nil || record.End == nil {
		return err
	}
	return o.closeWaiters(ctx, key, *record.End, record.Waiters)
}
