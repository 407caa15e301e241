package local

import (
	"container/list"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// The defaults of what runs at once.
const (
	// DefaultWorkers is how many wakes are handled at once, without those that await a call.
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
	commands, remote gate
	classOf          func(machine.Call) callClass
	asksForLimits    bool // a server is asked for the time limits of functions
}

// newCallGates returns the gates of calls. Calls of tasks of another package count as remote.
func newCallGates(config Config) *callGates {
	g := &callGates{classOf: func(machine.Call) callClass { return classRemote }, asksForLimits: true}
	g.commands.free, g.remote.free = orDefault(config.Commands, DefaultCommands), orDefault(config.Calls, DefaultCalls)
	if tasks, ok := config.Tasks.(*Tasks); ok {
		g.classOf, g.asksForLimits = tasks.classOf, tasks.asksForLimits()
	}
	return g
}

func orDefault(value, byDefault int) int {
	if value > 0 {
		return value
	}
	return byDefault
}

// awaitsTurn reports whether a call of the execution waits for its turn.
func (g *callGates) awaitsTurn(execution engine.ID) bool {
	return g.commands.awaitedBy(execution) || g.remote.awaitedBy(execution)
}

// of returns the gate of a call, nil for one without a bound.
func (g *callGates) of(call machine.Call) *gate {
	switch g.classOf(call) {
	case classCommand:
		return &g.commands
	case classRemote:
		return &g.remote
	case classBuiltIn:
	}
	return nil
}

// gate bounds how many calls run at once. The others wait in the order in which
// they came.
type gate struct {
	mu      sync.Mutex
	free    int
	waiting list.List         // of *turn
	counts  map[engine.ID]int // of the turns in waiting, by execution
}

// turn is a place in the line before a gate.
type turn struct {
	gate      *gate
	execution engine.ID
	come      chan struct{} // closed when it is this turn
	at        *list.Element
}

// ask takes a free place and returns nil, or returns the turn to wait for.
func (g *gate) ask(execution engine.ID) *turn {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.free > 0 { // which implies that no call waits
		g.free--
		return nil
	}
	t := &turn{gate: g, execution: execution, come: make(chan struct{})}
	t.at = g.waiting.PushBack(t)
	if g.counts == nil {
		g.counts = map[engine.ID]int{}
	}
	g.counts[execution]++
	return t
}

// awaitedBy reports whether a call of the execution waits for its turn.
func (g *gate) awaitedBy(execution engine.ID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.counts[execution] > 0
}

// enter waits for a place. If it returns nil, the caller must call leave. The error is that of ctx.
func (g *gate) enter(ctx context.Context, execution engine.ID) error {
	if t := g.ask(execution); t != nil {
		return t.await(ctx)
	}
	return nil
}

// await returns nil when the turn has come. The error is that of ctx, which ends the wait.
func (t *turn) await(ctx context.Context) error {
	select {
	case <-t.come:
		return nil
	case <-ctx.Done():
		t.giveUp()
		return ctx.Err()
	}
}

// giveUp ends a wait whose turn may have come meanwhile.
func (t *turn) giveUp() {
	t.gate.mu.Lock()
	defer t.gate.mu.Unlock()
	select {
	case <-t.come:
		t.gate.release()
	default:
		t.gate.remove(t)
	}
}

// remove takes a turn out of the line. g.mu is held.
func (g *gate) remove(t *turn) {
	g.waiting.Remove(t.at)
	if g.counts[t.execution]--; g.counts[t.execution] == 0 {
		delete(g.counts, t.execution)
	}
}

// leave gives the place to the call that has waited longest.
func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.release()
}

// release is leave. g.mu is held.
func (g *gate) release() {
	first := g.waiting.Front()
	if first == nil {
		g.free++
		return
	}
	t := first.Value.(*turn) //nolint:forcetypeassert // only turns are pushed
	g.remove(t)
	close(t.come)
}

// awaitedTasks are the tasks as workers call them. While a worker awaits a call, or its turn, another
// worker has its place.
type awaitedTasks struct {
	engine.Caller
	system *System
}

// Call implements [engine.Caller].
func (t awaitedTasks) Call(ctx context.Context, call machine.Call) (token.Outcome, error) {
	gate := t.system.gates.of(call)
	if gate == nil {
		return t.Caller.Call(ctx, call)
	}
	if turn := gate.ask(executionOf(call)); turn != nil {
		return token.Outcome{}, &engine.WaitError{
			Call:   func(ctx context.Context) (token.Outcome, error) { return t.callInTurn(ctx, turn, call) },
			GiveUp: turn.giveUp,
		}
	}
	defer gate.leave()
	defer t.system.workers.park()()
	return t.Caller.Call(ctx, call)
}

// callInTurn makes the call when its turn has come. Meanwhile other wakes of the execution are handled,
// such as that of a stop. If one of them commits, the error is a conflict, and the worker applies its
// wake to the new state.
func (t awaitedTasks) callInTurn(ctx context.Context, turn *turn, call machine.Call) (token.Outcome, error) {
	defer t.system.workers.park()()
	waiting, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	back := t.system.queue.stepAside(executionOf(call), cancel)
	err := turn.await(waiting)
	back()
	if err == nil {
		defer turn.gate.leave()
	}
	if cause := context.Cause(waiting); cause != nil { // perhaps after the turn came
		return token.Outcome{}, cause
	}
	return t.Caller.Call(ctx, call)
}

// TimeLimits implements [engine.Caller]. It may ask Lambda for the limits of its functions.
func (t awaitedTasks) TimeLimits(ctx context.Context, flow *fdl.Flow) (map[string]time.Duration, error) {
	if !t.system.gates.asksForLimits {
		return t.Caller.TimeLimits(ctx, flow)
	}
	defer t.system.workers.park()()
	return t.Caller.TimeLimits(ctx, flow)
}

func executionOf(call machine.Call) engine.ID { return engine.NewID(call.Flow.Name, call.Execution) }

// stops end the calls of executions that are asked to stop or have ended, whose results nothing
// needs.
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

// request ends the calls of an execution, and those that it would begin before it is stopped.
func (s *stops) request(execution engine.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requested[execution] = true
	s.cancel(execution)
}

// ended ends the calls that are left of an execution that has ended.
func (s *stops) ended(execution engine.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.requested, execution)
	s.cancel(execution)
}

// cancel ends the calls of an execution. s.mu is held.
func (s *stops) cancel(execution engine.ID) {
	for _, cancel := range s.calls[execution] {
		(*cancel)(errStopped)
	}
}

// stoppableTasks are tasks whose calls end with their executions. The error is then [errStopped].
type stoppableTasks struct {
	engine.Caller
	gates *callGates
	stops *stops
}

// Call implements [engine.Caller].
func (t stoppableTasks) Call(ctx context.Context, call machine.Call) (token.Outcome, error) {
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

// workers are the goroutines that handle wakes. There are always limit of them that do not await a call.
// A worker that finishes its wake while there are more ends.
type workers struct {
	limit int

	mu      sync.Mutex
	running int // without those that are parked
	work    func()
	all     sync.WaitGroup
}

// begin starts the workers, each of which calls work until more returns false or
// there is nothing more to do.
func (w *workers) begin(work func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.work, w.running = work, w.limit
	for range w.limit {
		w.all.Go(work)
	}
}

// more reports whether the worker handles another wake. If not, the worker is not counted any more.
func (w *workers) more() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running > w.limit {
		w.running--
		return false
	}
	return true
}

// park replaces the calling worker by another one until unpark is called.
func (w *workers) park() (unpark func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running > w.limit { // there is one worker too many
		w.running--
	} else {
		w.all.Go(w.work)
	}
	return w.unpark
}

// unpark makes the caller a worker again.
func (w *workers) unpark() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running++
}
