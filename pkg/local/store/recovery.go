package store

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// Recovery returns the data that the next process that opens a store needs, and the data that it
// may remove.
type Recovery interface { //nolint:interfacebloat // what a process takes over belongs together
	Remover
	Outbox
	// Keys returns the keys that sign the tokens of the store's executions.
	Keys() token.Keys
	// Generation returns how many processes have opened the store, this one included, if it has one
	// process at a time; else 0.
	Generation() uint64
	// Unfinished returns the executions that have not ended.
	Unfinished(ctx context.Context) ([]Unfinished, error)
	// StoppedRoots returns the roots with descendants to stop.
	StoppedRoots(ctx context.Context, now time.Time) ([]engine.ID, error)
	// CountDescendants counts the open descendants of all roots anew. No worker is under way.
	CountDescendants(ctx context.Context) error
	// Waiting returns the polls of the waiters of jobs, in pages.
	Waiting(ctx context.Context, after resume.Poll, limit int) ([]resume.Poll, error)
}

// Unfinished is an execution that has not ended, and about until when it rests.
type Unfinished struct {
	Execution engine.ID
	Rest      machine.Rest
}

// Unfinished implements [Recovery].
func (s *Keyed) Unfinished(ctx context.Context) ([]Unfinished, error) {
	return read(ctx, s, operation{name: "look for unfinished executions"}, func() (list []Unfinished, err error) {
		for key, value := range s.running.Entries(startingWith(runningKeys), &err) {
			one := Unfinished{Execution: engine.ID(key[len(key)-idSize:])}
			if len(value) == 8 {
				one.Rest = machine.Rest(binary.BigEndian.Uint64(value)) //nolint:gosec // as it was written
			}
			list = append(list, one)
		}
		return list, err
	})
}

// HasOpenTokens reports whether an execution waits for a token. An execution that cannot be read
// counts, and so does an execution that waits for lanes.
func (s *Keyed) HasOpenTokens(ctx context.Context) (bool, error) {
	list, err := s.Unfinished(ctx)
	if err != nil {
		return false, err
	}
	for _, unfinished := range list {
		item, err := s.Latest(ctx, unfinished.Execution)
		if err != nil {
			return false, err
		}
		state, err := item.State()
		waiting := state.Waiting
		if err != nil || waiting != nil && (waiting.Token() != nil || waiting.Fork() != nil) {
			return true, nil //nolint:nilerr // an execution that cannot be read counts
		}
	}
	return false, nil
}
