package disk

import (
	"context"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/machine"
)

// Executions implements the index of the management API. It reads the latest item of
// every log.
func (s *Store) Executions(
	ctx context.Context, flow string, status machine.Status, after string, limit int,
) (ids []engine.ID, next string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	list := &local.Listing{}
	err = s.do("list executions", func() error { return s.list(list, flow, status) })
	if err != nil {
		return nil, "", err
	}
	return list.Page(after, limit)
}

func (s *Store) list(list *local.Listing, flow string, status machine.Status) error {
	logs, err := s.db.NewIter(&pebble.IterOptions{LowerBound: []byte{keyItem}, UpperBound: []byte{keyItem + 1}})
	if err != nil {
		return explain(err)
	}
	items, err := s.db.NewIter(nil)
	if err != nil {
		return errors.Join(explain(err), logs.Close())
	}
	for valid := logs.First(); valid && err == nil; {
		execution := engine.ID(logs.Key()[1:])
		var latest engine.Item
		if latest, err = lastItem(items, execution); err == nil {
			err = list.Add(latest, flow, status)
		}
		valid = logs.SeekGE(itemKey(execution, 1<<64-1))
	}
	return errors.Join(err, logs.Close(), items.Close())
}
