package local

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/RaduBerinde/btreemap"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// queue keeps wakes until they are due. It implements [engine.Wakes].
//
// Wakes of one execution are handled one after the other: two at once would
// make the same calls.
type queue struct {
	clock *Clock

	mu sync.Mutex
	// waiting has the deliveries of each class. In real time ordinary deliveries and the deliveries
	// of each family take turns, so that a family of sub-flows that grows without end delays no
	// other execution.
	waiting [classes]*btreemap.BTreeMap[turn, *delivery]
	overdue [classes]int // counts the waiting deliveries that need no instant
	last    class        // the class of the last delivery
	family  class        // whose turn is the next one of families
	sent    int          // counts wakes and actions
	// busy has the executions with a wake being handled, a start under way, or a call that a
	// worker awaits.
	busy map[engine.ID]*busy
	// background counts other work under way that may send a wake. While there is some, the queue
	// is not idle and a virtual clock stands still.
	background int
	works      sync.WaitGroup // in the background
	acting     bool           // an action runs alone
	// ready holds a signal for one goroutine that waits in receive to look again. It signals the
	// next one if there is more.
	ready chan struct{}
	// idled, unless nil, is closed when the queue becomes idle.
	idled chan struct{}
}

// busy says what keeps the wakes of an execution from being handled.
type busy struct {
	count int                // of wakes being handled and starts under way
	cause string             // of the wake being handled
	due   map[turn]*delivery // the wakes that became due meanwhile
	aside []*aside           // the wakes whose calls are awaited
	// hurry, if not nil, is called when a wake with another cause becomes due meanwhile.
	hurry func()
}

// aside is a wake with a call that a worker awaits. Other wakes of its execution are handled
// meanwhile, unless they have the same cause: they would make the same call.
type aside struct {
	cause   string
	attempt machine.Attempt         // of the call
	moved   context.CancelCauseFunc // is called when the execution goes on without it
	back    chan struct{}           // if not nil, is closed when no other wake is handled any more
}

// longestPause is the longest time between two looks at the real clock. Timers stand still while
// the machine sleeps; the clock does not.
const longestPause = time.Minute

func newQueue(clock *Clock) *queue {
	const degree = 16
	q := &queue{clock: clock, busy: map[engine.ID]*busy{}, ready: make(chan struct{}, 1)}
	for c := range q.waiting {
		q.waiting[c] = btreemap.New[turn, *delivery](degree, turn.compare)
	}
	return q
}

// class says which deliveries wait for one another. After the ordinary ones come two classes of
// each family: first the wakes that may end an execution, then the others.
type class uint8

const (
	classOrdinary class = 0
	// families is how many groups of sub-flows of sub-flows take turns. A root is in one of them.
	families = 64
	classes  = 1 + 2*families
)

func (d *delivery) class() class {
	if d.action != nil || !d.wake.Descendant {
		return classOrdinary
	}
	first := 1 + 2*(class(d.wake.Root[0])%families)
	switch cause := d.wake.Cause; {
	case cause == machine.CauseStop, cause == machine.CauseLimit, cause == machine.CauseParent, machine.IsJoin(cause):
		return first // such wakes are few for each start, so starts get their turn
	}
	return first + 1
}

// first returns the delivery that has its turn: with a real clock a due one, else the earliest one.
// q.mu is held.
func (q *queue) first() (earliest turn, d *delivery, ok bool) {
	now := q.clock.Now()
	var order [classes]class // beginning with the class that has its turn
	at := order[:]
	if q.last != classOrdinary {
		at = at[1:] // order[0] is classOrdinary
	}
	for i := range class(families) {
		first := 1 + 2*((q.family+i)%families)
		at[2*i], at[2*i+1] = first, first+1
	}
	for _, c := range order {
		if q.waiting[c].Len() == 0 {
			continue
		}
		switch t, one := q.firstOf(c, now); {
		case !q.clock.IsVirtual() && (one.isDue || !t.at.After(now)):
			return t, one, true
		case !ok || t.compare(earliest) < 0:
			earliest, d, ok = t, one, true
		}
	}
	return earliest, d, ok
}

// firstOf returns the next delivery of a class that has some. If none is due by the clock, but some
// needs no instant, the clock stepped back, and firstOf returns the earliest of these. q.mu is
// held.
func (q *queue) firstOf(c class, now time.Time) (turn, *delivery) {
	t, d, _ := q.waiting[c].Min()
	if q.overdue[c] == 0 || d.isDue || !t.at.After(now) {
		return t, d
	}
	for t, d = range q.waiting[c].Ascend(btreemap.Min[turn](), btreemap.Max[turn]()) {
		if d.isDue {
			break
		}
	}
	return t, d
}

// length returns how many deliveries wait. q.mu is held.
func (q *queue) length() (n int) {
	for _, waiting := range q.waiting {
		n += waiting.Len()
	}
	return n
}

// Send implements [engine.Wakes].
func (q *queue) Send(_ context.Context, w engine.Wake) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.push(w.Due, &delivery{wake: w, isDue: !w.Due.After(w.Sent)})
	return nil
}

// at calls action at the instant, beside the handling of wakes.
func (q *queue) at(t time.Time, action func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.push(t, &delivery{action: action})
}

// whenSettled calls action when a virtual clock would move on: nothing is under way or due at the
// present instant. With a real clock it calls action soon. At most one such action may wait.
func (q *queue) whenSettled(action func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.insert(turn{q.clock.Now(), math.MaxInt}, &delivery{action: action, settles: q.clock.IsVirtual()})
	q.signal()
}

// push adds a delivery and signals a waiting receiver. q.mu is held.
func (q *queue) push(at time.Time, d *delivery) {
	q.sent++
	q.insert(turn{at, q.sent}, d)
	q.signal()
}

// insert makes a delivery wait for its turn. q.mu is held.
func (q *queue) insert(t turn, d *delivery) {
	q.waiting[d.class()].ReplaceOrInsert(t, d)
	if d.isDue {
		q.overdue[d.class()]++
	}
}

// signal makes one waiting receiver look again.
func (q *queue) signal() {
	select {
	case q.ready <- struct{}{}:
	default: // a receiver will look anyway
	}
}

// receive waits for the next wake that is due, and returns it. It moves a virtual clock when
// nothing is under way. The error is ctx.Err().
func (q *queue) receive(ctx context.Context) (engine.Wake, error) {
	for ctx.Err() == nil {
		w, pause, ok := q.next(ctx)
		if ok {
			return w, nil
		}
		await(ctx, pause, q.ready)
	}
	return engine.Wake{}, ctx.Err()
}

// next removes and returns a due wake, or returns the longest time to wait, 0 for no limit. It
// delivers nothing after the end of ctx: a wake that was put back by the worker that ended the run
// is left to the next run, and the clock does not move.
func (q *queue) next(ctx context.Context) (w engine.Wake, pause time.Duration, ok bool) { //nolint:gocyclo // one order of checks
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		place, first, ok := q.first()
		if !ok || q.acting || ctx.Err() != nil {
			return w, 0, false
		}
		switch idle := len(q.busy) == 0 && q.background == 0; {
		case idle:
			q.clock.jump(place.at)
		case first.settles:
			return w, 0, false
		}
		if ahead := place.at.Sub(q.clock.Now()); ahead > 0 && !first.isDue {
			if q.clock.IsVirtual() {
				return w, 0, false
			}
			return w, min(ahead, longestPause), false
		}
		if q.last = first.class(); q.last != classOrdinary {
			q.family = (q.last-1)/2 + 1
		}
		q.waiting[q.last].Delete(place)
		if first.isDue {
			q.overdue[q.last]--
		}
		if first.action != nil {
			q.act(first.action)
			continue
		}
		isAside := func(a *aside) bool { return a.cause == first.wake.Cause }
		if held := q.busy[first.wake.Execution]; held != nil && (held.count > 0 || slices.ContainsFunc(held.aside, isAside)) {
			if held.due == nil {
				held.due = map[turn]*delivery{}
			}
			first.isDue = true
			if held.due[place] = first; held.hurry != nil && first.wake.Cause != held.cause {
				held.hurry()
			}
			continue
		}
		q.hold(first.wake.Execution).cause = first.wake.Cause
		if q.length() > 0 {
			q.signal() // the receiver of the next one
		}
		first.wake.Receives++
		return first.wake, 0, true
	}
}

// finished ends the handling of a received wake. It is redelivered at putBack, unless that is zero.
func (q *queue) finished(w engine.Wake, putBack time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !putBack.IsZero() {
		q.push(putBack, &delivery{wake: w})
	}
	q.release(w.Execution)
}

// SendAll implements [engine.Wakes].
func (q *queue) SendAll(ctx context.Context, wakes []engine.Wake) error {
	return engine.SendEach(ctx, wakes, q.Send)
}

// HoldBack implements [engine.Wakes]. It holds back the wakes of an execution, and a virtual clock,
// until release is called.
func (q *queue) HoldBack(execution engine.ID) (release func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.hold(execution)
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.release(execution)
	}
}

// hold makes an execution busy. q.mu is held.
func (q *queue) hold(execution engine.ID) *busy {
	if q.busy[execution] == nil {
		q.busy[execution] = &busy{}
	}
	q.busy[execution].count++
	return q.busy[execution]
}

// release undoes hold. q.mu is held.
func (q *queue) release(execution engine.ID) {
	held := q.busy[execution]
	if held.count--; held.count > 0 {
		return
	}
	if next := slices.IndexFunc(held.aside, func(a *aside) bool { return a.back != nil }); next >= 0 {
		close(held.aside[next].back)
		held.takeBack(held.aside[next])
		return
	}
	for turn, d := range held.due {
		q.insert(turn, d)
	}
	clear(held.due)
	if len(held.aside) == 0 {
		delete(q.busy, execution)
	}
	q.relieved()
}

// takeBack makes a wake that stepped aside the one being handled.
func (b *busy) takeBack(a *aside) {
	b.aside = slices.DeleteFunc(b.aside, func(other *aside) bool { return other == a })
	b.count++
	b.cause = a.cause
}

// stepAside lets other wakes of the call's log be handled, while its present wake waits for the
// call, until back is called. A virtual clock stands still meanwhile. If the log commits meanwhile
// that it does not wait for the call, moved is called with a conflict. A heartbeat, say, changes
// only how long it waits.
func (q *queue) stepAside(call machine.Call, moved context.CancelCauseFunc) (back func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	held := q.busy[call.Log]
	a := &aside{cause: held.cause, attempt: call.Attempt, moved: moved}
	held.aside = append(held.aside, a)
	q.release(call.Log)
	return func() { q.stepBack(call.Log, a) }
}

// stepBack returns when no other wake of the execution is being handled.
func (q *queue) stepBack(execution engine.ID, a *aside) {
	q.mu.Lock()
	held := q.busy[execution]
	if held.count == 0 {
		held.takeBack(a)
		q.mu.Unlock()
		return
	}
	back := make(chan struct{})
	a.back = back
	q.mu.Unlock()
	<-back
}

// committed notifies the wakes that stepped aside of a commit of their execution.
func (q *queue) committed(execution engine.ID, state machine.State) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if held := q.busy[execution]; held != nil {
		for _, a := range held.aside {
			if state.Waiting == nil || state.Waiting.Attempt != a.attempt || state.Ending != nil {
				a.moved(engine.ErrConflict)
			}
		}
	}
}

// relieved is called when some work has ended. q.mu is held.
func (q *queue) relieved() {
	switch {
	case q.length() > 0:
		q.signal()
	case q.idled != nil && len(q.busy) == 0 && q.background == 0:
		close(q.idled)
		q.idled = nil
	}
}

// whenIdle returns a channel that is closed when no wake waits or is being handled, so that only a
// new wake can start work.
func (q *queue) whenIdle() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.idled == nil {
		q.idled = make(chan struct{})
	}
	idled := q.idled
	q.relieved()
	return idled
}

// inBackground runs work beside the handling of wakes.
func (q *queue) inBackground(work func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.begin(work)
}

// act begins an action. With a virtual clock, nothing else is delivered until it has ended: the
// wakes that an action sends have the same place in each run. q.mu is held.
func (q *queue) act(action func()) {
	if !q.clock.IsVirtual() {
		q.begin(action)
		return
	}
	q.acting = true
	q.begin(func() {
		defer func() {
			q.mu.Lock()
			defer q.mu.Unlock()
			q.acting = false
			q.signal()
		}()
		action()
	})
}

// begin begins work that background counts. q.mu is held.
func (q *queue) begin(work func()) {
	q.background++
	q.works.Go(func() {
		defer q.endWork()
		work()
	})
}

// beginWork begins work beside the handling of wakes, which its caller does until it calls end. It
// calls hurry, unless that is nil, when the log that is being handled has a wake with another
// cause, perhaps at once.
func (q *queue) beginWork(log engine.ID, hurry func()) (end func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.background++
	if held := q.busy[log]; hurry != nil {
		held.hurry = hurry
		for _, d := range held.due {
			if d.wake.Cause != held.cause {
				hurry()
			}
		}
	}
	return q.endWork
}

func (q *queue) endWork() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.background--
	q.relieved()
}

// await returns when there is a signal or ctx ends, and after the pause unless
// that is 0.
func await(ctx context.Context, pause time.Duration, signal <-chan struct{}) {
	var elapsed <-chan time.Time
	if pause > 0 {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		elapsed = timer.C
	}
	select {
	case <-elapsed:
	case <-signal:
	case <-ctx.Done():
	}
}

// delivery is a wake that waits, or an action.
type delivery struct {
	wake   engine.Wake
	action func()
	isDue  bool // it was due once, and stays so when the clock steps back
	// settles reports whether the action waits for all work under way.
	settles bool
}

// turn is the place of a delivery in its class: first due, first delivered, and first sent among
// deliveries of one instant.
type turn struct {
	at    time.Time
	order int
}

func (t turn) compare(other turn) int {
	return cmp.Or(t.at.Compare(other.at), cmp.Compare(t.order, other.order))
}
