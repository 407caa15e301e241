package resumetest

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// WithExternalWaits adds external waits in memory to a store that has none. On one machine every
// waiter is an execution, so the stores of package local have none.
func WithExternalWaits(store LocalStore) JobsStore {
	return &externalStore{LocalStore: store, waits: map[string]resume.ExternalWait{}}
}

// LocalStore is a [JobsStore] without external waits.
type LocalStore interface {
	resume.TokenStore
	resume.Rendezvous
}

type externalStore struct {
	LocalStore
	mu    sync.Mutex
	waits map[string]resume.ExternalWait // by handle
}

// Open implements [resume.ExternalWaits].
func (s *externalStore) Open(ctx context.Context, handle string, wait resume.ExternalWait) (resume.ExternalWait, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.waits[handle]; !ok {
		wait.Sealed = bytes.Clone(wait.Sealed)
		s.waits[handle] = wait
	}
	return s.waits[handle], ctx.Err()
}

// ExternalWait implements [resume.ExternalWaits].
func (s *externalStore) ExternalWait(ctx context.Context, handle string) (resume.ExternalWait, token.Record, error) {
	s.mu.Lock()
	wait, ok := s.waits[handle]
	s.mu.Unlock()
	if !ok {
		return resume.ExternalWait{}, token.Record{}, resume.ErrNoWait
	}
	record, err := s.Record(ctx, handle)
	return wait, record, err
}

// Deliver implements [resume.ExternalWaits].
func (s *externalStore) Deliver(ctx context.Context, handle string, delivery resume.Delivery) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	wait, ok := s.waits[handle]
	if !ok {
		return resume.ErrNoWait
	}
	wait.Delivery = cmp.Or(wait.Delivery, delivery)
	s.waits[handle] = wait
	return ctx.Err()
}

// List implements [resume.ExternalWaits].
func (s *externalStore) List(ctx context.Context, after string, limit int) (list []resume.ExternalWait, err error) {
	byAge := func(a, b resume.ExternalWait) int {
		return cmp.Or(a.Opened.Compare(b.Opened), cmp.Compare(a.Handle, b.Handle))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	last, begun := s.waits[after]
	if after != "" && !begun {
		return nil, resume.ErrNoWait
	}
	for _, wait := range slices.SortedFunc(maps.Values(s.waits), byAge) {
		if wait.Delivery == "" && (!begun || byAge(last, wait) < 0) && len(list) < limit {
			list = append(list, wait)
		}
	}
	return list, ctx.Err()
}
