package disk

import (
	"context"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/machine"
)

// Executions implements the index of the management API. It reads the latest
// item of every log.
func (s *Store) Executions(ctx context.Context, flow string, status machine.Status) (ids []engine.ID, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	err = s.do("list executions", func() error {
		ids, err = s.executions(flow, status)
		return err
	})
	return ids, err
}

func (s *Store) executions(flow string, status machine.Status) ([]engine.ID, error) {
	logs, err := s.db.NewIter(&pebble.IterOptions{LowerBound: []byte{keyItem}, UpperBound: []byte{keyItem + 1}})
	if err != nil {
		return nil, explain(err)
	}
	items, err := s.db.NewIter(nil)
	if err != nil {
		return nil, errors.Join(explain(err), logs.Close())
	}
	var list local.Listing
	for valid := logs.First(); valid && err == nil; {
		execution := engine.ID(logs.Key()[1:])
		var latest engine.Item
		if latest, err = lastItem(items, execution); err == nil {
			err = list.Add(latest, flow, status)
		}
		valid = logs.SeekGE(itemKey(execution, 1<<64-1))
	}
	if err := errors.Join(err, logs.Close(), items.Close()); err != nil {
		return nil, err
	}
	return list.IDs(), nil
}
