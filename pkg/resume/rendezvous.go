package resume

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
)

// Rendezvous keeps what is known of jobs, by their keys, so that an event and
// those who wait for it meet in either order. Each method is one atomic step.
// After an error it may or may not have been made; to make it again is no harm.
type Rendezvous interface {
	// Bind adds the waiter, or replaces the one with its handle, and answers
	// what is known then. What is known is kept until expires at least.
	Bind(ctx context.Context, key jobs.Key, waiter Waiter, expires time.Time) (Meeting, error)

	// Note keeps the sighting of an end, unless a later one is kept, and
	// answers what is known then. Expires counts only where nothing was known of
	// the job before: how long what is known is kept is for those who wait to say.
	Note(ctx context.Context, key jobs.Key, end jobs.Sighting, expires time.Time) (Meeting, error)

	// Release takes away the waiters with these handles. Of a job that nobody
	// knows it leaves nothing.
	Release(ctx context.Context, key jobs.Key, handles []string) error
}

// Waiter is a token that waits for a job.
type Waiter struct {
	Handle string
	Run    jobs.Run
	// JobID is what describes the job, for polls that are sent again.
	JobID string
}

// Meeting is what is known of a job.
type Meeting struct {
	// Waiters are those who wait, in the order of their handles.
	Waiters []Waiter
	// End is the latest end that was seen, nil for none. The run may be an
	// earlier one.
	End *jobs.Sighting
}

// Bound is the meeting with one waiter more, or another one under its handle. It
// is what [Rendezvous.Bind] does in one atomic step.
func (m Meeting) Bound(waiter Waiter) Meeting {
	waiters := append(m.Released([]string{waiter.Handle}).Waiters, waiter)
	slices.SortFunc(waiters, func(a, b Waiter) int { return strings.Compare(a.Handle, b.Handle) })
	return Meeting{waiters, m.End}
}

// Noted is the meeting with that end, unless a later one was seen. It is what
// [Rendezvous.Note] does in one atomic step.
func (m Meeting) Noted(end jobs.Sighting) Meeting {
	if m.End == nil || !m.End.At.After(end.At) {
		m.End = &end
	}
	return m
}

// Released is the meeting without the waiters with these handles. It is what
// [Rendezvous.Release] does in one atomic step.
func (m Meeting) Released(handles []string) Meeting {
	var left []Waiter
	for _, waiter := range m.Waiters {
		if !slices.Contains(handles, waiter.Handle) {
			left = append(left, waiter)
		}
	}
	return Meeting{left, m.End}
}
