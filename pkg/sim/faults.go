package sim

import (
	"errors"
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/engine"
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
	repeated   // of a commit: it happens twice, and the answer is the second one
	faultKinds
)

var faultNames = [...]string{"nothing", "dies before", "dies after", "fails", "answer lost", "lands late", "refused", "repeated"}

func (f fault) String() string { return faultNames[f] }

var (
	errDied  = errors.New("sim: it is dead")
	errFault = errors.New("sim: it failed")
)

// faults says what goes wrong in a run, and how often. Few things at a time
// keep the bounds tight; another seed draws others.
type faults struct {
	spare int // so many effects come before the first one
	left  int // how many still may strike
	every int // one effect in so many
	kinds []fault
	// One in so many, 0 for never:
	doubled int // messages
	late    int // messages
	slow    int // requests and answers
	submits int // functions that are told of a token, and fail
	closers int // at most so many bring an outcome for a token
}

func (f faults) String() string {
	return fmt.Sprintf("after %d effects %d faults, one in %d effects, of %v; one in %d messages doubled, %d late, %d slow; %d submits fail; %d closers",
		f.spare, f.left, f.every, f.kinds, f.doubled, f.late, f.slow, f.submits, f.closers)
}

func (w *world) drawFaults() faults {
	f := faults{spare: max(w.rand.IntN(60)-20, 0), left: w.rand.IntN(6), every: 2 << w.rand.IntN(5)}
	for kind := nothing + 1; kind < faultKinds; kind++ {
		if w.chance(2) {
			f.kinds = append(f.kinds, kind)
		}
	}
	if len(f.kinds) == 0 {
		f.left = 0
	}
	f.doubled = w.rarely()
	f.late = w.rarely()
	f.slow = w.rarely()
	f.submits = w.rarely()
	f.closers = w.rand.IntN(4)
	return f
}

// rarely is 0 in most runs, one in so many in the others.
func (w *world) rarely() int {
	if w.chance(2) {
		return 0
	}
	return 2 + w.rand.IntN(10)
}

// draw is what goes wrong next.
func (w *world) draw() fault {
	if w.faults.spare > 0 {
		w.faults.spare--
		return nothing
	}
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
	fault := a.world.draw()
	if fault == refused || fault == repeated {
		fault = fails // what is no commit can only do that
	}
	return a.struck(fault, what, do)
}

// commit is the effect that may be refused.
func (a *actor) commit(what string, put func() error) error {
	fault := a.world.draw()
	switch fault {
	case refused:
		return a.struck(nothing, what+", refused", func() error { return &engine.ConflictError{Nonce: "somebody else's"} })
	case repeated:
		return a.struck(nothing, what+" twice", func() error {
			_ = put()
			return put()
		})
	case nothing, diesBefore, diesAfter, fails, answerLost, landsLate, faultKinds:
	}
	return a.struck(fault, what, put)
}

// struck is an effect with what goes wrong.
func (a *actor) struck(fault fault, what string, do func() error) error {
	if a.dead {
		return errDied
	}
	w := a.world
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
