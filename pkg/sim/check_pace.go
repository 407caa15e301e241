package sim

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
)

// checkTimer looks at a timer that is sent.
func (a *actor) checkTimer(wake engine.Wake) {
	w := a.world
	if wake.Seq == 0 || w.sends[wake.Cause] == 0 || w.copies[wake.Cause] > 0 {
		return
	}
	if !slices.Contains(a.causes, wake.Cause) && a.kind == kindWorker && !a.recovers {
		w.violate(TooManyMessages, "%s sends timer %s, which is out", a.name, wake.Cause)
	}
	state, _ := w.decode(len(w.store.items) - 1)
	if a.early || a.recovers || wake.Seq >= uint64(len(w.store.items)) || state.Timer.Tag == wake.Cause {
		return
	}
	if late := w.now - w.store.puts[wake.Seq]; late > workerLife {
		w.violate(TooManyMessages, "timer %s is sent again %s after its item, which does not name it", wake.Cause, late)
	}
}

// checkOwn: an actor works for one execution.
func (a *actor) checkOwn(id engine.ID) {
	if id != a.world.id {
		a.world.violate(Astray, "%s works for %s and looks at the log of %s", a.name, a.world.id, id)
	}
}

// checkOthers: a worker puts a wake back to await another worker, and never itself.
func (a *actor) checkOthers() {
	latest, err := a.world.store.latest(present)
	if err == nil && slices.Contains(a.nonces, latest.Nonce) {
		a.world.violate(Slow, "%s awaits the worker that put item %d, which is itself", a.name, latest.Seq)
	}
}

// checkInTime: a worker that began after the end of the execution's time calls
// nothing. What the task queue calls for has its token to look at.
func (a *actor) checkInTime() {
	w := a.world
	first, _ := w.decode(0)
	if w.offsets != nil || w.skewed() || a.kind != kindWorker || a.dead || a.began <= w.deadline(first.Started) {
		return
	}
	w.violate(Overtime, "%s, which began %s after the end of the execution's time, makes a call", a.name, a.began-w.deadline(first.Started))
}

// deadline is when the execution's time ends.
func (w *world) deadline(started time.Time) time.Duration {
	return started.Sub(epoch) + cmp.Or(w.flow.parsed.Timeout, w.limits.Duration, machine.DefaultDuration)
}

// How long things take at most, one after the other, when nothing goes wrong,
// and how much longer for each thing that may.
const (
	basePace = 4 * time.Second  // one handling, with a call
	slowPace = time.Minute      // requests and answers take long, and so do calls
	turnPace = workerLife       // calls wait for their turns, one conflict after another
	latePace = 10 * time.Minute // messages come late, and a timer is sent again and again
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
	if w.slowAtAll {
		slack += slowPace
	}
	if strings.Contains(w.flow.text, functionSlowPoll) {
		slack += workerLife // which takes what it takes, also where the flow says that it is short
	}
	if w.waitsForTurns {
		slack += turnPace
	}
	if w.lateAtAll {
		slack += latePace
	}
	return slack
}

// checkPace: each item of the log follows the one before as soon as what that
// waits for has happened, and each token is closed by its deadline. A definition
// that cannot be had keeps the execution for as long.
func (w *world) checkPace() {
	if w.defect.drawn() || w.violated(TooManyMessages) {
		return
	}
	for i := range w.store.items {
		state, _ := w.decode(i)
		if state.Status.Final() || i+1 == len(w.store.items) {
			return
		}
		due := max(w.store.puts[i], w.awaits(state, w.store.puts[i]))
		if late := w.store.puts[i+1] - due - w.slack(); late > 0 {
			w.violate(Slow, "item %d was put %s too late", i+1, late)
		}
	}
}

// awaits is when what the state, committed at an instant, waits for happens at
// the latest. Instants are kept: a clock that goes back comes to them later.
func (w *world) awaits(state machine.State, put time.Duration) time.Duration {
	waiting := state.Waiting
	switch {
	case waiting == nil, state.Ending != nil:
		return 0
	case waiting.For != machine.WaitingForToken:
		return put + waiting.Due.Sub(state.At) + 2*w.wentBack() // long ago for none
	}
	task := w.flow.taskOf(waiting.Attempt.Step)
	closed, ok := w.store.closed(waiting.Handle())
	if deadline, limited := w.mostFor(task, waiting.Handle(), put); limited && (!ok || closed > deadline+w.slack()) {
		w.violate(Slow, "the token of attempt %d is closed %s after its deadline", waiting.Attempt.Number, closed-deadline)
	}
	if !ok {
		return never // it waits for a person
	}
	return closed
}

// mostFor is when the token is closed at the latest. Not limited: it waits for
// a person.
func (w *world) mostFor(task *fdl.Task, handle string, since time.Duration) (at time.Duration, limited bool) {
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
