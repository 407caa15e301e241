package local

import (
	"context"
	"errors"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

const day = 24 * time.Hour

// DefaultRetentionDays is the default of RetentionDays of [Config], and of a stack.
const DefaultRetentionDays = int(machine.DefaultRetention / day)

// removalPause is the time between two searches for executions after their retention.
const removalPause = 10 * time.Minute

// removalGrace is how long a run that has nothing left to do waits for the first search. Many short
// runs remove as much as a long one.
const removalGrace = time.Second

// removeRegularly removes executions after their retention, until the run ends. With a virtual
// clock it looks for them once: the clock jumps, and others ended in real time.
func (s *System) removeRegularly(r run, now time.Time, first chan<- struct{}) {
	for ; ; now = s.config.Clock.Now() {
		if err := s.removeExpired(r.ctx, now); err != nil && r.ctx.Err() == nil {
			s.warn(err)
		}
		if first != nil {
			close(first)
			first = nil
		}
		if s.config.Clock.IsVirtual() || engine.Sleep(r.ctx, removalPause) != nil {
			return
		}
	}
}

func (s *System) warn(err error) {
	if s.config.Warn != nil {
		s.config.Warn(err)
	}
}

// removeExpired removes the executions that ended longer ago than the retention. It returns the
// error of the first that cannot be removed, and removes the others.
func (s *System) removeExpired(ctx context.Context, now time.Time) error {
	list := pages(func(after store.Ended, limit int) ([]store.Ended, error) {
		return s.config.Store.EndedBefore(ctx, now.Add(-s.config.Limits.Retention), after, limit)
	})
	var first error
	for ended, err := range list {
		if err != nil {
			return errors.Join(first, err)
		}
		if err := s.removeEnded(ctx, ended); err != nil && first == nil {
			first = err
		}
	}
	return errors.Join(first, s.config.Store.Tidy(ctx, now))
}

func (s *System) removeEnded(ctx context.Context, ended store.Ended) error {
	state, err := s.stateOf(ctx, ended.Execution)
	switch {
	case errors.Is(err, machine.ErrDamaged), err == nil && state == nil:
		return s.config.Store.Remove(ctx, ended)
	case machine.NeedsNewerRelease(err):
		return nil // that release removes it
	case err != nil:
		return err
	}
	parent, awaited, err := s.parentOf(ctx, *state)
	switch {
	case errors.Is(err, machine.ErrDamaged), machine.NeedsNewerRelease(err):
		return nil // it may wait for the execution
	case err != nil:
		return err
	}
	switch engine.RemovalOf(*state, parent, awaited) {
	case engine.ReportAgain:
		now := s.config.Clock.Now()
		return s.queue.Send(ctx, engine.Wake{Execution: ended.Execution, Cause: state.By, Due: now, Sent: now})
	case engine.Remove:
		return s.config.Store.Remove(ctx, ended)
	case engine.Keep:
	}
	return nil
}

// parentOf returns the latest state of the log that started a sub-flow, nil without one, and the
// record of the token with which it waits.
func (s *System) parentOf(ctx context.Context, state machine.State) (parent *machine.State, awaited token.Record, err error) {
	if state.Parent == nil {
		return nil, awaited, nil
	}
	if parent, err = s.stateOf(ctx, state.Parent.Log); err != nil || parent == nil || !state.Awaited() {
		return parent, awaited, err
	}
	awaited, err = s.config.Store.Record(ctx, state.Parent.Handle)
	return parent, awaited, err
}

// stateOf returns the latest state of a log, nil if there is none.
func (s *System) stateOf(ctx context.Context, log engine.ID) (*machine.State, error) {
	item, err := s.config.Store.Latest(ctx, log)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, nil //nolint:nilnil // both are documented
	}
	if err != nil {
		return nil, err
	}
	state, err := item.State()
	return &state, err
}
