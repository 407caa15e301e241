package local

import (
	"context"
	"errors"
	"iter"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// TakeOver sends, once, the wakes and polls of what an earlier process left unfinished. Call it
// before anything else uses the system; [System.Start], [System.Run] and [System.Serve] do.
func (s *System) TakeOver(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.recovered {
		return nil
	}
	if err := s.wakeAgain(ctx); err != nil {
		return err
	}
	if err := s.pollAgain(ctx); err != nil {
		return err
	}
	s.recovered = true
	return nil
}

// recoveryPage is how many executions or polls are read at once.
const recoveryPage = 1000

// pages yields the elements of pages, each of which begins after the last element of the one before. It
// ends after an error.
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

func unfinished(ctx context.Context, store Store) iter.Seq2[engine.Item, error] {
	return func(yield func(engine.Item, error) bool) {
		for after := []byte(nil); ; {
			items, next, err := store.Unfinished(ctx, after, recoveryPage)
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if err != nil {
				yield(engine.Item{}, err)
			}
			if after = next; after == nil || err != nil {
				return
			}
		}
	}
}

// wakeAgain sends the wakes of executions that have not ended.
func (s *System) wakeAgain(ctx context.Context) error {
	for item, err := range unfinished(ctx, s.config.Store) {
		if err == nil {
			err = s.recoverOne(ctx, item)
		}
		if err != nil {
			return err
		}
	}
	return s.reportEndsAgain(ctx)
}

// decodeState returns the state in an item.
func decodeState(item engine.Item) (machine.State, error) {
	return machine.DecodeState(machine.ItemOrigin(item.Execution, item.Seq), item.Body)
}

func (s *System) recoverOne(ctx context.Context, item engine.Item) error {
	state, err := decodeState(item)
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
	s.cannotContinue[item.Execution] = true
	return s.worker.RecoverEnd(ctx, item.Execution, state, flow)
}
