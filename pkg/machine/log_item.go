package machine

import (
	"fmt"
	"math"
	"time"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// An item of the log has to fit into every store. Apply runs on as usual and looks at the size of
// the item once, at the end. If the item is too large, Apply starts over under a plan that makes it
// smaller, and keeps the first plan under which it fits.

// plan says how an application makes its item smaller. The zero plan does nothing.
type plan struct {
	// split leaves the next step to another item.
	split bool
	// dropReply leaves out the reply to a submission, which only the history has.
	dropReply bool
	// failAt is the number of the first checkpoint that fails, 0 for none. The plan does not change
	// earlier checkpoints.
	failAt int
	// size is the size of the item without a plan, for messages.
	size int
}

// runToFit applies the signal under the mildest plan under which the item fits.
func runToFit(env Env, s State, sig Signal) *run {
	apply := func(p plan) *run {
		r := newRun(env, s, sig.instant(), p)
		r.apply(sig)
		return r
	}
	r := apply(plan{})
	if r.fits() {
		return r
	}
	p := plan{split: true, size: r.itemSize()}
	if r = apply(p); !r.fits() {
		p.dropReply = true
		r = apply(p)
	}
	for p.failAt = r.checkpoints; p.failAt > 0 && !r.fits(); p.failAt-- {
		r = apply(p)
	}
	return r
}

// mayFailForSize is called where the application may fail because its item becomes too large. It
// counts these checkpoints, and returns an error at each checkpoint that the plan makes fail.
func (x *tx) mayFailForSize(step *flow.Step) *token.Outcome {
	x.checkpoints++
	if x.plan.failAt == 0 || x.checkpoints < x.plan.failAt {
		return nil
	}
	return limitReached(ErrorDataLimit, "%s: the state has %d bytes and the limit of a log item is %d; keep less output of earlier steps, "+
		"and few large values instead of many small ones", placeOf(nameOf(step)), x.plan.size, x.itemLimit())
}

// An item keeps this space free for the events of an execution's failure: the step's and the
// execution's own, and one for each series that is open.
const (
	endRoom    = 20 << 10 // an error and a cause four times
	seriesRoom = 640
)

// itemLimit is how large an item may become before the end.
func (x *tx) itemLimit() int {
	return x.env.Limits.item() - endRoom - seriesRoom*len(x.state().Series)
}

// fits reports whether the item fits into every store. An upper bound decides almost always, and
// only near the limit the item is measured.
func (x *tx) fits() bool {
	s, limit := x.state(), x.itemLimit()
	if !x.next.Changed || x.err != nil || x.needsLoad() {
		return true
	}
	most := bound(s.Input) + bound(s.Output) + x.added
	for _, series := range s.Series {
		most += bound(series.Input) + bound(series.Local)
	}
	if s.Waiting != nil {
		most += bound(s.Waiting.Input)
	}
	for _, event := range x.env.Before {
		most += event.bound()
	}
	return most <= limit || x.itemSize() <= limit
}

// itemSize measures the item. The state holds large values by reference, but an object of many
// small members is written anew with each change.
func (x *tx) itemSize() int {
	m := x.newMeasure()
	m.format = x.state().format()
	m.state(x.state())
	m.events(&x.env.Before, x.at)
	return m.size(x.next.Events, x.at)
}

// bound is an upper bound of the encoded size of a value. A digit in an array has two bytes as JSON
// and three in an item, and nothing has more in relation.
func bound(v value.Value) int { return v.Size() + v.Size()/2 }

// bound returns an upper bound of the bytes that the event adds to an item.
func (e Event) bound() int {
	const besides = 32 // about what an event has besides its values
	return bound(e.Input) + bound(e.Local) + bound(e.Output) + len(e.Error) + len(e.Cause) + besides
}

// maxEventBytes is how many bytes the events of steps that need nothing from outside may have in
// one item. With the largest step behind them the item still fits into every store.
const maxEventBytes = 64 << 10

// beginsLogItem reports whether the step belongs into another item.
func (x *tx) beginsLogItem(step *flow.Step) bool {
	if step == x.resumed {
		x.resumed = nil
		return false
	}
	if x.plan.split || x.added < maxEventBytes {
		return x.plan.split
	}
	if x.measure == nil {
		x.measure = x.newMeasure()
	}
	x.added = x.measure.size(x.next.Events, x.at)
	return x.added >= maxEventBytes
}

// measure encodes items to measure them, each value once.
type measure struct {
	coder
	measured int // events that were encoded
}

func (x *tx) newMeasure() *measure {
	enc := &value.Encoder{Measures: true, Origin: ItemOrigin(x.state().ID(), math.MaxInt64)}
	if x.env.Limits.Apart {
		parts := 0
		enc.Apart = &value.Apart{From: ApartFrom, Name: func() string { parts++; return fmt.Sprintf("%*d", PartName, parts) }}
	}
	return &measure{coder: coder{enc: enc}}
}

// ApartFrom is the size above which a value is kept apart from its item, where that is possible. It
// is far below the capacity of an item, and above the default limit of a step's data.
const ApartFrom = 64 << 10

// PartName is the most bytes of the name of a part.
const PartName = 64

// size returns the size of everything so far with these events. Each event is encoded once, however
// often size is called.
func (m *measure) size(events []Event, at time.Time) int {
	for _, event := range events[m.measured:] {
		m.event(&event, at)
	}
	m.measured = len(events)
	return len(m.enc.Bytes())
}

// waitForNextLogItem leaves the step to the wake of a timer that is due at once.
func (x *tx) waitForNextLogItem(step *flow.Step) {
	x.wait(&Waiting{
		Attempt: Attempt{Step: step.Index, Number: x.state().Events}, For: WaitingForNextLogItem, Input: value.Object(), Due: x.at, Entry: x.entry(),
	})
}
