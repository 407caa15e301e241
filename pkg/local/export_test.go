package local

import (
	"time"

	"github.com/waitless/waitless/pkg/jobs"
)

// MeetingExpires is until when the store keeps what it knows of a job.
func (m *MemoryStore) MeetingExpires(key jobs.Key) time.Time {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.meetings[key].expires
}
