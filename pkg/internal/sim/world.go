package sim

import (
	"container/heap"
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
)

// Report is what came of a run.
type Report struct {
	Seed       uint64
	Violations []Violation
	// Trace has a line for everything that happened.
	Trace []byte
}

// epoch is when every run begins.
var epoch = time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)

// shared is what the executions of a run have in common.
type shared struct {
	rand   *rand.Rand
	now    time.Duration // since epoch
	agenda agenda
	order  int
	trace  []byte
	faults faults
	// slowAtAll and lateAtAll say what the faults were in the beginning.
	slowAtAll, lateAtAll bool

	// alone: there is one process at a time; generation counts them. Offsets are how
	// far the clock of each is ahead, nil where all clocks are right.
	alone bool
	more  bool // two executions, and clocks that differ; see drawsMore
	// waitsForTurns: calls may have to wait; see drawsTurns.
	waitsForTurns bool
	writeFormat   int // of items; see drawsClaims
	// allPatterns: steps may also start sub-flows without waiting for their end; see
	// drawSubPattern.
	allPatterns bool
	longCalls   bool // a few calls take all the time of a worker
	notifies    bool // executions have targets; see drawsNotices
	generation  uint64
	losses      int           // of the queue of wakes; see drawsLoss
	restores    int           // of tables from a backup; see drawsRestore
	changesLeft int           // of join records, until that
	swept       bool          // see drawsSweeps
	losesUntil  time.Duration // wakes that are sent before are lost
	lastSweep   time.Duration
	outage      outage
	abandons    int // how often the janitor abandoned what depends on a wake
	offsets     []time.Duration

	jobs       jobWorld
	worlds     []*world
	subflows   map[string]flowDraft // by name
	actors     int                  // begun so far, for their names
	fresh      int                  // texts made so far, for nonces and tags
	handles    []string             // seen so far, for the trace
	answers    int                  // outcomes made up so far, so that no two are the same
	violations []Violation
}

// world is one execution and everything around it.
type world struct {
	*shared
	*family
	defect defect
	// closesBadly: a defect begins when the first fork closes.
	closesBadly bool
	refused     int // commits that were refused though no worker was first; each may have sent a timer

	redriven   engine.StartRequest // of the redrive of another execution, without a name for one that starts
	leftBefore string              // the step that the other execution was left at, "" for none
	doneBefore map[int]bool        // the items of that step that had results, if it is a fork
	starters   []*world            // which have a step that starts this sub-flow, nil for other executions
	awaiting   *log                // whose step waits for this sub-flow, nil for other executions
	handle     string              // of the step's token

	machine   bool // the flow is in the Amazon States Language; see drawsMachine
	hasJobs   bool // the flow may wait for jobs, in every fourth run
	tries     bool // its tasks may be tried again; see drawsTries
	restored  bool // its tables are restored from a backup; see drawsRestore
	nested    bool // it begins with a fork in a lane of a fork, of which calls fail
	claims    bool // its flow begins with a foreach whose lanes claim their items; see drawsForeach
	handled   bool // its forks may be caught or tried again; see drawsHandlers
	begins    bool // its flow begins with such a fork; see drawsHandled
	tolerates bool // its foreach steps may tolerate failures; see drawsTolerance
	forks     bool // its flow may have forks; see drawsForks
	failing   int  // one call in so many fails
	limits    machine.Limits
	flow      flowDraft
	execution string // by name
	id        engine.ID
	ref       machine.FlowRef
	store     store

	// What the invariants look at afterwards.
	live, deliveries, outside int
	forged                    int                      // forged wakes
	sends, copies             map[string]int           // by cause: how often a wake was sent, and doubled
	answered                  map[string]time.Duration // by handle: when an answer was first to be kept
	calls                     callCounts
	polled                    map[string]*polled // by wait and number
	met                       map[string]meeting // by handle
	started                   map[string]bool    // by what the service answered: the jobs
	told                      []told
	noticed                   noticed
	accepted, stopped         bool // a start, and a stop, was answered
}

// Run is the run of a seed.
func Run(seed uint64) Report {
	w := newWorld(seed)
	w.run(seed)
	return Report{Seed: seed, Violations: w.violations, Trace: w.trace}
}

func (w *world) run(seed uint64) {
	w.begin()
	if w.more {
		w.drawOther(seed).start(w.between(0, 5*time.Second), startTries)
	}
	if drawsOutage(seed) {
		w.drawOutage()
	}
	switch {
	case drawsRestore(seed):
		w.beginRestore()
	case drawsLoss(seed):
		w.beginLoss()
	case w.swept:
		w.beginSweeps()
	}
	w.turn()
	if w.swept {
		w.endOutage()
		w.turn()
	}
	if drawsRedrive(seed) && w.redrive() {
		w.turn()
	}
	w.settleAll()
	for _, each := range w.worlds {
		each.check()
	}
}

func newWorld(seed uint64) *world {
	common := &shared{
		jobs:     jobWorld{meetings: map[jobs.Key]resume.JobRecord{}, told: map[string]time.Duration{}},
		rand:     rand.New(rand.NewPCG(seed, 0)), //nolint:gosec // the same seed has to give the same run
		subflows: map[string]flowDraft{},
	}
	w := common.newExecution(machine.FlowRef{Name: "sim", Hash: "sim"}, "run")
	w.more, w.waitsForTurns, w.allPatterns, w.notifies = drawsMore(seed), drawsTurns(seed), drawsAllPatterns(seed), drawsNotices(seed)
	if drawsClaims(seed) {
		w.writeFormat = machine.Format
	}
	w.faults = w.drawFaults()
	w.slowAtAll, w.lateAtAll = w.faults.slow > 0, w.faults.late > 0
	w.longCalls = w.allPatterns && w.chance(4)
	w.swept = drawsSweeps(seed) && !drawsLoss(seed)
	w.draw(seed)
	if w.forks && w.chance(3) {
		w.aimAtCommits()
	}
	if w.claims && w.chance(2) {
		w.faults.doubled, w.faults.left = 1+w.rand.IntN(3), 2+w.rand.IntN(4)
		if w.nested || w.tolerates {
			w.aimAtCommits()
		}
		if w.tolerates {
			w.faults.doubled, w.faults.left = 2, 5+w.rand.IntN(6)
		}
	}
	if w.begins && w.chance(2) {
		w.faults.doubled, w.faults.left = 1+w.rand.IntN(3), 2+w.rand.IntN(4)
	}
	w.defect = w.drawDefect()
	if w.closesBadly = w.tolerates && w.chance(4); w.closesBadly && w.chance(2) {
		w.aimAtCommits()
	}
	w.note("seed %d: %s", seed, w.faults)
	w.trace = append(w.trace, w.flow.text...)
	return w
}

// newExecution adds an execution of that name, without its flow.
func (s *shared) newExecution(flow machine.FlowRef, name string) *world {
	w := &world{
		shared: s, family: &family{}, execution: name, ref: flow,
		sends: map[string]int{}, copies: map[string]int{}, calls: callCounts{by: map[string]*called{}}, answered: map[string]time.Duration{},
		started: map[string]bool{}, polled: map[string]*polled{}, met: map[string]meeting{},
		noticed: noticed{bodies: map[string]string{}, waits: map[string]bool{}},
	}
	w.id = engine.NewID(w.ref.Name, name)
	w.store.logs = map[engine.ID]*log{}
	w.addLog(&log{id: w.id})
	w.store.records = map[string][]stored{}
	w.store.joins, w.store.older = map[engine.ForkID]engine.JoinRecord{}, map[engine.ForkID]engine.JoinRecord{}
	w.store.roots = map[engine.ID]engine.RootRecord{}
	if len(s.worlds) > 0 {
		w.store.records, w.store.roots = s.worlds[0].store.records, s.worlds[0].store.roots
	}
	s.worlds = append(s.worlds, w)
	return w
}

// draw makes up the flow.
func (w *world) draw(seed uint64) {
	w.hasJobs, w.tries, w.forks, w.failing = seed%4 == 3, drawsTries(seed), drawsForks(seed), 20
	w.machine = drawsMachine(seed)
	w.restored, w.handled, w.begins, w.tolerates = drawsRestore(seed), drawsHandlers(seed), drawsHandled(seed), drawsTolerance(seed)
	if w.claims = drawsForeach(seed); w.claims && !w.tries && w.chance(2) {
		w.limits.Events = 25 + w.rand.IntN(30) // so that lanes retire
	}
	if w.tries {
		w.failing = 2 + w.rand.IntN(8)
		if w.chance(2) {
			w.limits.Duration = w.between(time.Second, 2*time.Minute)
		}
	}
	if drawsShortLife(seed) {
		w.limits.ShortLife, w.limits.Retention = shortLife, retention
	}
	if w.forks && !w.swept { // each has several lanes that may fail
		w.failing *= 5
	}
	w.flow = w.drawFlow(0)
}

// drawOther adds a second execution beside the first one.
func (w *world) drawOther(seed uint64) *world {
	other := w.newExecution(w.ref, "other")
	other.draw(seed)
	w.note("beside it")
	w.trace = append(w.trace, other.flow.text...)
	return other
}

// worldOf is the execution with the log of that id, nil for none.
func (s *shared) worldOf(id engine.ID) *world {
	for _, each := range s.worlds {
		if each.store.logs[id] != nil {
			return each
		}
	}
	return nil
}

// logOf is the log of that id.
func (w *world) logOf(id engine.ID) *log {
	if of := w.worldOf(id); of != nil {
		return of.store.logs[id]
	}
	w.violate(Astray, "execution %s was not started", id)
	return w.own()
}

// turn lets everything happen until nothing is left to happen.
func (w *world) turn() {
	for len(w.agenda) > 0 && !w.violated(TooManyMessages) {
		next, _ := heap.Pop(&w.agenda).(entry)
		w.now = next.at
		next.do()
	}
}

// after puts something on the agenda.
func (w *world) after(pause time.Duration, do func()) {
	w.order++
	heap.Push(&w.agenda, entry{w.now + max(pause, 0), w.order, do})
}

// clock is that of the process which runs now.
func (w *world) clock() time.Time { return w.clockOf(w.generation) }

// clockOf is the clock of a process.
func (w *world) clockOf(generation uint64) time.Time {
	if int(generation) >= len(w.offsets) { //nolint:gosec // a handful
		return epoch.Add(w.now)
	}
	return epoch.Add(w.now + w.offsets[generation])
}

func (a *actor) clock() time.Time { return a.world.clockOf(a.generation).Add(a.skew) }

// skewed reports whether several processes work together whose clocks differ a
// little.
func (w *world) skewed() bool { return w.more && !w.alone }

// mostSkew is how far the clock of a worker is ahead or behind at most.
const mostSkew = 300 * time.Millisecond

// note adds a line to the trace.
func (w *world) note(format string, args ...any) {
	w.trace = fmt.Appendf(w.trace, "%10.3f ", w.now.Seconds())
	w.trace = append(fmt.Appendf(w.trace, format, args...), '\n')
}

// freshText is a text that was never made before in this run.
func (w *world) freshText() string {
	w.fresh++
	return fmt.Sprintf("f%d", w.fresh)
}

// chance is true once in so many times, never for 0.
func (w *world) chance(of int) bool { return of > 0 && w.rand.IntN(of) == 0 }

// between is a duration in whole milliseconds, from least on and below most.
func (w *world) between(least, most time.Duration) time.Duration {
	return least + time.Duration(w.rand.Int64N(int64((most-least)/time.Millisecond)))*time.Millisecond
}

// actor is a process whose effects take time and may be the last: a worker, a
// closer, a client. It runs until its next effect, then others may.
type actor struct {
	world      *world
	name       string
	kind       string
	generation uint64   // of the process
	causes     []string // of the wake that it handles
	receives   int      // of its message
	nonces     []string // of the items that it put
	began      time.Duration
	skew       time.Duration // of its clock
	log        *log          // which it handles a wake of, nil for none
	wake       *engine.Wake  // which it handles, the same for copies of a message, nil for none
	looked     time.Duration // when it last read the latest item of that log, or a token
	early      bool          // the timer that it handles came before its instant
	recovers   bool          // it sends what an earlier process left
	dies       time.Duration
	restores   int // before it began
	dead       bool
	// pause lets others run for so long.
	pause func(time.Duration) bool
	ctx   context.Context
}

// The kinds of actors.
const (
	kindWorker  = "worker"
	kindRunner  = "runner" // of tasks
	kindCloser  = "closer"
	kindClient  = "client"
	kindJanitor = "janitor"
)

// act begins an actor after a pause. It lives for so long.
func (w *world) act(pause time.Duration, kind string, lives time.Duration, body func(a *actor)) {
	w.after(pause, func() {
		w.actors++
		a := &actor{
			world: w, name: fmt.Sprintf("%s%d", kind, w.actors), kind: kind, generation: w.generation, began: w.now, dies: w.now + lives,
			restores: w.restores, log: w.own(), ctx: context.Background(),
		}
		if w.forks {
			a.ctx = life{a.ctx, a}
		}
		if w.skewed() {
			a.skew = w.between(-mostSkew, mostSkew)
		}
		// A coroutine: it runs when resumed and at no other time, so nothing
		// depends on how goroutines are scheduled.
		resume, _ := iter.Pull(func(yield func(time.Duration) bool) {
			a.pause = yield
			body(a)
		})
		var step func()
		step = func() {
			if pause, more := resume(); more {
				w.after(pause, step)
			}
		}
		step()
	})
}

// sleep lets time pass. The actor may be dead afterwards.
func (a *actor) sleep(d time.Duration) {
	switch {
	case a.dead:
	case a.world.now+d > a.dies:
		a.pause(a.dies - a.world.now)
		a.die("its time is over")
	default:
		a.pause(d)
	}
	if !a.dead && (a.generation != a.world.generation || a.restores != a.world.restores) {
		a.die("its process ended")
	}
}

func (a *actor) die(why string) {
	a.dead = true
	a.note("dies: %s", why)
}

func (a *actor) note(format string, args ...any) {
	a.world.note("%-10s %s", a.name, fmt.Sprintf(format, args...))
}

// entry is something on the agenda.
type entry struct {
	at    time.Duration
	order int // of what happens at the same instant
	do    func()
}

type agenda []entry

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	if a[i].at != a[j].at {
		return a[i].at < a[j].at
	}
	return a[i].order < a[j].order
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any) {
	e, _ := x.(entry)
	*a = append(*a, e)
}

func (a *agenda) Pop() any {
	last := (*a)[len(*a)-1]
	(*a)[len(*a)-1] = entry{}
	*a = (*a)[:len(*a)-1]
	return last
}
