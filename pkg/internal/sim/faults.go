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
	refused    // of a commit: it does not happen, as if another worker were first
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
	spare int    // so many effects come before the first one
	left  int    // how many still may strike
	every int    // one effect in so many
	among string // whose effects: one kind of actors, or empty for all
	kinds []fault
	// committed: only workers that have committed are struck, and ended: only those whose log has
	// ended.
	committed, ended bool
	// One in so many, 0 for never:
	doubled int // messages
	late    int // messages
	slow    int // requests and answers
	submits int // functions that are told of a token, and fail
	closers int // at most so many bring an outcome for a token
}

func (f faults) String() string {
	return fmt.Sprintf("after %d effects %d faults, one in %d effects of %q (committed=%t ended=%t), of %v; ",
		f.spare, f.left, f.every, f.among, f.committed, f.ended, f.kinds) +
		fmt.Sprintf("one in %d messages doubled, %d late, %d slow; %d submits fail; %d closers", f.doubled, f.late, f.slow, f.submits, f.closers)
}

func (w *world) drawFaults() faults {
	f := faults{spare: max(w.rand.IntN(60)-20, 0), left: w.rand.IntN(5), every: 2 << w.rand.IntN(5)}
	f.kinds = w.drawKinds()
	if w.chance(2) {
		f.among = []string{kindWorker, kindCloser, kindRunner}[w.rand.IntN(3)]
	}
	if first := f.kinds[0]; first == refused || first == repeated {
		f.among = kindWorker // who commits
	}
	if f.among == kindCloser || f.among == kindRunner { // who have few effects
		f.spare, f.every = w.rand.IntN(4), 2
	}
	f.doubled = w.rarely()
	f.late = w.rarely()
	f.slow = w.rarely()
	if w.chance(2) {
		f.submits = 2 + w.rand.IntN(3)
	}
	f.closers = max(w.rand.IntN(5)-1, 0)
	return f
}

// drawKinds is one kind or several.
func (w *world) drawKinds() []fault {
	kinds := []fault{nothing + 1 + fault(w.rand.IntN(int(faultKinds-nothing-1)))} //nolint:gosec // a handful
	switch w.rand.IntN(4) {
	case 0, 1:
		return kinds
	case 2:
		return []fault{diesBefore, diesAfter} // what others have to make up for
	}
	for kind := nothing + 1; kind < faultKinds; kind++ {
		if w.chance(2) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// rarely is 0 in most runs, one in so many in the others.
func (w *world) rarely() int {
	if w.chance(2) {
		return 0
	}
	return 2 + w.rand.IntN(10)
}

// aimAtCommits has the faults strike what follows commits, or ends, of workers.
func (w *world) aimAtCommits() {
	f := &w.faults
	f.among, f.committed, f.ended = kindWorker, true, w.chance(2)
	f.spare, f.left, f.every = w.rand.IntN(12), 1+w.rand.IntN(3), 1+w.rand.IntN(3)
	f.kinds = []fault{diesBefore, diesAfter, fails, answerLost}
}

// mayStrike reports whether faults may strike the actor.
func (a *actor) mayStrike() bool {
	f := a.world.faults
	return (f.among == "" || f.among == a.kind) && (!f.committed || len(a.nonces) > 0) && (!f.ended || isFinal(a.log.last()))
}

// draw is what goes wrong next.
func (a *actor) draw(commits bool) fault {
	w := a.world
	if !a.mayStrike() {
		return nothing
	}
	if w.faults.spare > 0 {
		w.faults.spare--
		return nothing
	}
	if w.faults.left == 0 || !w.chance(w.faults.every) {
		return nothing
	}
	fault := w.faults.kinds[w.rand.IntN(len(w.faults.kinds))]
	if !commits && (fault == refused || fault == repeated) {
		return nothing
	}
	w.faults.left--
	return fault
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
	return a.struck(a.draw(false), what, do)
}

// read is an effect that changes nothing, so that little depends on it: most
// faults are kept for the others.
func (a *actor) read(what string, do func() error) error {
	if !a.world.chance(4) {
		return a.struck(nothing, what, do)
	}
	return a.effect(what, do)
}

// commit is the effect that may be refused.
func (a *actor) commit(what string, put func() error) error {
	fault := a.draw(true)
	switch fault {
	case refused:
		a.world.refused++
		return a.struck(nothing, what+", refused", func() error { return &engine.ConflictError{Nonce: "another worker's"} })
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
	if w.outage.strikes(a, what) {
		fault = fails
	}
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
		w.after(w.between(0, lateness), func() {
			if a.generation == w.generation {
				a.note("%s, late: %s", what, answered(do()))
			}
		})
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
