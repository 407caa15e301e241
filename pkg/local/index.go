package local

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// index is a list of executions being made.
type index []machine.State

// add takes the execution up if it is one of the flow and has the status;
// empty ones mean all.
func (x *index) add(latest engine.Item, flow string, status machine.Status) error {
	state, _, err := machine.Decode(latest.Body)
	if err != nil {
		return err
	}
	if (flow == "" || state.Flow.Name == flow) && (status == "" || state.Status == status) {
		*x = append(*x, state)
	}
	return nil
}

// ids are the executions, the latest start first.
func (x index) ids() []engine.ID {
	slices.SortFunc(x, func(a, b machine.State) int {
		return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(a.Flow.Name, b.Flow.Name), cmp.Compare(a.Execution, b.Execution))
	})
	ids := make([]engine.ID, len(x))
	for i, state := range x {
		ids[i] = state.ID()
	}
	return ids
}

// Executions implements the index of the management API. It reads the latest
// item of every log.
func (s *DiskStore) Executions(ctx context.Context, flow string, status machine.Status) (ids []engine.ID, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	err = s.do("list executions", func() error {
		ids, err = s.executions(flow, status)
		return err
	})
	return ids, err
}

func (s *DiskStore) executions(flow string, status machine.Status) ([]engine.ID, error) {
	logs, err := s.db.NewIter(&pebble.IterOptions{LowerBound: []byte{keyItem}, UpperBound: []byte{keyItem + 1}})
	if err != nil {
		return nil, explain(err)
	}
	items, err := s.db.NewIter(nil)
	if err != nil {
		return nil, errors.Join(explain(err), logs.Close())
	}
	var list index
	for valid := logs.First(); valid && err == nil; {
		execution := engine.ID(logs.Key()[1:])
		var latest engine.Item
		if latest, err = lastItem(items, execution); err == nil {
			err = list.add(latest, flow, status)
		}
		valid = logs.SeekGE(itemKey(execution, 1<<64-1))
	}
	if err := errors.Join(err, logs.Close(), items.Close()); err != nil {
		return nil, err
	}
	return list.ids(), nil
}
