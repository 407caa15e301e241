package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// log is the log of an execution or of a lane.
type log struct {
	*world
	id     engine.ID
	lane   *machine.Lane // nil for the execution's own
	parent *log          // of a lane
	name   string        // for the trace, empty for the execution's own
	items  []item
	joined time.Duration // when the lane joined first, [never] if it did not
}

// item is an item of a log with what is in it.
type item struct {
	engine.Item
	put     time.Duration
	state   machine.State
	events  []machine.Event
	expires time.Time
	by      *engine.Wake // whose worker put it, nil for a client
}

// own is the log of the execution itself.
func (w *world) own() *log { return w.store.logs[w.id] }

// addLog adds a log that is empty yet.
func (w *world) addLog(l *log) {
	l.world, l.joined = w, never
	w.store.logs[l.id] = l
	w.store.order = append(w.store.order, l)
}

// addLanes adds the logs of the lanes that a state waits for.
func (l *log) addLanes(state machine.State) {
	for _, lane := range lanesOf(state) {
		if w := l.world; w.store.logs[lane.ID()] == nil {
			w.addLog(&log{id: lane.ID(), lane: &lane, parent: l, name: fmt.Sprintf("lane %d of %d", lane.Index, lane.Attempt) + l.suffix()})
		}
	}
}

// lanesOf are the lanes that a state waits for.
func lanesOf(state machine.State) []machine.Lane {
	if !forLanes(state) {
		return nil
	}
	lanes := make([]machine.Lane, state.Waiting.Fork().Lanes)
	for i := range lanes {
		lanes[i] = machine.Lane{Parent: state.ID(), Attempt: state.Waiting.Attempt.Number, Index: i, Count: len(lanes)}
	}
	return lanes
}

func forLanes(state machine.State) bool {
	return state.Waiting.Fork() != nil
}

// lanes are the logs of the lanes that a state waits for.
func (l *log) lanes(state machine.State) []*log {
	var logs []*log
	for _, lane := range lanesOf(state) {
		logs = append(logs, l.store.logs[lane.ID()])
	}
	return logs
}

func (l *log) latest(at instant) (engine.Item, error) {
	items := l.until(at)
	if len(items) == 0 {
		return engine.Item{}, engine.ErrNotFound
	}
	return items[len(items)-1].Item, nil
}

// until are the items that were there at an instant.
func (l *log) until(at instant) []item {
	size := len(l.items)
	for size > 0 && instant(l.items[size-1].put) > at {
		size--
	}
	return l.items[:size]
}

func (l *log) from(seq uint64, limit int, at instant) []engine.Item {
	items := l.until(at)
	items = items[min(seq, uint64(len(items))):]
	found := make([]engine.Item, min(limit, len(items)))
	for i := range found {
		found[i] = items[i].Item
	}
	return found
}

func (l *log) append(next engine.Item) error {
	size := uint64(len(l.items))
	switch {
	case next.Seq < size:
		return &engine.ConflictError{Nonce: l.items[next.Seq].Nonce}
	case next.Seq > size:
		return errGap
	}
	state, events, err := machine.Decode(machine.ItemOrigin(l.id, next.Seq), next.Body)
	if err != nil {
		l.violate(Broken, "read item %d: %s", next.Seq, err)
	}
	before := l.last()
	if l.closesBadly && state.StopsLanes() && state.Ending == nil {
		l.closesBadly, l.defect = false, defect{l.now, never}
	}
	l.items = append(l.items, item{next, l.now, state, events, state.Expires, nil})
	l.addLanes(state)
	l.addParent(state)
	l.addSub(state.Waiting)
	l.checkJoined(before, state, events)
	l.checkIdle(state)
	l.checkExpiry()
	l.checkCounted()
	return nil
}

// last is the latest state, the zero State if the log is empty.
func (l *log) last() machine.State {
	if len(l.items) == 0 {
		return machine.State{}
	}
	return l.items[len(l.items)-1].state
}

// suffix names the log in the trace.
func (l *log) suffix() string {
	if l.name == "" {
		return ""
	}
	return " of " + l.name
}

// since is when the first item was put whose state is so.
func (l *log) since(is func(machine.State) bool) (at time.Duration, ok bool) {
	i := slices.IndexFunc(l.items, func(i item) bool { return is(i.state) })
	if i < 0 {
		return never, false
	}
	return l.items[i].put, true
}

func isFinal(state machine.State) bool  { return state.Status.Final() }
func isEnding(state machine.State) bool { return state.Ending != nil || isFinal(state) }

// ended is when the log ended, or one around it, [never] if none did.
func (l *log) ended() time.Duration {
	at, _ := l.since(isFinal)
	if l.parent != nil {
		at = min(at, l.parent.ended())
	}
	return at
}
