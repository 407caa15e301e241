package local

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// keptMeeting is what is known of a job, and until when. Nobody changes what it
// points to.
type keptMeeting struct {
	resume.Meeting
	expires time.Time
}

// Bind implements [resume.Rendezvous].
func (m *MemoryStore) Bind(ctx context.Context, key jobs.Key, waiter resume.Waiter, expires time.Time) (resume.Meeting, error) {
	return m.meet(ctx, key, func(known keptMeeting) keptMeeting {
		if expires.After(known.expires) {
			known.expires = expires
		}
		return keptMeeting{known.Bound(waiter), known.expires}
	})
}

// Note implements [resume.Rendezvous].
func (m *MemoryStore) Note(ctx context.Context, key jobs.Key, end jobs.Sighting, expires time.Time) (resume.Meeting, error) {
	end.Output = bytes.Clone(end.Output)
	return m.meet(ctx, key, func(known keptMeeting) keptMeeting {
		if known.expires.IsZero() {
			known.expires = expires
		}
		return keptMeeting{known.Noted(end), known.expires}
	})
}

// Release implements [resume.Rendezvous].
func (m *MemoryStore) Release(ctx context.Context, key jobs.Key, handles []string) error {
	_, err := m.meet(ctx, key, func(known keptMeeting) keptMeeting {
		return keptMeeting{known.Released(handles), known.expires}
	})
	return err
}

// meet changes what is known of a job in one step and answers it.
func (m *MemoryStore) meet(ctx context.Context, key jobs.Key, change func(keptMeeting) keptMeeting) (resume.Meeting, error) {
	if err := ctx.Err(); err != nil {
		return resume.Meeting{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	changed := change(m.meetings[key])
	if changed.expires.IsZero() { // nobody knew the job, nor does now
		return resume.Meeting{}, nil
	}
	if m.meetings == nil {
		m.meetings = make(map[jobs.Key]keptMeeting)
	}
	m.meetings[key] = changed
	return changed.copy(), nil
}

// copy shares no memory with what is kept.
func (k keptMeeting) copy() resume.Meeting {
	met := resume.Meeting{Waiters: slices.Clone(k.Waiters)}
	if k.End != nil {
		end := *k.End
		end.Output = bytes.Clone(end.Output)
		met.End = &end
	}
	return met
}

// Open implements [resume.ForeignWaits].
func (m *MemoryStore) Open(ctx context.Context, handle string, wait resume.ForeignWait) (resume.ForeignWait, error) {
	if err := ctx.Err(); err != nil {
		return resume.ForeignWait{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.foreign[handle]; !ok {
		if m.foreign == nil {
			m.foreign = make(map[string]resume.ForeignWait)
		}
		m.foreign[handle] = copyOfWait(wait)
	}
	return copyOfWait(m.foreign[handle]), nil
}

// ForeignWait implements [resume.ForeignWaits].
func (m *MemoryStore) ForeignWait(ctx context.Context, handle string) (resume.ForeignWait, token.Record, error) {
	if err := ctx.Err(); err != nil {
		return resume.ForeignWait{}, token.Record{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	wait, ok := m.foreign[handle]
	if !ok {
		return resume.ForeignWait{}, token.Record{}, resume.ErrNoWait
	}
	record, err := m.recordOf(handle)
	return copyOfWait(wait), record, err
}

// Deliver implements [resume.ForeignWaits].
func (m *MemoryStore) Deliver(ctx context.Context, handle string, delivery resume.Delivery) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	wait, ok := m.foreign[handle]
	if !ok {
		return resume.ErrNoWait
	}
	wait.Delivery = cmp.Or(wait.Delivery, delivery)
	m.foreign[handle] = wait
	return nil
}

// List implements [resume.ForeignWaits].
func (m *MemoryStore) List(ctx context.Context, after string, limit int) ([]resume.ForeignWait, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	last, begun := m.foreign[after]
	if after != "" && !begun {
		return nil, resume.ErrNoWait
	}
	var list []resume.ForeignWait
	for _, wait := range slices.SortedFunc(maps.Values(m.foreign), byAge) {
		if wait.Delivery == "" && (!begun || byAge(last, wait) < 0) && len(list) < limit {
			list = append(list, copyOfWait(wait))
		}
	}
	return list, nil
}

func byAge(a, b resume.ForeignWait) int {
	return cmp.Or(a.Opened.Compare(b.Opened), cmp.Compare(a.Handle, b.Handle))
}

func copyOfWait(wait resume.ForeignWait) resume.ForeignWait {
	wait.Sealed = bytes.Clone(wait.Sealed)
	return wait
}
