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

// NewVirtualClock returns a clock that shows start. It jumps to the next wake when no execution can
// advance before.
func NewVirtualClock(start time.Time) *Clock {
	return &Clock{virtual: true, now: start.UTC().Round(0)}
}

// IsVirtual reports whether time moves by jumps.
func (c *Clock) IsVirtual() bool { return c.virtual }

// Now returns the present instant, in UTC without a monotonic reading.
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

// jump moves a virtual clock forward to t. It never moves it back, and has no effect on a real
// clock.
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
