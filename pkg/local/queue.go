package local

import (
	"cmp"
	"context"
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

	mu      sync.Mutex
	waiting *btreemap.BTreeMap[turn, *delivery]
	sent    int // counts wakes and actions
	// busy has the executions of which a wake is being handled, a start is under way, or a call waits
	// for its turn.
	busy map[engine.ID]*busy
	// background counts other work under way that may send a wake. While there is some, the queue is
	// not idle and a virtual clock stands still.
	background int
	works      sync.WaitGroup // in the background
	acting     bool           // an action runs alone
	// ready holds a signal for one goroutine that waits in receive to look again. It signals the next
	// one if there is more.
	ready chan struct{}
	// idled, unless nil, is closed when the queue becomes idle.
	idled chan struct{}
}

// busy says what keeps the wakes of an execution from being handled.
type busy struct {
	count int                // of wakes being handled and starts under way
	cause string             // of the wake being handled
	due   map[turn]*delivery // the wakes that became due meanwhile
	aside []*aside           // the wakes whose calls wait for their turns
}

// aside is a wake of which a call waits for its turn. Other wakes of its
// execution are handled meanwhile, unless they have the same cause: they would
// make the same call.
type aside struct {
	cause   string
	attempt machine.Attempt         // of the call
	moved   context.CancelCauseFunc // is called when the execution goes on without it
	back    chan struct{}           // if not nil, is closed when no other wake is handled any more
}

// keepsBack reports whether a wake has to wait.
func (b *busy) keepsBack(cause string) bool {
	return b.count > 0 || slices.ContainsFunc(b.aside, func(a *aside) bool { return a.cause == cause })
}

func (b *busy) keepBack(until turn, d *delivery) {
	if b.due == nil {
		b.due = map[turn]*delivery{}
	}
	b.due[until] = d
}

// longestPause is the longest time between two looks at the real clock. Timers stand still while the
// machine sleeps; the clock does not.
const longestPause = time.Minute

func newQueue(clock *Clock) *queue {
	const degree = 16
	return &queue{
		clock: clock, waiting: btreemap.New[turn, *delivery](degree, turn.compare), busy: map[engine.ID]*busy{}, ready: make(chan struct{}, 1),
	}
}

// Send implements [engine.Wakes].
func (q *queue) Send(_ context.Context, w engine.Wake) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.push(w.Due, &delivery{wake: w})
	return nil
}

// at calls action at the instant, beside the handling of wakes.
func (q *queue) at(t time.Time, action func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.push(t, &delivery{action: action})
}

// push adds a delivery and signals a waiting receiver. q.mu is held.
func (q *queue) push(at time.Time, d *delivery) {
	q.sent++
	q.waiting.ReplaceOrInsert(turn{at, q.sent}, d)
	q.signal()
}

// signal makes one waiting receiver look again.
func (q *queue) signal() {
	select {
	case q.ready <- struct{}{}:
	default: // a receiver will look anyway
	}
}

// receive waits for the next wake that is due, and returns it. It moves a virtual clock when nothing is
// under way. The error is that of ctx.
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

// next removes and returns a due wake, or returns the longest time to wait, 0 for no limit. It delivers nothing after the end
// of ctx: a wake that was put back by the worker that ended the run is left to the next run, and the clock does not move.
func (q *queue) next(ctx context.Context) (w engine.Wake, pause time.Duration, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		turn, first, ok := q.waiting.Min()
		if !ok || q.acting || ctx.Err() != nil {
			return w, 0, false
		}
		if len(q.busy) == 0 && q.background == 0 {
			q.clock.jump(turn.at)
		}
		if ahead := turn.at.Sub(q.clock.Now()); ahead > 0 {
			return w, q.clock.pause(ahead), false
		}
		q.waiting.DeleteMin()
		if first.action != nil {
			q.act(first.action)
			continue
		}
		if held := q.busy[first.wake.Execution]; held != nil && held.keepsBack(first.wake.Cause) {
			held.keepBack(turn, first)
			continue
		}
		q.hold(first.wake.Execution).cause = first.wake.Cause
		if q.waiting.Len() > 0 {
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

// HoldBack implements [engine.HoldingWakes]. It holds back the wakes of an execution, and a virtual clock, until release is called.
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
		q.waiting.ReplaceOrInsert(turn, d)
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

// stepAside lets other wakes of the call's log be handled, while its present wake waits for the call, until
// back is called. A virtual clock stands still meanwhile. If the log commits meanwhile that it does not wait
// for the call, moved is called with a conflict. A heartbeat, say, changes only how long it waits.
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
	case q.waiting.Len() > 0:
		q.signal()
	case q.idled != nil && len(q.busy) == 0 && q.background == 0:
		close(q.idled)
		q.idled = nil
	}
}

// whenIdle returns a channel that is closed when no wake waits or is being handled, so that only a new
// wake can start work.
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

// act begins an action. With a virtual clock, nothing else is delivered until it has ended: what an action sends has the
// same place in each run. q.mu is held.
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

// beginWork begins work beside the handling of wakes, which its caller does until it calls end.
func (q *queue) beginWork() (end func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.background++
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
}

// turn is the place of a delivery: first due, first delivered, and first sent of those of one instant.
type turn struct {
	at    time.Time
	order int
}

func (t turn) compare(other turn) int {
	return cmp.Or(t.at.Compare(other.at), cmp.Compare(t.order, other.order))
}
