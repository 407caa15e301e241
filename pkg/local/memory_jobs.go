package local

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
)

// Meeting is what a store keeps of a job, and until when at least. Its methods change nothing that
// it points to.
type Meeting struct {
	resume.Meeting
	Expires time.Time
}

// IsEmpty reports whether nothing is known of the job.
func (m Meeting) IsEmpty() bool { return len(m.Waiters) == 0 && m.End == nil }

// Bound returns the meeting with another waiter.
func (m Meeting) Bound(waiter resume.Waiter, expires time.Time) Meeting {
	if expires.After(m.Expires) {
		m.Expires = expires
	}
	return Meeting{m.Meeting.Bound(waiter), m.Expires}
}

// Noted returns the meeting with an end of the job.
func (m Meeting) Noted(end jobs.Sighting, expires time.Time) Meeting {
	if m.Expires.IsZero() {
		m.Expires = expires
	}
	return Meeting{m.Meeting.Noted(end), m.Expires}
}

// Released returns the meeting without the waiters with these handles.
func (m Meeting) Released(handles []string) Meeting {
	return Meeting{m.Meeting.Released(handles), m.Expires}
}

// Bind implements [resume.Rendezvous].
func (m *MemoryStore) Bind(ctx context.Context, key jobs.Key, waiter resume.Waiter, expires time.Time) (resume.Meeting, error) {
	return m.meet(ctx, key, func(known Meeting) Meeting { return known.Bound(waiter, expires) })
}

// Note implements [resume.Rendezvous].
func (m *MemoryStore) Note(ctx context.Context, key jobs.Key, end jobs.Sighting, expires time.Time) (resume.Meeting, error) {
	end.Output = bytes.Clone(end.Output)
	return m.meet(ctx, key, func(known Meeting) Meeting { return known.Noted(end, expires) })
}

// Release implements [resume.Rendezvous].
func (m *MemoryStore) Release(ctx context.Context, key jobs.Key, handles []string) error {
	_, err := m.meet(ctx, key, func(known Meeting) Meeting { return known.Released(handles) })
	return err
}

// meet changes what is known of a job in one step and returns a copy.
func (m *MemoryStore) meet(ctx context.Context, key jobs.Key, change func(Meeting) Meeting) (resume.Meeting, error) {
	if err := ctx.Err(); err != nil {
		return resume.Meeting{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	changed := change(m.meetings[key])
	if changed.Expires.IsZero() { // the job was and is unknown
		return resume.Meeting{}, nil
	}
	if m.meetings == nil {
		m.meetings = make(map[jobs.Key]Meeting)
	}
	m.meetings[key] = changed
	met := resume.Meeting{Waiters: slices.Clone(changed.Waiters)}
	if changed.End != nil {
		end := *changed.End
		end.Output = bytes.Clone(end.Output)
		met.End = &end
	}
	return met, nil
}
