package local

import (
	"context"
	"sync"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// ends tells requests of the ends of executions.
type ends struct {
	mu      sync.Mutex
	waiting map[engine.ID]*awaitedEnd
}

// awaitedEnd is an execution for whose end requests wait.
type awaitedEnd struct {
	ended    chan struct{} // is closed at the end
	requests int
}

// watch returns a channel that is closed at the end of the execution. The caller then calls forget.
func (e *ends) watch(id engine.ID) (ended <-chan struct{}, forget func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	awaited := e.waiting[id]
	if awaited == nil {
		awaited = &awaitedEnd{ended: make(chan struct{})}
		e.waiting[id] = awaited
	}
	awaited.requests++
	return awaited.ended, func() { e.forget(id, awaited) }
}

func (e *ends) forget(id engine.ID, awaited *awaitedEnd) {
	e.mu.Lock()
	defer e.mu.Unlock()
	awaited.requests--
	if awaited.requests == 0 && e.waiting[id] == awaited {
		delete(e.waiting, id)
	}
}

// tell tells the requests that wait for the end of the execution.
func (e *ends) tell(id engine.ID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if awaited := e.waiting[id]; awaited != nil {
		close(awaited.ended)
		delete(e.waiting, id)
	}
}

// Await returns the state of an execution once it has ended, or when ctx ends.
func (s *System) Await(ctx context.Context, id engine.ID) (machine.State, error) {
	ended, forget := s.ends.watch(id)
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
