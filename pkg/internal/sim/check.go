package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// Invariant is what has to hold of every run.
type Invariant string

// The invariants.
const (
	// HollowAnswer: what a caller was told that a token holds, or that the
	// execution stops, is what happened.
	HollowAnswer Invariant = "hollow answer"
	// Stuck: an execution that has not ended has something outstanding that
	// will wake it, or waits for a person.
	Stuck Invariant = "stuck"
	// CalledTooOften: calls of an attempt, or of a poll, <= 1 + workers that failed + copies of
	// its wake; with atMostOnce <= 1.
	CalledTooOften Invariant = "called too often"
	// TooManyMessages: the messages are few, and they end: a timer is sent once by
	// a commit, and again only while it is early or its commit is on its way.
	TooManyMessages Invariant = "too many messages"
	// History: ids have no gaps, each attempt is submitted and ends once at
	// most, with an outcome that was brought.
	History Invariant = "history"
	// Early: nothing ends, is tried again or polls before its instant.
	Early Invariant = "early"
	// AnotherInput: all calls of an attempt have the same input, so a call
	// depends on nothing that is not committed.
	AnotherInput Invariant = "another input"
	// GivenUp: an attempt with atMostOnce is given up only when a worker failed,
	// and an execution only after a defect was met again and again.
	GivenUp Invariant = "given up"
	// Tries: what failed is tried again as the policies say, as often and no
	// oftener, and what they leave is caught by the first entry that asks for it.
	Tries Invariant = "tries"
	// Overtime: after the time limit of its flow an execution only ends, and
	// nothing is called for it.
	Overtime Invariant = "overtime"
	// Slow: each step takes as long as what it waits for, and a few lives of
	// workers for each that failed.
	Slow Invariant = "slow"
	// Overdue: what is overdue by [engine.Lateness] and no message continues, continues by a sweep
	// of the janitor.
	Overdue Invariant = "overdue"
	// Orphan: all lanes have ended and joined before the log that waits for them goes on or ends,
	// and with the execution all of its lanes have ended.
	Orphan Invariant = "orphan"
	// Join: a join record has the ends of lanes as they are, and a log goes on after its lanes as
	// they ended.
	Join Invariant = "join"
	// ItemLost: a fork goes on only when each of its items has run, or when it fails.
	ItemLost Invariant = "item lost"
	// ItemTwice: no two lanes of an attempt run the same item.
	ItemTwice Invariant = "item twice"
	// Idle: a lane ends only when no item is left to begin, unless its log is full.
	Idle Invariant = "idle"
	// Claimed: a lane claims again only when its log has its last claim.
	Claimed Invariant = "claimed"
	// Child: a step that says that it started a sub-flow did, it starts the same one again, and
	// only a step that waits for the end of its sub-flow ends with it.
	Child Invariant = "child"
	// Uncounted: a root counts all of its descendants that are open, from the second generation on.
	Uncounted Invariant = "uncounted"
	// Late: who looks after the end, of the execution or of the lane, calls nothing for it.
	Late Invariant = "late"
	// OpenedInEnding: a lane's start that is received after its parent began to end opens nothing.
	OpenedInEnding Invariant = "opened in ending"
	// Astray: what is done for an execution concerns that execution.
	Astray Invariant = "astray"
	// Vanished: no item of a log that is needed expires before the retention after what the log
	// waits for.
	Vanished Invariant = "vanished"
	// Redrive: an execution that is redriven begins with the step that failed, and runs no item of
	// it that has a result.
	Redrive Invariant = "redrive"
	// Untold: a target is told of the end, and of each wait before its function is called, each
	// time the same.
	Untold Invariant = "untold"
	// Broken: nothing fails but what was made to.
	Broken Invariant = "broken"
)

// Violation is an invariant that did not hold.
type Violation struct {
	Invariant Invariant
	What      string
}

func (v Violation) String() string { return fmt.Sprintf("%s: %s", v.Invariant, v.What) }

func (w *world) violate(invariant Invariant, format string, args ...any) {
	if invariant == Early && (w.offsets != nil || w.skewed()) {
		return // which clock is to tell?
	}
	v := Violation{invariant, fmt.Sprintf(format, args...)}
	w.note("VIOLATION %s", v)
	w.violations = append(w.violations, v)
}

func (w *world) violated(invariant Invariant) bool {
	return slices.ContainsFunc(w.violations, func(v Violation) bool { return v.Invariant == invariant })
}

// mostDeliveries is far more than any run needs.
const mostDeliveries = 20_000

// forgedDeliveries is how many more a forged timer may need: it is sent again
// each second for an hour, and each time it may be doubled.
const forgedDeliveries = 20_000

// mostLive is how many messages may be alive: one for each start, stop and
// closing from outside, a timer for each commit that was tried and refused, a few
// for each failure, and three for each step that names the sub-flow.
//
// A loss counts as two failures: its rearm wake sends the timer and the wakes of lanes again, and
// once more after it waited for the worker that may live. A sweep that finds an execution overdue
// counts as one. An outage does not raise that: each delivery of a rearm wake that fails is a
// failure already.
func (w *world) mostLive() int {
	most := 16 + w.outside + 10*w.forged + 4*w.failed + w.refused + 2*len(w.copies)
	most += 3 * len(w.starters) // a start, a timer, and that the step is left
	if w.tries {
		most += 2 * len(w.calls.all) // the timers of an attempt may be alive when it is tried again
	}
	if w.outage.drawn() {
		most += w.failed
	}
	if lanes := len(w.store.order) - 1; lanes > 0 {
		most += lanes * (2 + w.failed + w.forged + w.innerEnds()) // each of these may start or stop all lanes again
	}
	return most
}

// innerEnds counts the lanes within lanes that have ended. Those that end at the same time each
// wake the lane around them, and each of these wakes reports that it failed.
func (w *world) innerEnds() int {
	ends := 0
	for _, l := range w.store.order {
		if l.parent != nil && l.parent.lane != nil && l.joined != never {
			ends++
		}
	}
	return ends
}

// check looks at what is left when nothing happens any more.
func (w *world) check() {
	state := w.own().last()
	var seen []*attempt
	for _, l := range w.store.order {
		seen = append(seen, l.check()...)
	}
	w.checkTold(seen)
	w.checkCalls()
	w.checkSub()
	w.own().checkOvertime()
	w.checkNoticed(state)
	if state.Status.Final() {
		w.checkClosed(seen)
	}
	if w.stopped && !state.Status.Final() {
		w.violate(HollowAnswer, "a caller was told that the execution stops, and it goes on")
	}
	if !state.Status.Final() && (w.accepted || len(w.own().items) > 0) {
		w.violate(Stuck, "nothing is left that will make the execution go on, which is %s", state.Status)
	}
	w.note("the end: %s %s %s", state.Status, state.Error, state.Cause)
}

// check looks at what is left of the log, and returns its attempts.
func (l *log) check() []*attempt {
	state, events := l.last(), l.history()
	seen := l.attempts(events)
	l.checkAttempts(seen)
	l.checkPace()
	if state.Error == machine.ErrorInternal && !l.mayGiveUp() {
		l.violate(GivenUp, "nothing was wrong with the execution: %s", state.Cause)
	}
	if state.Status.Final() && state.Events != len(events) {
		l.violate(History, "the state counts %d events and the log has %d", state.Events, len(events))
	}
	if l.lane != nil && len(l.items) > 0 && !isFinal(state) && isFinal(l.own().last()) {
		l.violate(Orphan, "the execution ended, and lane %s goes on", l.name)
	}
	return seen
}

// settleAll closes by hand what only a person can close.
func (w *world) settleAll() {
	w.faults = faults{}
	for !w.violated(TooManyMessages) {
		l := w.firstForPerson()
		if l == nil {
			return
		}
		state := l.last()
		l.note("a person closes the token")
		l.close(0, l.waiting(state).call.Input.Get("token").Text(), l.brought(), 0)
		l.turn()
		if after := l.last(); after.Waiting != nil && after.Waiting.Attempt == state.Waiting.Attempt {
			return
		}
	}
}

// firstForPerson is the first log that waits for a person, nil for none. What was told to stop, and
// a sub-flow that nothing waits for, ends without one.
func (w *world) firstForPerson() *log {
	for _, each := range w.worlds {
		if each.stopped || each.left() < never {
			continue
		}
		if i := slices.IndexFunc(each.store.order, (*log).waitsForPerson); i >= 0 {
			return each.store.order[i]
		}
	}
	return nil
}

// waitsForPerson reports whether only a person with the token can close it.
func (l *log) waitsForPerson() bool {
	state := l.last()
	waiting := state.Waiting
	return waiting.Token() != nil && waiting.Child() == nil && waiting.Due.IsZero() && l.flow.parsed.Timeout == 0 &&
		state.Ending == nil && waiting.Submitted() && l.flow.taskOf(waiting.Attempt.Step).Resource.Function != functionJob &&
		l.waiting(state) != nil && l.record(waiting.Handle()).Open()
}

// waiting are the calls of the attempt that the state waits for, nil for none.
func (l *log) waiting(state machine.State) *called {
	at := state.Waiting.Attempt
	return l.calls.by[l.callOf(at.Step, at.Number, state.WaitingPlace()).Key()]
}

func (w *world) record(handle string) token.Record {
	r, err := w.store.recordAt(handle, present)
	if err != nil {
		w.violate(Broken, "read a record: %s", err)
	}
	return r
}

func (l *log) history() []machine.Event {
	var history []machine.Event
	for _, item := range l.items {
		history = append(history, item.events...)
	}
	for i, event := range history {
		if event.ID != i+1 {
			l.violate(History, "event %d has the id %d", i+1, event.ID)
		}
	}
	return history
}

// attempt is an attempt of a task as the history shows it.
type attempt struct {
	log          *log
	step, number int
	place        string // in the items of forks in its log
	task         *flow.Task
	began        time.Time
	submitted    int
	ends         []machine.Event
	handle       string   // of its token, empty for a call and for polls
	handles      []string // of all tokens of it
}

// attempts reads the history step by step.
func (l *log) attempts(history []machine.Event) []*attempt {
	r := &reader{log: l, open: map[int]bool{}, until: map[int]time.Time{}, places: placesIn(l)}
	r.openRedriven()
	for _, event := range history {
		r.read(event)
	}
	for _, v := range r.visits {
		l.checkVisit(v)
	}
	return r.attempts
}

type reader struct {
	log      *log
	places   places
	attempts []*attempt
	visits   []*visit
	left     *visit            // the one that the event before was the end of
	open     map[int]bool      // steps entered and not left
	until    map[int]time.Time // of waits
	over     bool
}

func (r *reader) read(e machine.Event) {
	r.places.read(e, r.log.flow)
	if r.left != nil {
		r.left.next, r.left = e, nil
	}
	if r.over {
		r.log.violate(History, "event %d, %s, comes after the end", e.ID, e.Type)
	}
	switch e.Type {
	case machine.StepEntered:
		if r.open[e.Step] {
			r.log.violate(History, "step %d is entered twice", e.Step)
		}
		r.open[e.Step] = true
		if task := r.log.flow.taskOf(e.Step); task != nil {
			r.visits = append(r.visits, &visit{step: e.Step, task: task})
		}
	case machine.StepExited, machine.StepFailed:
		if !r.open[e.Step] {
			r.log.violate(History, "step %d completes twice", e.Step)
		}
		r.open[e.Step] = false
		if e.Type == machine.StepFailed {
			r.fail(e.Step)
		}
	case machine.StepStarted:
		r.until[e.Step] = e.Until
	case machine.StepSucceeded:
		if e.At.Before(r.until[e.Step]) {
			r.log.violate(Early, "the wait of step %d ended %s too early", e.Step, r.until[e.Step].Sub(e.At))
		}
	case machine.TaskScheduled:
		a := r.log.attemptOf(e)
		a.place = r.places.of(a.number)
		r.attempts = append(r.attempts, a)
		v := r.visitOf(e.Step)
		v.attempts = append(v.attempts, a)
	case machine.TaskSubmitted:
		r.last(e).submitted++
	case machine.TaskSucceeded, machine.TaskFailed, machine.TaskSubmitFailed, machine.TaskTimedOut:
		r.last(e).ends = append(r.last(e).ends, e)
	case machine.ExecutionSucceeded, machine.ExecutionFailed, machine.ExecutionStopped, machine.ExecutionTimedOut:
		r.over = true
	case machine.ExecutionStarted, machine.TaskStarted,
		machine.BranchEntered, machine.BranchExited, machine.IterationEntered, machine.IterationExited:
	}
}

// visitOf is the visit of a step that is under way.
func (r *reader) visitOf(step int) *visit {
	for _, v := range slices.Backward(r.visits) {
		if v.step == step {
			return v
		}
	}
	r.log.violate(History, "step %d makes an attempt and was not entered", step)
	return &visit{task: r.log.flow.taskOf(step)}
}

// fail notes that a task was left as failed.
func (r *reader) fail(step int) {
	if r.log.flow.taskOf(step) != nil {
		r.left = r.visitOf(step)
		r.left.failed = true
	}
}

// last is the attempt that the event speaks of.
func (r *reader) last(e machine.Event) *attempt {
	for _, a := range slices.Backward(r.attempts) {
		if a.step == e.Step {
			return a
		}
	}
	r.log.violate(History, "event %d, %s, belongs to no attempt", e.ID, e.Type)
	return &attempt{}
}

func (l *log) attemptOf(scheduled machine.Event) *attempt {
	a := &attempt{log: l, step: scheduled.Step, number: scheduled.ID, began: scheduled.At, task: l.flow.taskOf(scheduled.Step)}
	if a.task.Poll == nil && (a.task.Pattern != flow.PatternRequestResponse || a.task.Resource.Function == functionLong) {
		entered := l.items[slices.IndexFunc(l.items, func(i item) bool { return i.state.Events >= scheduled.ID })].state
		id := token.ID{Execution: l.id, Number: uint32(a.number), Expires: entered.Expires} //nolint:gosec // an event's id
		if l.flow.parsed.Values.Any {
			id.Flags = token.FlagAnyValue
		}
		a.handle = keys.Handle(id)
		a.handles = []string{a.handle}
	}
	return a
}

func (l *log) checkAttempts(attempts []*attempt) {
	for _, a := range attempts {
		if a.submitted > 1 {
			l.violate(History, "attempt %d was submitted %d times", a.number, a.submitted)
		}
		if len(a.ends) > 1 {
			l.violate(History, "attempt %d ended %d times", a.number, len(a.ends))
		}
		if a.task.Poll != nil {
			l.checkPolls(a)
			continue
		}
		for _, end := range a.ends {
			l.checkEnd(a, end)
		}
	}
}

// checkEnd: the outcome that was applied is one that was brought, and of
// a token the one that it holds.
func (l *log) checkEnd(a *attempt, end machine.Event) {
	if a.task.Resource.Subflow {
		l.checkStarted(a, end)
		if a.handle == "" {
			return
		}
	}
	interrupted := end.Error == machine.ErrorTaskInterrupted
	if interrupted && l.failed == 0 {
		l.violate(GivenUp, "attempt %d was given up, and no worker failed", a.number)
	}
	if a.handle != "" {
		l.checkHeld(a, end)
		return
	}
	made := l.calls.by[a.key()]
	brought := made != nil && slices.ContainsFunc(made.results, func(o token.Outcome) bool { return l.says(end, o) })
	if mayBeUnknown := interrupted && a.task.AtMostOnce; !brought && !mayBeUnknown {
		l.violate(History, "attempt %d ended with %s %s %s, which no call answered", a.number, end.Output.JSON(), end.Error, end.Cause)
	}
}

func (l *log) checkHeld(a *attempt, end machine.Event) {
	record := l.record(a.handle)
	if record.Open() || !l.says(end, *record.Outcome) || end.ClosedBy != record.ClosedBy {
		l.violate(HollowAnswer, "attempt %d ended with %s %s, which its token does not hold", a.number, end.Output.JSON(), end.Error)
		return
	}
	l.checkOverdue(a, record)
	if state := l.last(); record.Reply != nil && a.submitted == 0 &&
		state.Status != machine.StatusStopped && state.Status != machine.StatusTimedOut && state.Error != machine.ErrorInternal {
		l.violate(History, "attempt %d ended without the answer to its submission, which was kept before", a.number)
	}
}

// checkOverdue: a deadline or a missed heartbeat closed the token no earlier
// than it may.
func (w *world) checkOverdue(a *attempt, record token.Record) {
	var earliest time.Time
	switch record.ClosedBy {
	case token.ClosedByDeadline:
		earliest = a.began.Add(a.task.Timeout)
	case token.ClosedByHeartbeat:
		earliest = a.began.Add(a.task.Heartbeat)
		if next := record.LastBeat.Add(a.task.Heartbeat); next.After(earliest) {
			earliest = next
		}
	case token.ClosedByHand, token.ClosedByCallback, token.ClosedByEvent, token.ClosedByReconcile,
		token.ClosedByTask, token.ClosedBySubmit, token.ClosedByChild, token.ClosedByStop:
		return
	}
	if record.ClosedAt.Before(earliest) {
		w.violate(Early, "the token of attempt %d was closed by its %s %s too early", a.number, record.ClosedBy, earliest.Sub(record.ClosedAt))
	}
}

// named returns a failure as the language of the flow names it. An abandonment does not know the
// flow.
func (w *world) named(o token.Outcome) token.Outcome {
	if w.flow.parsed.Named != nil && o.Failed() {
		return w.flow.parsed.Named(o)
	}
	return o
}

// says reports whether an attempt ended with an outcome.
func (w *world) says(end machine.Event, o token.Outcome) bool {
	if end.Type == machine.TaskSucceeded {
		return !o.Failed() && value.Equal(end.Output, o.Output)
	}
	named := w.named(o)
	return o.Error == end.Error && o.Cause == end.Cause || named.Error == end.Error && named.Cause == end.Cause
}

func (a *attempt) key() string { return a.log.callOf(a.step, a.number, a.place).Key() }

func (l *log) callOf(step, number int, place string) machine.Call {
	return machine.Call{
		Attempt: machine.Attempt{Step: step, Number: number}, Log: l.id, Place: place,
		Flow: l.ref, Execution: l.execution, Step: l.flow.parsed.All[step].Name,
	}
}

// checkTold: what closers were told is what the execution went on with.
func (w *world) checkTold(attempts []*attempt) {
	for _, told := range w.told {
		i := slices.IndexFunc(attempts, func(a *attempt) bool { return a.handle == told.handle })
		if i < 0 || len(attempts[i].ends) == 0 {
			w.violate(HollowAnswer, "a caller was told %s, and nothing came of it", shown(told.outcome))
			continue
		}
		if end := attempts[i].ends[0]; !w.says(end, told.outcome) {
			w.violate(HollowAnswer, "a caller was told %s, and attempt %d ended with %s %s",
				shown(told.outcome), attempts[i].number, end.Output.JSON(), end.Error)
		}
	}
}

func (w *world) checkCalls() {
	for _, made := range w.calls.all {
		task := w.flow.taskOf(made.call.Attempt.Step)
		most := 1
		if !task.AtMostOnce {
			most += w.failed + w.copiesOf(made) + w.startedAgain(made)
		}
		if made.times > most {
			w.violate(CalledTooOften, "attempt %d of %s was called %d times, at most %d are right", made.call.Attempt.Number, made.call.Step, made.times, most)
		}
	}
}

// copiesOf counts the copies of the wakes that made the calls. Closers that
// repeat themselves send the same wake again, which makes no difference until
// a worker fails: then each of them may meet what is left to be done.
func (w *world) copiesOf(made *called) int {
	copies, seen := 0, map[string]bool{}
	for _, cause := range made.causes {
		if seen[cause] {
			continue
		}
		seen[cause] = true
		copies += w.copies[cause]
		if w.failed > 0 {
			copies += w.sends[cause]
		}
	}
	return copies
}
