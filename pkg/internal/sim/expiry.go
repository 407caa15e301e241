package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// longLivedSeeds are the fixed ones from before logs expired earlier than their executions may end.
const longLivedSeeds = 16_350

// drawsShortLife reports whether the logs of a seed's run are kept for a short life first. Those of
// flows with forks are not. No seed that was found before is among them.
func drawsShortLife(seed uint64) bool {
	return seed > longLivedSeeds && slices.Contains([]uint64{3, 12, 15, 16, 20, 24, 25, 26, 29}, seed%32)
}

// shortLife is less than many executions take. What is sent again or late comes within the
// retention.
const (
	shortLife = 20 * time.Second
	retention = 24 * time.Hour
)

// Extend implements [engine.Log].
func (l logs) Extend(_ context.Context, expires time.Time, keys ...engine.ItemKey) error {
	return l.a.effect(fmt.Sprintf("extend %d items", len(keys)), func() error {
		for _, key := range keys {
			of := l.a.checkOwn(key.Execution)
			of.items[key.Seq].expires = expires
		}
		return nil
	})
}

// checkExpiry looks at a log whose last item was just put: no item that is needed, nor the token,
// may expire before the retention after what the log waits for, or after the time limit of the
// execution. One that ends by a defect keeps its expiry: its definition is perhaps gone.
func (l *log) checkExpiry() {
	if l.limits.ShortLife == 0 || l.last().Error == machine.ErrorInternal {
		return
	}
	until := l.last().At
	switch w := l.last().Waiting; {
	case w == nil || l.last().Ending != nil:
	case w.Deadline.After(until) && w.Token() != nil:
		until = w.Deadline
	case w.Due.After(until):
		until = w.Due
	case w.Token() != nil && w.Due.IsZero():
		until = epoch.Add(l.deadline(l.items[0].state.Started))
	}
	if limit := epoch.Add(l.deadline(l.items[0].state.Started)); limit.Before(until) {
		until = limit
	}
	if w := l.last().Waiting; until.After(l.last().At) && w.Token() != nil {
		if id, _ := token.HandleID(w.Handle()); id.Expires.Before(until.Add(retention).Truncate(time.Second)) {
			l.violate(Vanished, "the token of attempt %d expires at %s, and the log waits for it until %s", w.Attempt.Number, id.Expires, until)
		}
	}
	for i, item := range l.items {
		isPoll := len(item.events) == 0 && item.state.Waiting != nil && item.state.Waiting.For == machine.WaitingForPoll
		if isNeeded := !isPoll || i == len(l.items)-1; isNeeded && item.expires.Before(until.Add(retention)) {
			l.violate(Vanished, "item %d expires at %s, and the log waits until %s and is kept for %s after that", i, item.expires, until, retention)
		}
	}
}
