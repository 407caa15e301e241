package local

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// changes informs requests about changes of executions. Requests that wait for the same share a
// channel.
type changes struct {
	mu      sync.Mutex
	waiting map[awaited]*watched
	running atomic.Bool // a run may change executions
}

// awaited is what requests wait for: the end of an execution, or with events the next ones it
// records.
type awaited struct {
	id     engine.ID
	events bool
}

// watched has the requests that wait for the same.
type watched struct {
	happened chan struct{} // is closed when it happens
	requests int
}

// watch returns a channel that is closed when it happens. The caller then calls forget.
func (c *changes) watch(what awaited) (happened <-chan struct{}, forget func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.waiting[what]
	if w == nil {
		w = &watched{happened: make(chan struct{})}
		c.waiting[what] = w
	}
	w.requests++
	return w.happened, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		w.requests--
		if w.requests == 0 && c.waiting[what] == w {
			delete(c.waiting, what)
		}
	}
}

// committed tells the requests that wait for events of the execution, or for its end if this is it.
func (c *changes) committed(log engine.ID, state machine.State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) == 0 {
		return
	}
	if state.Lane != nil {
		log = engine.NewID(state.Flow.Name, state.Execution)
	}
	c.tell(awaited{log, true})
	if state.Lane == nil && state.Status.Final() {
		c.tell(awaited{log, false})
	}
}

func (c *changes) tell(what awaited) {
	if w := c.waiting[what]; w != nil {
		close(w.happened)
		delete(c.waiting, what)
	}
}

// setRunning notes that a run begins. After one ended nothing happens any more, so no request waits
// on.
func (c *changes) setRunning(running bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running.Store(running)
	for what := range c.waiting {
		if !running {
			c.tell(what)
		}
	}
}

// Await returns the state of an execution once it has ended, or when ctx ends.
func (s *System) Await(ctx context.Context, id engine.ID) (machine.State, error) {
	ended, forget := s.changes.watch(awaited{id, false})
	defer forget()
	state, err := s.Client.Describe(ctx, id)
	if err != nil || state.Status.Final() {
		return state, err
	}
	select {
	case <-ended:
	case <-ctx.Done():
	}
	return s.Client.Describe(context.WithoutCancel(ctx), id)
}

// Watch returns a channel that is closed when the execution ends, or with events when it records
// more. The channel is also closed when the run ends, and nil without a run: then nothing happens.
// A caller that reads the execution after Watch misses nothing. It calls forget when it waits no
// longer.
func (s *System) Watch(id engine.ID, events bool) (happened <-chan struct{}, forget func()) {
	happened, forget = s.changes.watch(awaited{id, events})
	if !s.changes.running.Load() { // a run that ends later closes the channel
		forget()
		return nil, func() {}
	}
	return happened, forget
}
