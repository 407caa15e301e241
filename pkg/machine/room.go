package machine

import (
	"math"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/fdl"
)

// itemRoom is how many bytes the events of steps that run on may take in one item
// of the log. With the largest step behind that an item still fits into every
// store.
const itemRoom = 64 << 10

// itemFull reports whether the next step belongs into another item: steps that
// need nothing from outside may go on for long, and each may put out an object of
// its own that is as large as a step's data may be.
func (r *run) itemFull() bool {
	if r.added < itemRoom {
		return false
	}
	r.added = r.eventsSize()
	return r.added >= itemRoom
}

// eventsSize is what the events take, where each value is written once. Each event
// is looked at once, however often this is asked.
func (r *run) eventsSize() int {
	if r.measure == nil {
		r.measure = &encoder{expr.Encoder{Measures: true, Place: expr.Origin{Seq: math.MaxInt64}}, Format}
	}
	for _, event := range r.next.Events[r.measured:] {
		r.measure.event(event, r.at)
	}
	r.measured = len(r.next.Events)
	return len(r.measure.Bytes())
}

// added is at most how much an event adds to an item.
func (e Event) added() int { return e.Input.Size() + e.Local.Size() + e.Output.Size() + eventSize }

// eventSize is about what an event takes besides its values.
const eventSize = 32

// goOnLater leaves the step to the wake of a timer that is due at once.
func (r *run) goOnLater(step *fdl.Step) {
	s := r.state()
	s.Format = max(s.Format, formatOfRoom)
	s.Waiting = &Waiting{
		Attempt: Attempt{Step: step.Index, Number: s.Events}, For: WaitingForRoom, Input: expr.Object(), Due: r.at, By: r.env.Cause, Since: r.at,
	}
}

// goOn enters the step that was left.
func (r *run) goOn() {
	step, _ := r.leaveWaiting()
	r.advance(step)
}
