package sim

import (
	"errors"
	"fmt"
	"time"
)

// fault is what goes wrong with one effect.
type fault uint8

const (
	nothing fault = iota
	diesBefore
	diesAfter
	fails      // it does not happen, and the answer is an error
	answerLost // it happens, and the answer is an error
	landsLate  // the answer is an error, and it happens a little later
	refused    // of a commit: it does not happen, as if somebody else were first
	faultKinds
)

var faultNames = [...]string{"nothing", "dies before", "dies after", "fails", "answer lost", "lands late", "refused"}

func (f fault) String() string { return faultNames[f] }

var (
	errDied  = errors.New("sim: it is dead")
	errFault = errors.New("sim: it failed")
)

// faults says what goes wrong in a run, and how often. Few things at a time
// keep the bounds tight; another seed draws others.
type faults struct {
	left  int // how many still may strike
	every int // one effect in so many
	kinds []fault
	// One in so many, 0 for never:
	doubled int // messages
	late    int // messages
	slow    int // requests and answers
}

func (f faults) String() string {
	return fmt.Sprintf("%d faults, one in %d effects, of %v; one in %d messages doubled, %d late, %d slow", f.left, f.every, f.kinds, f.doubled, f.late, f.slow)
}

func (w *world) drawFaults() faults {
	f := faults{left: w.rand.IntN(6), every: 2 << w.rand.IntN(5)}
	for kind := nothing + 1; kind < faultKinds; kind++ {
		if w.chance(2) {
			f.kinds = append(f.kinds, kind)
		}
	}
	if len(f.kinds) == 0 {
		f.left = 0
	}
	f.doubled = w.rarely(2)
	f.late = w.rarely(2)
	f.slow = w.rarely(3)
	return f
}

// rarely is 0 in most runs, one in so many in the others.
func (w *world) rarely(least int) int {
	if w.chance(2) {
		return 0
	}
	return least + w.rand.IntN(10)
}

// draw is what goes wrong next.
func (w *world) draw() fault {
	if w.faults.left == 0 || !w.chance(w.faults.every) {
		return nothing
	}
	w.faults.left--
	return w.faults.kinds[w.rand.IntN(len(w.faults.kinds))]
}

// lateness bounds how late something happens whose answer was an error, and
// slowness how long a request or an answer takes: a closer that was in time
// when it asked changes the token before its wake counts as old.
const (
	lateness = 2 * time.Second
	slowness = 1500 * time.Millisecond
)

func (w *world) leg() time.Duration {
	if w.chance(w.faults.slow) {
		return w.between(0, slowness)
	}
	return w.between(time.Millisecond, 20*time.Millisecond)
}

// effect does something outside of the actor: the request takes time, then it
// happens, then the answer takes time.
func (a *actor) effect(what string, do func() error) error {
	if a.dead {
		return errDied
	}
	w, fault := a.world, a.world.draw()
	a.sleep(w.leg())
	switch {
	case a.dead:
		return errDied
	case fault == diesBefore:
		a.die(what + " does not happen")
		return errDied
	case fault == fails:
		a.note("%s fails", what)
		return errFault
	case fault == landsLate:
		a.note("%s is on its way", what)
		w.after(w.between(0, lateness), func() { a.note("%s, late: %s", what, answered(do())) })
		return errFault
	}
	err := do()
	a.note("%s: %s", what, answered(err))
	if fault == diesAfter {
		a.die("before the answer")
		return errDied
	}
	a.sleep(w.leg())
	switch {
	case a.dead:
		return errDied
	case fault == answerLost:
		a.note("the answer is lost")
		return errFault
	}
	return err
}

func answered(err error) string {
	if err == nil {
		return "done"
	}
	return err.Error()
}
