package services

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
)

// Together describes jobs with fewer calls, because services limit the calls a second. Descriptions
// of one kind, and for ECS of one cluster, that are requested within Pause share a call, up to the
// number of jobs that the service describes in one call.
type Together struct {
	resume.Services

	// Pause is how long a description waits for others.
	Pause time.Duration

	mu    sync.Mutex
	calls map[string]*sharedCall // that others may join, by the name of the kind and the shared params
}

// sharedCall is a call for several descriptions.
type sharedCall struct {
	params   [][]byte
	full     chan struct{} // is closed when no more fit
	done     chan struct{} // is closed when response and err are known
	response []byte
	err      error
	alone    bool // the params cannot be joined
}

// Describe implements [resume.Services].
func (t *Together) Describe(ctx context.Context, kind jobs.Kind, params []byte) ([]byte, error) {
	if kind.DescribedTogether() == 1 {
		return t.Services.Describe(ctx, kind, params)
	}
	common, ok := kind.SharedDescription(params)
	if !ok {
		return t.Services.Describe(ctx, kind, params)
	}
	key := kind.Name + common
	shared, first := t.join(key, kind, params)
	if first {
		t.carryOut(ctx, key, kind, shared)
	}
	select {
	case <-shared.done:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	refused, isRefused := errors.AsType[*resume.ServiceError](shared.err)
	switch {
	case len(shared.params) == 1:
		return shared.response, shared.err
	case shared.alone, isRefused && !refused.Again: // rejected perhaps for one of the others; a throttled call is not repeated for each
		return t.Services.Describe(ctx, kind, params)
	case shared.err != nil:
		return nil, shared.err
	}
	return kind.SplitDescription(shared.response, params)
}

// join adds a description to the shared call, and reports whether the caller has to carry it out.
func (t *Together) join(key string, kind jobs.Kind, params []byte) (shared *sharedCall, first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	shared = t.calls[key]
	if first = shared == nil; first {
		shared = &sharedCall{full: make(chan struct{}), done: make(chan struct{})}
		if t.calls == nil {
			t.calls = map[string]*sharedCall{}
		}
		t.calls[key] = shared
	}
	shared.params = append(shared.params, params)
	if len(shared.params) == kind.DescribedTogether() {
		delete(t.calls, key)
		close(shared.full)
	}
	return shared, first
}

// carryOut waits for others, and makes the call.
func (t *Together) carryOut(ctx context.Context, key string, kind jobs.Kind, shared *sharedCall) {
	defer close(shared.done)
	pause := time.NewTimer(t.Pause)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-shared.full:
	case <-ctx.Done(): // the call fails
	}
	t.mu.Lock()
	if t.calls[key] == shared {
		delete(t.calls, key)
	}
	t.mu.Unlock()
	params, ok := shared.params[0], true
	if len(shared.params) > 1 {
		params, ok = kind.JoinDescriptions(shared.params)
	}
	if shared.alone = !ok; ok {
		shared.response, shared.err = t.Services.Describe(ctx, kind, params)
	}
}
