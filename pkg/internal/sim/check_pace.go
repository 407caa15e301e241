package sim

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
)

// checkTimer looks at a timer that is sent.
func (a *actor) checkTimer(l *log, wake engine.Wake) {
	if l.losses > 0 || wake.Seq == 0 || l.sends[l.causeOf(wake)] == 0 || l.copies[l.causeOf(wake)] > 0 {
		return
	}
	if !slices.Contains(a.causes, l.causeOf(wake)) && a.kind == kindWorker && !a.recovers {
		l.violate(TooManyMessages, "%s sends timer %s, which is out", a.name, wake.Cause)
	}
	if a.early || a.recovers || wake.Seq >= uint64(len(l.items)) || l.last().Timer.Tag == wake.Cause {
		return
	}
	if late := l.now - l.items[wake.Seq].put; late > workerLife {
		l.violate(TooManyMessages, "timer %s is sent again %s after its item, which does not name it", wake.Cause, late)
	}
}

// checkOthers: a worker puts a wake back to await another worker, and never itself.
func (a *actor) checkOthers() {
	latest, err := a.log.latest(present)
	if err == nil && slices.Contains(a.nonces, latest.Nonce) {
		a.world.violate(Slow, "%s awaits the worker that put item %d, which is itself", a.name, latest.Seq)
	}
}

// checkInTime: a worker that began after the end of the execution's time calls
// nothing. What the task queue calls for has its token to look at, and lanes end by being stopped.
func (a *actor) checkInTime() {
	w := a.world
	if w.offsets != nil || w.skewed() || a.kind != kindWorker || a.dead || a.log.lane != nil {
		return
	}
	if end := w.deadline(a.log.items[0].state.Started); a.began > end {
		w.violate(Overtime, "%s, which began %s after the end of the execution's time, makes a call", a.name, a.began-end)
	}
}

// deadline is when the execution's time ends.
func (w *world) deadline(started time.Time) time.Duration {
	return started.Sub(epoch) + cmp.Or(w.flow.parsed.Timeout, w.flow.parsed.Life, w.limits.Duration, machine.DefaultDuration)
}

// How long things take at most, one after the other, when nothing goes wrong,
// and how much longer for each thing that may.
const (
	basePace   = 4 * time.Second  // one handling, with a call
	slowPace   = time.Minute      // requests and answers take long, and so do calls
	sharedPace = 10 * time.Second // the calls of several items come before a commit
	turnPace   = workerLife       // calls wait for their turns, one conflict after another
	latePace   = 10 * time.Minute // messages come late, and a timer is sent again and again
	// failedPace is for each worker that failed: its message comes again, and what
	// it entered is left alone for twice its life.
	failedPace = visibility + 60*time.Second + workerLife
	// ranPace is how long a call of the task queue takes, and ranFailed what a
	// runner that failed adds to it.
	ranPace   = 200 * time.Second
	ranFailed = 17 * time.Minute
)

const never time.Duration = 1 << 61

// slack is how much later than it may each thing happens.
func (w *world) slack() time.Duration {
	slack := basePace + time.Duration(w.failed)*failedPace
	if w.slowAtAll || w.longCalls {
		slack += slowPace
	}
	if strings.Contains(w.flow.text, functionSlowPoll) {
		slack += workerLife // which takes what it takes, also where the flow says that it is short
	}
	if w.forks {
		slack += sharedPace
	}
	if w.waitsForTurns {
		slack += turnPace
	}
	if w.lateAtAll {
		slack += latePace
	}
	return slack + w.sweptPace()
}

// checkPace: each item of the log follows the one before as soon as what that
// waits for has happened, and each token is closed by its deadline. A definition
// that cannot be had keeps the execution for as long.
func (l *log) checkPace() {
	if l.mayGiveUp() || l.violated(TooManyMessages) {
		return
	}
	if l.lane != nil && len(l.items) > 0 {
		l.checkInPace(0, l.parent.forked(l.lane.Attempt))
	}
	for i, item := range l.items {
		if isFinal(item.state) || i+1 == len(l.items) {
			return
		}
		l.checkInPace(i+1, max(item.put, min(l.awaits(item), l.toStop())))
	}
}

func (l *log) checkInPace(seq int, due time.Duration) {
	if late := l.items[seq].put - due - l.slack(); late > 0 {
		l.violate(Slow, "item %d was put %s too late", seq, late)
	}
}

// forked is when the log began to wait for lanes.
func (l *log) forked(attempt int) time.Duration {
	at, _ := l.since(func(s machine.State) bool { return forLanes(s) && s.Waiting.Attempt.Number == attempt })
	return at
}

// toStop is when the log that waits for this lane began to end or to close, or the step that waits for this
// sub-flow was left, [never] if it did not.
func (l *log) toStop() time.Duration {
	if l.parent == nil {
		return l.left()
	}
	at, _ := l.parent.since(func(s machine.State) bool {
		return forLanes(s) && (isEnding(s) || s.StopsLanes()) && s.Waiting.Attempt.Number == l.lane.Attempt
	})
	return at
}

// awaits is when what the item waits for happens at the latest. Instants are kept: a clock that
// goes back comes to them later.
func (l *log) awaits(i item) time.Duration {
	waiting := i.state.Waiting
	switch {
	case forLanes(i.state):
		return l.lanesEnd(i.state)
	case waiting == nil, i.state.Ending != nil:
		return 0
	case waiting.Token() == nil:
		return i.put + waiting.Due.Sub(i.state.At) + 2*l.wentBack() // long ago for none
	}
	task := l.flow.taskOf(waiting.Attempt.Step)
	closed, ok := l.store.closed(waiting.Handle())
	if deadline, limited := l.mostFor(task, waiting.Handle(), i.put); limited && (!ok || closed > min(deadline, l.toStop())+l.slack()) {
		l.violate(Slow, "the token of attempt %d is closed %s after its deadline", waiting.Attempt.Number, closed-deadline)
	}
	if !ok {
		return never // it waits for a person
	}
	return closed
}

// lanesEnd is when the last lane ended, or the first one failed.
func (l *log) lanesEnd(state machine.State) (last time.Duration) {
	failed := never
	for _, lane := range l.lanes(state) {
		at, _ := lane.since(isFinal)
		if last = max(last, at); lane.last().Status == machine.StatusFailed {
			failed = min(failed, at)
		}
	}
	if state.StopsLanes() {
		return last
	}
	return min(last, failed)
}

// mostFor is when the token is closed at the latest. Not limited: it waits for
// a person.
func (w *world) mostFor(task *flow.Task, handle string, since time.Duration) (at time.Duration, limited bool) {
	at = never
	if task.Resource.Function == functionLong || task.Resource.Function == functionSlowPoll {
		at = since + ranPace + time.Duration(w.failed)*ranFailed
	}
	if task.Resource.Function == functionJob {
		at = since + longestJob + resume.LongestPoll
	}
	if told, ok := w.toldOf(handle); ok && !w.alone { // what one process has in memory is lost with it
		at = max(since, told)
	}
	if task.Timeout > 0 && task.Poll == nil {
		at = min(at, since+task.Timeout+2*w.wentBack())
	}
	return at, at < never
}
