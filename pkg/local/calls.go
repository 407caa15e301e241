package local

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// The defaults of what runs at once.
const (
	// DefaultWorkers is the number of wakes handled at once, not counting wakes that await a call.
	DefaultWorkers = 64
	// DefaultCommands is how many child processes run at once.
	DefaultCommands = 16
	// DefaultCalls is how many calls of URLs, Lambda functions and services run at once.
	DefaultCalls = 256
)

// callClass says which bound a call counts against.
type callClass uint8

const (
	// classBuiltIn calls return at once and have no bound.
	classBuiltIn callClass = iota
	// classCommand calls run a child process.
	classCommand
	// classRemote calls await a server.
	classRemote
)

// callGates bound the calls that run at once, by class.
type callGates struct {
	gates         [classRemote + 1]*gate // nil for a class without a bound
	classOf       func(machine.Call) callClass
	asksForLimits bool // a server is asked for the time limits of functions
}

// of returns the gate of a call, nil for one without a bound.
func (g *callGates) of(call machine.Call) *gate { return g.gates[g.classOf(call)] }

// gate bounds how many calls run at once.
type gate struct {
	// places has an element for each call that runs. The calls that wait to send begin in the order
	// in which they came.
	places  chan struct{}
	mu      sync.Mutex
	waiting map[engine.ID]int // calls by execution
}

func newGate(places int) *gate {
	return &gate{places: make(chan struct{}, places), waiting: map[engine.ID]int{}}
}

// enter waits for a place. If it returns nil, the caller must call leave. The error is ctx.Err().
func (g *gate) enter(ctx context.Context, execution engine.ID) error {
	g.count(execution, 1)
	defer g.count(execution, -1)
	select {
	case g.places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *gate) count(execution engine.ID, more int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.waiting[execution] += more; g.waiting[execution] == 0 {
		delete(g.waiting, execution)
	}
}

// leave gives the place to the call that has waited longest.
func (g *gate) leave() { <-g.places }

// awaitedCalls are the functions as workers call them. While a worker awaits a call, or its turn,
// another worker has its place.
type awaitedCalls struct {
	engine.Caller
	system *System
}

// directTime is how long a worker awaits a call before it commits that the execution waits for it.
// Then the execution shows that, and its time limit has a timer. Another wake of the log, such as
// the stop of a lane, ends that time: the history has the call before the wake is handled.
const directTime = 100 * time.Millisecond

// Call implements [engine.Caller].
func (t awaitedCalls) Call(ctx context.Context, call machine.Call) (token.Outcome, error) {
	gate := t.system.gates.of(call)
	if gate == nil {
		return t.Caller.Call(ctx, call)
	}
	select {
	case gate.places <- struct{}{}:
	default: // none is free
		return token.Outcome{}, &engine.SlowCallError{Await: func(ctx context.Context) (token.Outcome, error) { return t.callInTurn(ctx, gate, call) }}
	}
	soon, hurry := context.WithTimeout(ctx, directTime)
	defer hurry()
	running := t.begin(ctx, gate, call, hurry)
	back := t.system.pool.park()
	await(soon, 0, running.ended)
	back()
	if ctx.Err() != nil { // then the call ends, too
		<-running.ended
	}
	select {
	case <-running.ended:
		return running.outcome, running.err
	default:
		return token.Outcome{}, &engine.SlowCallError{Await: func(ctx context.Context) (token.Outcome, error) { return t.await(ctx, running) }}
	}
}

// callInTurn makes the call when its turn has come. Meanwhile other wakes of the execution are
// handled, such as a stop. If one of them ends the wait for the call, the error is a conflict, and
// the worker applies its wake to the new state.
func (t awaitedCalls) callInTurn(ctx context.Context, gate *gate, call machine.Call) (token.Outcome, error) {
	entered := false
	err := t.aside(ctx, call, func(moved context.Context) error {
		err := gate.enter(moved, executionOf(call))
		entered = err == nil
		return err
	})
	if err != nil {
		if entered { // the execution moved on at that instant
			gate.leave()
		}
		return token.Outcome{}, err
	}
	return t.await(ctx, t.begin(ctx, gate, call, nil))
}

// runningCall is a call that was begun.
type runningCall struct {
	call    machine.Call
	ended   chan struct{} // is closed at its end
	outcome token.Outcome
	err     error
}

// begin begins a call, which leaves the gate at its end. Hurry is as for [queue.beginWork].
func (t awaitedCalls) begin(ctx context.Context, gate *gate, call machine.Call, hurry func()) *runningCall {
	running := &runningCall{call: call, ended: make(chan struct{})}
	ended := t.system.queue.beginWork(call.Log, hurry)
	t.system.pool.run(func() {
		defer ended()
		defer close(running.ended)
		defer gate.leave()
		running.outcome, running.err = t.Caller.Call(ctx, call)
	})
	return running
}

// await returns the result of a call. If another wake ends the wait for the call meanwhile, the
// error is a conflict, and the call goes on without effect.
func (t awaitedCalls) await(ctx context.Context, running *runningCall) (token.Outcome, error) {
	err := t.aside(ctx, running.call, func(moved context.Context) error {
		await(moved, 0, running.ended)
		return nil
	})
	switch {
	case ctx.Err() != nil: // then the call ends, too
		<-running.ended
	case err != nil:
		return token.Outcome{}, err
	}
	return running.outcome, running.err
}

// aside waits while other wakes of the call's execution are handled, and another worker has the
// place of this one. The context of wait ends if one of the wakes ends the wait for the call. The
// error is then a conflict.
func (t awaitedCalls) aside(ctx context.Context, call machine.Call, wait func(moved context.Context) error) error {
	defer t.system.pool.park()()
	moved, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	back := t.system.queue.stepAside(call, cancel)
	err := wait(moved)
	back()
	return cmp.Or(context.Cause(moved), err)
}

// TimeLimits implements [engine.Caller]. It may ask Lambda for the limits of its functions.
func (t awaitedCalls) TimeLimits(ctx context.Context, flow *flow.Flow) (map[string]time.Duration, error) {
	if !t.system.gates.asksForLimits {
		return t.Caller.TimeLimits(ctx, flow)
	}
	defer t.system.pool.park()()
	return t.Caller.TimeLimits(ctx, flow)
}

func executionOf(call machine.Call) engine.ID { return engine.NewID(call.Flow.Name, call.Execution) }

// stops end the calls of executions that are asked to stop or have ended, because nothing needs
// their results.
type stops struct {
	mu        sync.Mutex
	requested map[engine.ID]bool // until the execution ends
	calls     map[engine.ID][]*context.CancelCauseFunc
}

// errStopped is the cause with which the context of such a call ends.
var errStopped = errors.New("the execution is stopped")

// begin returns a context for a call of the execution, and what to call after it.
func (s *stops) begin(ctx context.Context, execution engine.ID) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.requested[execution] {
		cancel(errStopped)
	}
	s.calls[execution] = append(s.calls[execution], &cancel)
	return ctx, func() {
		cancel(nil)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.calls[execution] = slices.DeleteFunc(s.calls[execution], func(other *context.CancelCauseFunc) bool { return other == &cancel })
		if len(s.calls[execution]) == 0 {
			delete(s.calls, execution)
		}
	}
}

// end ends the calls of an execution: if it ended, its present calls; if it is asked to stop, also
// the calls that it would begin before it stops.
func (s *stops) end(execution engine.ID, requested bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.requested, execution); requested {
		s.requested[execution] = true
	}
	for _, cancel := range s.calls[execution] {
		(*cancel)(errStopped)
	}
}

// stoppableCalls are functions with calls that end with their executions. The error is then
// [errStopped].
type stoppableCalls struct {
	engine.Caller
	gates *callGates
	stops *stops
}

// Call implements [engine.Caller].
func (t stoppableCalls) Call(ctx context.Context, call machine.Call) (token.Outcome, error) {
	if t.gates.of(call) == nil {
		return t.Caller.Call(ctx, call)
	}
	ctx, end := t.stops.begin(ctx, executionOf(call))
	defer end()
	outcome, err := t.Caller.Call(ctx, call)
	if err != nil && errors.Is(context.Cause(ctx), errStopped) {
		return token.Outcome{}, errStopped
	}
	return outcome, err
}

// workers are the goroutines that handle wakes, and the goroutines that make calls. At most limit
// of the former do not await a call. As long as there are fewer, at least one of them is idle. A
// worker that finishes its wake while there are more of them ends.
//
// A goroutine that has nothing more to do waits for the next worker or call. The stack of a new one
// would grow step by step, which takes as long as a tenth of a call of a URL.
type workers struct {
	limit int

	mu      sync.Mutex
	running int // without those that are parked
	idle    int // of them, those that wait for a wake or are about to
	work    func()
	ended   <-chan struct{} // is closed at the end of the run
	all     sync.WaitGroup
	spare   chan func()  // what the goroutines that wait do next
	spares  atomic.Int32 // how many goroutines wait
}

// mostSpares is how many goroutines wait for more to do. The stack of each takes 16 to 32 KB.
const mostSpares = 128

// begin starts the workers; each calls work until more returns false or there is nothing more to
// do. No goroutine waits for more when the run has ended.
func (w *workers) begin(work func(), ended <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.work, w.running, w.idle, w.ended = work, 0, 0, ended
	for range w.limit {
		w.add()
	}
}

// add adds an idle worker. w.mu is held.
func (w *workers) add() {
	w.running++
	w.idle++
	w.run(w.work)
}

// replace adds a worker if one is needed. w.mu is held.
func (w *workers) replace() {
	if w.idle == 0 && w.running < w.limit {
		w.add()
	}
}

// received is called by a worker that is not idle any more.
func (w *workers) received() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.idle--
	w.replace()
}

// run calls a function of this run in a goroutine of its own.
func (w *workers) run(next func()) {
	select {
	case w.spare <- next:
	default:
		w.all.Go(func() {
			for next != nil {
				next()
				next = w.await()
			}
		})
	}
}

// await returns the next work of the calling goroutine, nil for none.
func (w *workers) await() func() {
	defer w.spares.Add(-1)
	if w.spares.Add(1) > mostSpares {
		return nil
	}
	select {
	case next := <-w.spare:
		return next
	case <-w.ended:
		return nil
	}
}

// more reports whether the worker, which then is idle, handles another wake. If not, the worker is
// not counted any more.
func (w *workers) more() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running > w.limit {
		w.running--
		return false
	}
	w.idle++
	return true
}

// park replaces the calling worker by another one until unpark is called, unless one is idle.
func (w *workers) park() (unpark func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running--
	w.replace()
	return w.unpark
}

// unpark makes the caller a worker again.
func (w *workers) unpark() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running++
}
