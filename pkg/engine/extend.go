package engine

import (
	"context"

	"github.com/waitless/waitless/pkg/machine"
)

// extendLog has the items before the draft expire as late as the draft, so that no reader meets a
// part of a log. If the worker dies before it commits the draft, the next one extends them again.
func (d *draft) extendLog(ctx context.Context) error {
	if !d.state.Expires.After(d.expires) {
		return nil
	}
	for next := uint64(0); next <= d.base.Seq; {
		items, err := d.Log.Items(ctx, d.base.Execution, next, extendedAtOnce)
		if err != nil || len(items) == 0 {
			return err
		}
		next = items[len(items)-1].Seq + 1
		if err := d.Log.Extend(ctx, d.state.Expires, lastingItems(items)...); err != nil {
			return err
		}
	}
	return nil
}

const extendedAtOnce = 500

// lastingItems returns the keys of the items that an execution needs as long as it is kept. A poll
// that did not meet its condition has no event and no value, and there may be thousands of them:
// they expire earlier.
func lastingItems(items []Item) (keys []ItemKey) {
	for _, item := range items {
		state, events, err := machine.Decode(item.origin(), item.Body)
		if w := state.Waiting; err != nil || len(events) > 0 || w == nil || w.For != machine.WaitingForPoll {
			keys = append(keys, item.Key())
		}
	}
	return keys
}
