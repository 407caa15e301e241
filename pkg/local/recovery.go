package local

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"sync"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
)

// TakeOver begins to take over the unfinished work of an earlier process: it sends the polls of
// jobs, and the wakes that stop descendants. Call it before anything else uses the system;
// [System.Start], [System.Run] and [System.Serve] do.
//
// Executions are adopted by the next run, beside its other work, each before anything else happens
// to it. With a virtual clock TakeOver takes them over itself, so that their wakes have one order.
func (s *System) TakeOver(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.recovered {
		return nil
	}
	recovery, err := s.newRecovery(ctx)
	if err != nil {
		return err
	}
	s.recovery.Store(recovery)
	if s.config.Clock.IsVirtual() {
		if err := recovery.run(ctx); err != nil {
			return err
		}
	}
	if err := s.pollAgain(ctx); err != nil {
		return err
	}
	now := s.config.Clock.Now()
	stopped, err := s.config.Store.StoppedRoots(ctx, now)
	for _, root := range stopped {
		err = errors.Join(err, s.queue.Send(ctx, engine.Wake{Execution: root, Cause: machine.CauseDescendants, Due: now, Sent: now}))
	}
	s.recovered = err == nil
	return err
}

// recovery takes over the executions of earlier processes: first executions that need a worker now,
// then executions with a possible unreported outcome, then the rest in the order of their instants.
//
// Each is adopted once, before this process does anything with it. So a crash in between loses
// nothing: the store is as the earlier process left it, or as a worker left it that had all wakes
// of the execution.
type recovery struct {
	system *System

	mu      sync.Mutex
	adopted *sync.Cond
	// left has the executions that are not adopted yet, and whether that is under way.
	left map[engine.ID]bool

	inOrder []store.Unfinished // by their rest
	due     int                // index of the first of them that did not have its turn by its rest
	awaits  int                // and by its token
}

func (s *System) newRecovery(ctx context.Context) (*recovery, error) {
	list, err := s.config.Store.Unfinished(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(list, func(a, b store.Unfinished) int { return cmp.Compare(a.Rest, b.Rest) })
	r := &recovery{system: s, left: make(map[engine.ID]bool, len(list)), inOrder: list}
	r.adopted = sync.NewCond(&r.mu)
	for _, unfinished := range list {
		r.left[unfinished.Execution] = false
	}
	return r, nil
}

// run takes over all executions, unless ctx ends before.
func (r *recovery) run(ctx context.Context) error {
	for {
		id, ok := r.next()
		if !ok {
			r.system.recovery.Store(nil)
			r.system.config.TakenOver()
			return nil
		}
		if err := r.adopt(ctx, id); err != nil {
			return err
		}
	}
}

// next returns the execution that has its turn, perhaps one adopted already, and false after the
// last one.
func (r *recovery) next() (id engine.ID, ok bool) {
	now := machine.Rest(r.system.config.Clock.Now().UnixNano())
	isDue := r.due < len(r.inOrder) && r.inOrder[r.due].Rest <= now
	for r.awaits = max(r.awaits, r.due); !isDue && r.awaits < len(r.inOrder); {
		unfinished := r.inOrder[r.awaits]
		r.awaits++
		if unfinished.Rest.AwaitsToken() {
			return unfinished.Execution, true
		}
	}
	if r.due == len(r.inOrder) {
		r.due, r.awaits = 0, 0 // those that an earlier run left
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.left) == 0 {
		return engine.ID{}, false
	}
	r.due++
	return r.inOrder[r.due-1].Execution, true
}

// adopt takes over an execution, unless that has been done. If another goroutine does it, adopt
// waits.
func (r *recovery) adopt(ctx context.Context, id engine.ID) error {
	r.mu.Lock()
	for r.left[id] {
		r.adopted.Wait()
	}
	_, isLeft := r.left[id]
	if isLeft {
		r.left[id] = true
	}
	r.mu.Unlock()
	if !isLeft {
		return nil
	}
	item, err := r.system.config.Store.Latest(ctx, id)
	if err == nil {
		err = r.system.recoverOne(ctx, item)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left[id] = false; err == nil {
		delete(r.left, id)
	}
	r.adopted.Broadcast()
	return err
}

// adoptFor takes over the execution of a wake. The wake may be for a lane of it, which has a log
// only if it has begun.
func (r *recovery) adoptFor(ctx context.Context, wake engine.Wake) error {
	log := wake.Execution
	if wake.Lane != nil {
		log = wake.Lane.Parent
	}
	item, err := r.system.config.Store.Latest(ctx, log)
	if errors.Is(err, engine.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if head, err := machine.HeadOf(item.Body); err == nil && head.Lane {
		log = engine.NewID(head.Flow.Name, head.Execution)
	}
	return r.adopt(ctx, log)
}

// recoveryPage is how many polls, notices or ended executions are read at once.
const recoveryPage = 1000

// pages yields the elements of pages; each page begins after the last element of the page before.
// It ends after an error.
func pages[T any](read func(after T, limit int) ([]T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var after T
		for {
			page, err := read(after, recoveryPage)
			for _, after = range page {
				if !yield(after, nil) {
					return
				}
			}
			if err != nil {
				yield(after, err)
			}
			if len(page) < recoveryPage {
				return
			}
		}
	}
}

func (s *System) recoverOne(ctx context.Context, item engine.Item) error {
	state, err := item.State()
	switch {
	case errors.Is(err, machine.ErrDamaged): // any wake finds the damage, and ends the execution (rule 13)
		now := s.config.Clock.Now()
		return s.queue.Send(ctx, engine.Wake{Execution: item.Execution, Cause: machine.CauseStart, Due: now, Sent: now})
	case machine.NeedsNewerRelease(err): // which takes it over
		s.config.Blocked(machine.FlowRef{Name: "?"}, item.Execution.String(), []error{err})
		return nil
	case err != nil:
		return err
	}
	flow, err := s.Client.Flow(ctx, state.Flow)
	if err != nil {
		return err
	}
	missing := s.Missing(flow)
	if len(missing) == 0 || state.Ending != nil || state.Status.Final() { // an execution that is ending calls no function
		return s.worker.Recover(ctx, item, state)
	}
	s.config.Blocked(state.Flow, state.Execution, missing)
	s.cannotContinue.add(item.Execution)
	return s.worker.RecoverEnd(ctx, item.Execution, state, flow)
}

// blockedExecutions lists the executions that cannot continue here and may only end.
type blockedExecutions struct {
	mu  sync.RWMutex
	ids map[engine.ID]bool
}

func (b *blockedExecutions) add(id engine.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ids == nil {
		b.ids = map[engine.ID]bool{}
	}
	b.ids[id] = true
}

// has reports whether the execution of a state, or of a lane's, is among them.
func (b *blockedExecutions) has(state machine.State) bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return len(b.ids) > 0 && b.ids[engine.NewID(state.Flow.Name, state.Execution)]
}
