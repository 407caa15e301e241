package machine

import (
	"time"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// Apply applies a signal to the state s. Steps that need nothing from outside run until a step
// waits or the execution ends.
//
// An error means that the definition cannot have led to s, or that env lacks something: a defect or
// damage. A failed task is no error but a part of the result.
func Apply(env Env, s State, sig Signal) (Next, error) {
	if err := check(env, s); err != nil {
		return Next{}, err
	}
	r := runToFit(env, s, sig)
	switch {
	case r.needsLoad():
		return Next{State: s, Load: r.lookup.Load}, nil
	case r.err != nil:
		return Next{}, r.err
	}
	if r.next.Changed {
		r.keepUntil(r.waitsUntil())
		r.armTimer()
	}
	return r.next, nil
}

// run is one application of a signal: it runs series of steps of all kinds over the kernel.
type run struct {
	tx
	// framed and around hold the results of [run.frame], kept here so that they need no memory of
	// their own.
	framed flow.Frame
	around surroundings
}

func newRun(env Env, s State, at time.Time, p plan) *run {
	if at.Before(s.At) {
		at = s.At
	}
	return &run{tx: tx{env: env, next: Next{State: s}, at: at, kept: len(s.Series), lookup: value.Lookup{Known: env.Loaded}, plan: p}}
}

// apply changes the state as the signal says. A signal that does not apply changes nothing.
func (r *run) apply(sig Signal) {
	if !r.concerns(sig) || r.timeIsUp() && r.timeOut(sig) {
		return
	}
	w := r.state().Waiting
	switch is := sig.(type) {
	case Started:
		r.start()
	case StopRequested: // a closer may have been told of a success, so the token of a waiting attempt is closed first
		r.decide(StatusStopped, token.Outcome{Error: is.Error, Cause: is.Cause}.Cut())
		r.endOrClose()
	case TimerDue:
		switch {
		case w == nil || w.Due.IsZero() || r.at.Before(w.Due):
		case w.For == WaitingForNextLogItem:
			r.resumed, _ = r.leaveWaiting()
			r.advance(r.resumed)
		default:
			r.signal(w, sig)
		}
	case Returned, Submitted, Queued, TokenClosed, BeatSeen, LanesJoined, LaneFailed, ItemsClaimed, FailuresReported:
		r.signal(w, sig)
	}
}

// signal applies a signal that concerns the step which waits.
func (r *run) signal(w *Waiting, sig Signal) {
	step := r.env.Flow.All[w.Attempt.Step]
	r.advance(kindOf(step).signal(r, step, sig))
}

// concerns reports whether the state waits for the signal. Any other signal changes nothing, even
// at the time limit.
func (r *run) concerns(sig Signal) bool {
	s := r.state()
	w := s.Waiting
	forToken := func(attempt Attempt) bool { return w.Token() != nil && w.Attempt == attempt }
	forLanes := func(attempt Attempt) bool { return w.Fork() != nil && w.Attempt == attempt }
	switch sig := sig.(type) {
	case Started:
		return s.Status == StatusStarting
	case Returned:
		return w.isForCall() && w.Attempt == sig.Attempt
	case Submitted:
		return forToken(sig.Attempt)
	case Queued:
		return forToken(sig.Attempt)
	case TokenClosed:
		return forToken(sig.Attempt)
	case BeatSeen:
		return forToken(sig.Attempt) && sig.Beat.After(w.Token().Beat)
	case LanesJoined:
		return forLanes(sig.Attempt)
	case LaneFailed:
		return forLanes(sig.Attempt) && !s.StopsLanes()
	case ItemsClaimed:
		return w.isFor(WaitingForItems, sig.Attempt)
	case FailuresReported:
		return w.isFor(WaitingForReport, sig.Attempt)
	case TimerDue, StopRequested:
	}
	return !s.Status.Final() && s.Ending == nil
}

// start enters the flow, or the first item of a lane.
func (r *run) start() {
	s := r.begin()
	if s.isLane() {
		fork := r.env.Flow.All[s.Series[0].Owner.Step]
		first := s.Lane.Index
		if s.Share != nil {
			first = s.Share.last().From
		}
		r.advance(kindOf(fork).enterItem(r, fork, first))
		return
	}
	if step := r.needsCallbackBase(); step != nil {
		r.failExecution(nil, noCallbackBase(step.Name, r.env.Limits.Hints.CallbackBase))
		return
	}
	if err := r.needsNewerFormat(); err != nil {
		r.failExecution(nil, *err)
		return
	}
	input := r.env.Flow.Data.Enter(r.frame(nil, s.Input, value.Missing(), 0, 0)).Input
	if err := r.mayFailForSize(nil); err != nil {
		r.failExecution(nil, *err)
		return
	}
	first := r.env.Flow.Steps[0]
	if len(s.Series) == 0 {
		r.open(Series{Local: value.Object()})
	} else {
		first = stepNamed(r.env.Flow, s.Redriven.Step) // nil for the end of the innermost series
	}
	r.setInput(input)
	r.advance(first)
}
