package machine

import (
	"fmt"
	"math"
	"time"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/value"
)

// itemRoom is how many bytes the events of steps that run on may take in one item
// of the log. With the largest step behind that an item still fits into every
// store.
const itemRoom = 64 << 10

// What an item keeps free for the events of an execution's failure: the step's and
// the execution's own, and one for each series that is open.
const (
	endRoom    = 20 << 10 // an error and a cause four times
	seriesRoom = 640
)

// itemFull reports whether the next step belongs into another item: steps that
// need nothing from outside may go on for long, and each may put out an object of
// its own that is as large as a step's data may be.
func (r *run) itemFull() bool {
	begun := len(r.next.Events)+len(r.env.Before) > 0
	return r.eventsFull() || begun && !r.hasRoomFor(r.env.Limits.data())
}

func (r *run) eventsFull() bool {
	if r.added < itemRoom {
		return false
	}
	r.added = r.eventsSize()
	return r.added >= itemRoom
}

// overfull reports whether the item no longer fits into every store, and what to do
// about it. The state holds large values by reference, but an object of many small
// ones it writes anew with each change.
func (r *run) overfull(step *fdl.Step) (cause string, full bool) {
	if r.hasRoomFor(0) {
		return "", false
	}
	what := "the flow"
	if step != nil {
		what = "step " + step.Name
	}
	return fmt.Sprintf("%s: what the execution keeps has %d bytes now and the limit is %d for one item of the log; use outputMappings that keep only "+
		"what later steps need, and pass on few large values instead of many small ones", what, r.taken, r.itemLimit()), true
}

// itemLimit is how large an item may become before the end.
func (r *run) itemLimit() int {
	return r.env.Limits.item() - endRoom - seriesRoom*len(r.state().Scopes)
}

// hasRoomFor reports whether the item takes so many bytes more. What it takes at
// most decides almost always; only near the limit it is measured, first with all
// that was written for that before, then anew.
func (r *run) hasRoomFor(size int) bool {
	limit := r.itemLimit() - size
	if r.taken <= limit || r.stuck() {
		return true
	}
	if r.taken = r.itemSize(); r.taken > limit {
		r.forgetItem()
		r.taken = r.itemSize()
	}
	return r.taken <= limit
}

// takenBefore is at most what the state and the events before take.
func (r *run) takenBefore() int {
	s := r.state()
	taken := most(s.Input) + most(s.Output)
	for _, scope := range s.Scopes {
		taken += most(scope.Input) + most(scope.Local)
	}
	if s.Waiting != nil {
		taken += most(s.Waiting.Input)
	}
	for _, event := range r.env.Before {
		taken += event.added()
	}
	return taken
}

// keep counts a value that the state has from now on.
func (r *run) keep(v value.Value) {
	r.taken += most(v)
	if r.measures != nil && r.measures.item != nil {
		r.measures.item.Value(v)
	}
}

// takeBack drops the last events, of which the item has no room for one.
func (r *run) takeBack(events int) {
	r.next.Events = r.next.Events[:len(r.next.Events)-events]
	r.state().Events -= events
	r.forgetItem()
}

// measures are of the events alone and of the item, nil as long as nobody asks.
type measures struct{ events, item *measure }

func (r *run) measured() *measures {
	if r.measures == nil {
		r.measures = &measures{}
	}
	return r.measures
}

// forgetItem has the item measured anew, without what it had before.
func (r *run) forgetItem() { r.measured().item = nil }

// measure writes what it measures, each value once.
type measure struct {
	encoder
	events int // those of the application that were written
}

func newMeasure() *measure {
	return &measure{encoder: encoder{value.Encoder{Measures: true, Place: value.Origin{Seq: math.MaxInt64}}}}
}

// size is that of all so far with these events, each of which is looked at once,
// however often this is asked.
func (m *measure) size(events []Event, at time.Time) int {
	for _, event := range events[m.events:] {
		m.event(event, at)
	}
	m.events = len(events)
	return len(m.Bytes())
}

// eventsSize is what the events take.
func (r *run) eventsSize() int {
	m := r.measured()
	if m.events == nil {
		m.events = newMeasure()
	}
	return m.events.size(r.next.Events, r.at)
}

// itemSize is what the item takes, with all that the state has had since it was
// first asked.
func (r *run) itemSize() int {
	m := r.measured()
	if m.item == nil {
		m.item = newMeasure()
		m.item.state(*r.state())
		for _, event := range r.env.Before {
			m.item.event(event, r.at)
		}
	}
	return m.item.size(r.next.Events, r.at)
}

// added is at most how much an event adds to an item.
func (e Event) added() int {
	return most(e.Input) + most(e.Local) + most(e.Output) + len(e.Error) + len(e.Cause) + eventSize
}

// most is how much a value takes at most. A digit in an array has two bytes as JSON
// and three in an item, and nothing has more for each.
func most(v value.Value) int { return v.Size() + v.Size()/2 }

// eventSize is about what an event takes besides its values.
const eventSize = 32

// goOnLater leaves the step to the wake of a timer that is due at once.
func (r *run) goOnLater(step *fdl.Step) {
	s := r.state()
	s.Waiting = &Waiting{
		Attempt: Attempt{Step: step.Index, Number: s.Events}, For: WaitingForRoom, Input: value.Object(), Due: r.at, Entry: r.entry(),
	}
}

// goOn enters the step that was left.
func (r *run) goOn() {
	step, _ := r.leaveWaiting()
	r.advance(step)
}
