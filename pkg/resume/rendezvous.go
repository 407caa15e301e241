package resume

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
)

// Rendezvous keeps the waiters and the latest end of each job, by the job's key, so that an event
// and its waiters meet in either order. Each method is one atomic step, and idempotent. After an
// error the step may or may not have been applied.
type Rendezvous interface {
	// Bind adds the waiter, or replaces the waiter with its handle, and returns the stored record.
	// The record is kept until expires at least.
	Bind(ctx context.Context, key jobs.Key, waiter Waiter, expires time.Time) (JobRecord, error)

	// Note stores the end, unless a later end is stored, and returns the stored record. Expires
	// counts only if the job had no record: otherwise the waiters decide.
	Note(ctx context.Context, key jobs.Key, end jobs.Sighting, expires time.Time) (JobRecord, error)

	// JobRecord returns the stored record of the job, or the zero value if there is none.
	JobRecord(ctx context.Context, key jobs.Key) (JobRecord, error)

	// Release removes the waiters with these handles. Releasing the waiters of an unknown job
	// stores nothing.
	Release(ctx context.Context, key jobs.Key, handles []string) error
}

// Waiter is a token that waits for a job.
type Waiter struct {
	Handle string
	Run    jobs.Run
	// JobID describes the job, for polls that are sent again.
	JobID string
	// Claims: the service refused the waiter's start, and it is not decided yet whether the run is
	// its own. The end of the run does not close the token.
	Claims bool `json:",omitempty"`
	// StopJob says that the job is stopped once the engine closed the token because the execution
	// stopped.
	StopJob bool `json:",omitempty"`
}

// JobRecord is the record of a job in a [Rendezvous].
type JobRecord struct {
	// Waiters are in the order of their handles.
	Waiters []Waiter
	// End is the latest end, nil for none. It may be the end of an earlier run.
	End *jobs.Sighting
}

// Bound returns the record after [Rendezvous.Bind].
func (m JobRecord) Bound(waiter Waiter) JobRecord {
	waiters := append(m.Released([]string{waiter.Handle}).Waiters, waiter)
	slices.SortFunc(waiters, func(a, b Waiter) int { return strings.Compare(a.Handle, b.Handle) })
	return JobRecord{waiters, m.End}
}

// Noted returns the record after [Rendezvous.Note].
func (m JobRecord) Noted(end jobs.Sighting) JobRecord {
	if m.End == nil || !m.End.At.After(end.At) {
		m.End = &end
	}
	return m
}

// Released returns the record after [Rendezvous.Release].
func (m JobRecord) Released(handles []string) JobRecord {
	var left []Waiter
	for _, waiter := range m.Waiters {
		if !slices.Contains(handles, waiter.Handle) {
			left = append(left, waiter)
		}
	}
	return JobRecord{left, m.End}
}
