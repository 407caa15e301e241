package local

import (
	"sync"
	"time"
)

// Clock tells the time of a [System]. The zero Clock is the real one.
type Clock struct {
	virtual bool
	real    func() time.Time // nil means time.Now
	mu      sync.Mutex
	now     time.Time
}

// NewClock returns a clock that shows what now returns; nil means the real time.
func NewClock(now func() time.Time) *Clock { return &Clock{real: now} }

// NewVirtualClock is a clock that shows start and moves only when nothing but
// a wait keeps the executions from going on.
func NewVirtualClock(start time.Time) *Clock {
	return &Clock{virtual: true, now: start.UTC().Round(0)}
}

// IsVirtual reports whether time moves by jumps.
func (c *Clock) IsVirtual() bool { return c.virtual }

// Now is the present instant, in UTC without a monotonic reading.
func (c *Clock) Now() time.Time {
	if !c.virtual {
		now := time.Now
		if c.real != nil {
			now = c.real
		}
		return now().UTC().Round(0)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// jump moves a virtual clock ahead to t; it never goes back. A real clock does
// not jump.
func (c *Clock) jump(t time.Time) {
	if !c.virtual {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.After(c.now) {
		c.now = t
	}
}

// pause is how long to wait before the clock is looked at again for an instant
// so far ahead: 0, for as long as it takes, when the clock moves by jumps.
func (c *Clock) pause(ahead time.Duration) time.Duration {
	if c.virtual {
		return 0
	}
	return min(ahead, longestPause)
}
