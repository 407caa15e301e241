package store

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// roots has the records of roots. Only requests to stop are in the database: the open descendants
// are counted again when it is opened and when a run begins, so a count costs no commit.
type roots struct {
	mu      sync.Mutex
	records map[engine.ID]engine.RootRecord
}

// change replaces the record of a root in memory. An empty record is dropped.
func (r *roots) change(root engine.ID, apply func(engine.RootRecord) engine.RootRecord) engine.RootRecord {
	r.mu.Lock()
	defer r.mu.Unlock()
	after := apply(r.records[root])
	r.set(root, after)
	return after
}

// set is change for a caller that holds r.mu.
func (r *roots) set(root engine.ID, after engine.RootRecord) {
	switch {
	case after.Open == 0 && after.NextStart.IsZero() && after.Stop == nil:
		delete(r.records, root)
	case r.records == nil:
		r.records = map[engine.ID]engine.RootRecord{root: after}
	default:
		r.records[root] = after
	}
}

// setOpen replaces the counts of all roots.
func (r *roots) setOpen(counts map[engine.ID]int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for root, record := range r.records {
		if counts[root] == 0 {
			record.Open = 0
			r.set(root, record)
		}
	}
	for root, open := range counts {
		record := r.records[root]
		record.Open = open
		r.set(root, record)
	}
}

// descendantChanges returns the change that notes the begin or the end of a counted descendant.
func descendantChanges(item engine.Item, isFinal bool) []Entry {
	owners, ok := machine.OwnersOf(item.Execution, item.Body)
	if !ok || !owners.IsSubflow() {
		return nil
	}
	key := idKey(keyDescendant, item.Execution)
	if isFinal { // such an item does not have the root
		return []Entry{{key, nil}}
	}
	state, err := item.State()
	root, generation := state.Root()
	if err != nil || !machine.IsCounted(generation) {
		return nil
	}
	return []Entry{{key, root[:]}}
}

// learnRoots reads the requests to stop descendants, and counts the open descendants.
func (s *Keyed) learnRoots() error {
	if err := s.countDescendants(); err != nil {
		return err
	}
	var err error
	for key, stored := range s.db.Entries(startingWith([]byte{keyRoot}), &err) {
		record, err := engine.DecodeRootRecord(stored)
		if err != nil {
			return damaged("a request to stop descendants")
		}
		s.roots.change(engine.ID(key[1:]), func(r engine.RootRecord) engine.RootRecord { return r.Stopped(*record.Stop, record.Expires) })
	}
	return err
}

// CountDescendants implements [Recovery].
func (s *Keyed) CountDescendants(ctx context.Context) error {
	return s.do(ctx, operation{name: "count the descendants of executions"}, s.countDescendants)
}

func (s *Keyed) countDescendants() (err error) {
	counts := map[engine.ID]int{}
	for _, root := range s.db.Entries(startingWith([]byte{keyDescendant}), &err) {
		if len(root) != idSize {
			return damaged("the root of an execution")
		}
		counts[engine.ID(root)]++
	}
	if err == nil {
		s.roots.setOpen(counts)
	}
	return err
}

// Enter implements [engine.Descendants].
func (s *Keyed) Enter(ctx context.Context, root engine.ID, op engine.EnterOp) (after engine.RootRecord, ok bool, err error) {
	after = s.roots.change(root, func(r engine.RootRecord) engine.RootRecord {
		r, ok = op.Apply(r)
		return r
	})
	return after, ok, ctx.Err()
}

// Leave implements [engine.Descendants].
func (s *Keyed) Leave(_ context.Context, root engine.ID) error {
	s.roots.change(root, engine.RootRecord.Left)
	return nil
}

// Recount implements [engine.Descendants].
func (s *Keyed) Recount(_ context.Context, root engine.ID, read engine.RootRecord, open int) error {
	s.roots.change(root, func(r engine.RootRecord) engine.RootRecord { return r.Recounted(read, open) })
	return nil
}

// Root implements [engine.Descendants].
func (s *Keyed) Root(_ context.Context, root engine.ID) (engine.RootRecord, error) {
	s.roots.mu.Lock()
	defer s.roots.mu.Unlock()
	return s.roots.records[root], nil
}

// StopDescendants implements [engine.Descendants].
func (s *Keyed) StopDescendants(ctx context.Context, root engine.ID, request engine.StopRequest, expires time.Time) error {
	key, stop := idKey(keyRoot, root), engine.RootRecord{}.Stopped(request, expires)
	err := s.step(ctx, operation{"request a stop of the descendants", root}, key, func() ([]Entry, error) {
		if _, ok, err := s.db.Get(key); ok || err != nil {
			return nil, err
		}
		return []Entry{{key, stop.Encode()}}, nil
	})
	if err == nil {
		s.roots.change(root, func(r engine.RootRecord) engine.RootRecord { return r.Stopped(request, expires) })
	}
	return err
}

// StoppedRoots implements [Recovery]. Requests that have expired are removed.
func (s *Keyed) StoppedRoots(ctx context.Context, now time.Time) (stopped []engine.ID, err error) {
	s.roots.mu.Lock()
	defer s.roots.mu.Unlock()
	for root, record := range s.roots.records {
		switch {
		case record.Stop == nil:
		case now.Before(record.Expires):
			stopped = append(stopped, root)
		default:
			err = errors.Join(err, s.step(ctx, operation{"remove the request to stop the descendants", root}, idKey(keyRoot, root), func() ([]Entry, error) {
				return []Entry{{idKey(keyRoot, root), nil}}, nil
			}))
			delete(s.roots.records, root)
		}
	}
	return stopped, err
}

// pausedFlows has the names of paused flows.
type pausedFlows struct {
	mu    sync.RWMutex
	names map[string]bool
}

func (p *pausedFlows) set(name string, paused bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.names == nil {
		p.names = map[string]bool{}
	}
	if delete(p.names, name); paused {
		p.names[name] = true
	}
}

// SetPaused implements [engine.Pauses].
func (s *Keyed) SetPaused(ctx context.Context, flow string, paused bool) error {
	entry := Entry{Key: append([]byte{keyPaused}, flow...)}
	if paused {
		entry.Value = []byte{}
	}
	err := s.step(ctx, operation{name: "pause flow " + flow}, entry.Key, func() ([]Entry, error) { return []Entry{entry}, nil })
	if err == nil {
		s.paused.set(flow, paused)
	}
	return err
}

// Paused implements [engine.Pauses]. Its result is never old.
func (s *Keyed) Paused(_ context.Context, flow string, _ time.Time) (bool, error) {
	s.paused.mu.RLock()
	defer s.paused.mu.RUnlock()
	return s.paused.names[flow], nil
}
