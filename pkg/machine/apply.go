package machine

import (
	"slices"

	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// apply changes the state as the signal says. A signal that does not apply changes nothing.
func (r *run) apply(sig Signal) {
	if !r.concerns(sig) || r.timeIsUp() && r.timeOut(sig) {
		return
	}
	switch sig := sig.(type) {
	case Started:
		r.begin()
	case Returned:
		r.resolve(sig.Outcome, token.ClosedByTask)
	case Submitted:
		r.submitted(sig.Output)
	case Queued:
		r.queued()
	case TokenClosed:
		if sig.Reply != nil {
			r.submitted(*sig.Reply)
		}
		r.resolve(sig.Outcome, sig.By)
	case BeatSeen:
		r.beatSeen(sig.Beat)
	case TimerDue:
		r.timerDue()
	case StopRequested:
		r.stop(sig.Error, sig.Cause)
	case LanesJoined:
		r.lanesJoined(sig)
	case LaneFailed:
		r.laneFailed(sig.Failure)
	}
}

// concerns reports whether the state waits for the signal. Any other signal changes nothing, even
// at the time limit.
func (r *run) concerns(sig Signal) bool {
	s := r.state()
	switch sig := sig.(type) {
	case Started:
		return s.Status == StatusStarting
	case Returned:
		return r.waitsFor(sig.Attempt, WaitingForCall, WaitingForClaim)
	case Submitted:
		return r.waitsFor(sig.Attempt, WaitingForToken)
	case Queued:
		return r.waitsFor(sig.Attempt, WaitingForToken)
	case TokenClosed:
		return r.waitsFor(sig.Attempt, WaitingForToken)
	case BeatSeen:
		return r.waitsFor(sig.Attempt, WaitingForToken) && sig.Beat.After(s.Waiting.Token.Beat)
	case LanesJoined:
		return r.waitsFor(sig.Attempt, WaitingForLanes)
	case LaneFailed:
		return r.waitsFor(sig.Attempt, WaitingForLanes) && s.Ending == nil
	case TimerDue, StopRequested:
	}
	return !s.Status.Final() && s.Ending == nil
}

// waitsFor reports whether the state waits for the attempt in one of these ways.
func (r *run) waitsFor(attempt Attempt, ways ...WaitingFor) bool {
	w := r.state().Waiting
	return w != nil && w.Attempt == attempt && slices.Contains(ways, w.For)
}

// timerDue does what is due.
func (r *run) timerDue() {
	w := r.state().Waiting
	if w == nil || w.Due.IsZero() || r.at.Before(w.Due) {
		return
	}
	switch w.For {
	case WaitingForInstant:
		r.waited()
	case WaitingForClaim:
		r.claimLapsed()
	case WaitingForToken:
		r.overdue()
	case WaitingForRetry:
		r.tryAgain(r.leaveWaiting())
	case WaitingForPoll:
		r.pollDue()
	case WaitingForNextItem:
		r.resumeInNextLogItem()
	case WaitingForCall:
		r.callDue()
	case WaitingForLanes: // has no due
	}
}

// begin enters the flow, or the first item of a lane.
func (r *run) begin() {
	r.ownState()
	s := r.state()
	s.Status = StatusRunning
	if s.isLane() {
		r.advance(r.enterItem(s.Lane.Index))
		return
	}
	if step := r.needsCallbackBase(); step != nil {
		r.failExecution(nil, noCallbackBase(step.Name, r.env.Limits.Hints.CallbackBase))
		return
	}
	input := r.env.Flow.Data.Enter(r.frame(nil, s.Input, value.Missing(), 0, 0))
	if err := r.mayFailForSize(nil); err != nil {
		r.failExecution(nil, *err)
		return
	}
	first := r.env.Flow.Steps[0]
	if len(s.Series) == 0 {
		s.Series = append(s.Series, Series{Local: value.Object()})
	} else {
		first = r.redrivenStep()
	}
	s.Series[0].Input = input
	r.advance(first)
}
