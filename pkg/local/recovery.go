package local

import (
	"context"
	"errors"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// TakeOver sends, once, the wakes and polls of what an earlier process left unfinished. Call it
// before anything else uses the system; [System.Start], [System.Run] and [System.Serve] do.
func (s *System) TakeOver(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.recovered || s.store == nil {
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

// wakeAgain sends the wakes of executions that have not ended.
func (s *System) wakeAgain(ctx context.Context) error {
	for after := (engine.ID{}); ; {
		page, err := s.store.Unfinished(ctx, after, recoveryPage)
		if err != nil {
			return err
		}
		for _, item := range page {
			if err := s.recoverOne(ctx, item); err != nil {
				return err
			}
			after = item.Execution
		}
		if len(page) < recoveryPage {
			return nil
		}
	}
}

func (s *System) recoverOne(ctx context.Context, item engine.Item) error {
	state, err := machine.DecodeState(machine.Place(item.Execution, item.Seq), item.Body)
	switch {
	case errors.Is(err, machine.ErrDamaged): // any wake finds the damage, and ends the execution (rule 13)
		now := s.clock.Now()
		return s.queue.Send(ctx, engine.Wake{Execution: item.Execution, Cause: machine.CauseStart, Due: now, Sent: now})
	case machine.NeedsNewerRelease(err): // which takes it over
		s.blocked(machine.FlowRef{Name: "?"}, item.Execution.String(), []error{err})
		return nil
	case err != nil:
		return err
	}
	flow, err := s.Client.Flow(ctx, state.Flow)
	if err != nil {
		return err
	}
	missing := s.Missing(flow)
	if len(missing) == 0 || state.Ending != nil { // an execution that is ending calls no function
		return s.worker.Recover(ctx, item, state)
	}
	s.blocked(state.Flow, state.Execution, missing)
	s.endOnly[item.Execution] = true
	return s.worker.RecoverEnd(ctx, item.Execution, state, flow)
}
