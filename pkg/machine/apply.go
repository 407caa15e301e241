package machine

import (
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// Apply tells the state s one signal. Steps that need nothing from outside run
// on until one does or the execution ends. The error means that s and the
// definition do not belong together, or that env lacks something: a bug or
// damage, never a failed task, which is data.
func Apply(env Env, s State, sig Signal) (Next, error) {
	if err := check(env, s); err != nil {
		return Next{}, err
	}
	r := runToFit(env, s, sig)
	switch {
	case r.stuck():
		return Next{State: s, Load: r.lookup.Missing}, nil
	case r.err != nil:
		return Next{}, r.err
	}
	if r.next.Changed {
		r.armTimer()
	}
	return r.next, nil
}

// run is one application under way. It owns next.
type run struct {
	env  Env
	next Next
	at   time.Time
	err  error
	// left is the waiting that this application ended, nil for none.
	left *Waiting
	// lookup finds what the state holds by reference.
	lookup value.Lookup
	// plan makes the item smaller, and checkpoints counts where it could have failed.
	plan        plan
	checkpoints int
	// resumed is the step that was left to this item.
	resumed *fdl.Step
	// added is an upper bound of what the events so far add to the item; measure knows it better, nil until it is needed.
	added   int
	measure *measure
}

func newRun(env Env, s State, at time.Time, p plan) *run {
	if at.Before(s.At) {
		at = s.At
	}
	return &run{env: env, next: Next{State: s}, at: at, lookup: value.Lookup{Known: env.Held}, plan: p}
}

// stuck reports whether a value was needed that is not at hand. Whatever was
// done since is worth nothing.
func (r *run) stuck() bool { return len(r.lookup.Missing) > 0 }

func (r *run) state() *State { return &r.next.State }

// entry is that of what this application enters.
func (r *run) entry() Entry {
	return Entry{By: r.env.Cause, Since: r.at, Generation: r.env.Generation}
}

// apply does what the signal means to the state; nothing when it does not
// apply.
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
		if sig.Answer != nil {
			r.submitted(*sig.Answer)
		}
		r.resolve(sig.Outcome, sig.By)
	case BeatSeen:
		r.beatSeen(sig.Beat)
	case TimerDue:
		r.timerDue()
	case StopRequested:
		r.stop(sig.Error, sig.Cause)
	}
}

// concerns reports whether the signal is one that the state waits for: any other
// changes nothing, be the time up or not. A timer always speaks of the time.
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
	case TimerDue, StopRequested:
	}
	return !s.Status.Final() && s.Ending == nil
}

// waitsFor reports whether the state waits for the attempt in one of these
// ways.
func (r *run) waitsFor(attempt Attempt, ways ...WaitingFor) bool {
	w := r.state().Waiting
	return w != nil && w.Attempt == attempt && slices.Contains(ways, w.For)
}

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
		r.retryDue()
	case WaitingForPoll:
		r.pollDue()
	case WaitingForRoom:
		r.resumeInItem()
	case WaitingForCall: // has no due
	}
}

// touch takes the instant of a signal that applies and makes the state the
// run's own.
func (r *run) touch() {
	if r.next.Changed {
		return
	}
	s := r.state()
	s.At = r.at
	s.Scopes = append(make([]Scope, 0, len(s.Scopes)+1), s.Scopes...)
	r.next.Changed = true
	// The sample's poll makes five events and then six, its last one seven.
	r.next.Events = make([]Event, 0, 7)
}

func (r *run) begin() {
	r.touch()
	s := r.state()
	s.Status = StatusRunning
	if step := r.needsCallbackBase(); step != nil {
		r.failExecution(ErrorInvalidArgument, noCallbackBase(step.Name, r.env.Limits.Hints.CallbackBase))
		return
	}
	input := s.Input
	if r.env.Flow.Input != nil {
		input = r.mapped(nil, inputMappings, r.env.Flow.Input, &expr.Scope{Input: s.Input, Context: r.context(r.env.Flow.Input, nil, 0, 0)})
	}
	if err := r.checkpoint(nil); err != nil {
		r.failExecution(err.name(), err.Error())
		return
	}
	s.Scopes = append(s.Scopes, Scope{Input: input, Local: value.Object()})
	r.advance(r.env.Flow.Steps[0])
}

// leaveWaiting ends the waiting and gives the step with what it waited with.
func (r *run) leaveWaiting() (*fdl.Step, Waiting) {
	r.touch()
	r.left = r.state().Waiting
	r.state().Waiting = nil
	return r.env.Flow.All[r.left.Attempt.Step], *r.left
}

// change makes the waiting the run's own, to be changed.
func (r *run) change() *Waiting {
	r.touch()
	waiting := *r.state().Waiting
	if waiting.Token != nil {
		pending := *waiting.Token
		waiting.Token = &pending
	}
	r.state().Waiting = &waiting
	return &waiting
}

func (r *run) waited() {
	step, waiting := r.leaveWaiting()
	r.emit(Event{Type: StepSucceeded, Step: step.Index})
	r.advance(r.exit(step, waiting.Input, value.Object(), 0))
}

// advance runs steps from step on, until one waits or the execution ends. A
// nil step means that the innermost series is over.
func (r *run) advance(step *fdl.Step) {
	for !r.state().Status.Final() && r.state().Waiting == nil && r.err == nil && !r.stuck() {
		if step == nil {
			step = r.endSeries()
			continue
		}
		if err := r.checkEvents(); err != nil {
			r.failExecution(err.name(), err.Error())
			return
		}
		if r.beginsItem(step) {
			r.waitForItem(step)
			return
		}
		step = r.enter(step)
	}
}

func (r *run) emit(e Event) int {
	s := r.state()
	e.By = s.Events
	s.Events++
	e.ID, e.At = s.Events, r.at
	r.next.Events = append(r.next.Events, e)
	r.added += e.bound()
	return e.ID
}

func (r *run) scope() *Scope {
	scopes := r.state().Scopes
	return &scopes[len(scopes)-1]
}

// armTimer starts a timer for what the state waits for, unless the live one
// does: it does not when it is the very wake being applied.
func (r *run) armTimer() {
	s := r.state()
	due := r.nextDue()
	switch {
	case due.IsZero():
		s.Timer = Timer{}
	case due.Equal(s.Timer.Due) && s.Timer.Tag != r.env.Cause:
	default:
		s.Timer = Timer{r.env.Tag, due}
	}
}

// nextDue is when something happens by itself: in the step that waits, or the end
// of the flow's time. Zero when nothing does.
func (r *run) nextDue() time.Time {
	s := r.state()
	if s.Waiting == nil || s.Ending != nil {
		return time.Time{}
	}
	due := s.Waiting.Due
	if limit := r.end(); r.env.Flow.Timeout > 0 && (due.IsZero() || limit.Before(due)) {
		return limit
	}
	return due
}
