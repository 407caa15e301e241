package sim

import (
	"context"
	"errors"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// roots counts the descendants of roots. Its calls have no faults of their own: workers die at the
// effects around them.
type roots struct{ a *actor }

func (r roots) change(root engine.ID, apply func(engine.RootRecord) engine.RootRecord) (engine.RootRecord, error) {
	if r.a.dead {
		return engine.RootRecord{}, errDied
	}
	after := apply(r.a.world.store.roots[root])
	r.a.world.store.roots[root] = after
	return after, nil
}

func (r roots) Enter(_ context.Context, root engine.ID, op engine.EnterOp) (after engine.RootRecord, ok bool, err error) {
	after, err = r.change(root, func(record engine.RootRecord) engine.RootRecord {
		record, ok = op.Apply(record)
		return record
	})
	return after, ok, err
}

func (r roots) Leave(_ context.Context, root engine.ID) error {
	_, err := r.change(root, engine.RootRecord.Left)
	return err
}

func (r roots) Root(_ context.Context, root engine.ID) (engine.RootRecord, error) {
	return r.a.world.store.roots[root], nil
}

// errNotSimulated is returned by operations that no actor calls: they are for the janitor and for a
// stop with descendants, which the contracts of package enginetest cover.
var errNotSimulated = errors.New("sim: the operation is not simulated")

// Recount implements [engine.Descendants]. It always fails.
func (roots) Recount(context.Context, engine.ID, engine.RootRecord, int) error {
	return errNotSimulated
}

// StopDescendants implements [engine.Descendants]. It always fails.
func (roots) StopDescendants(context.Context, engine.ID, engine.StopRequest, time.Time) error {
	return errNotSimulated
}

// checkCounted checks that a root counts at least the descendants that are open.
func (l *log) checkCounted() {
	open := map[engine.ID]int{}
	for _, world := range l.worlds {
		state := world.own().last()
		if root, generation := state.Root(); machine.IsCounted(generation) && !state.Status.Final() {
			open[root]++
		}
	}
	for root, open := range open {
		if counted := l.store.roots[root].Open; counted < open {
			l.violate(Uncounted, "%d descendants are open, and their root counts %d", open, counted)
		}
	}
}
