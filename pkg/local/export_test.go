package local

import (
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/value"
)

// EventOf is the event that a script has, of the job that StartJob answered with.
func EventOf(event string, started value.Value) string {
	return string((&scriptEvent{text: []byte(event)}).of(started, time.Time{}))
}

// MeetingExpires is until when the store keeps what it knows of a job.
func (m *MemoryStore) MeetingExpires(key jobs.Key) time.Time {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.meetings[key].Expires
}
