package machine

import (
	"cmp"
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

// run is one application of a signal. It owns next.
type run struct {
	env  Env
	next Next
	at   time.Time
	err  error
	// endedWaiting is the waiting that this application ended, nil for none.
	endedWaiting *Waiting
	// lookup finds the values that the state holds by reference.
	lookup value.Lookup
	// framed and around are those of [run.frame], kept here so that they need no memory of their own.
	framed flow.Frame
	around surroundings
	// plan makes the item smaller, and checkpoints counts the calls of mayFailForSize.
	plan        plan
	checkpoints int
	// kept is how many series of the state were open all the time. independent says that the items
	// of a fork among them were left, so that what follows does not depend on the signal (rule 22).
	kept        int
	independent bool
	// resumed is the step that the previous item left to this one, nil for none.
	resumed *flow.Step
	// added is an upper bound of the bytes that the events add to the item. measure measures these
	// bytes; it is nil until the bound is too high.
	added   int
	measure *measure
}

func newRun(env Env, s State, at time.Time, p plan) *run {
	if at.Before(s.At) {
		at = s.At
	}
	return &run{env: env, next: Next{State: s}, at: at, kept: len(s.Series), lookup: value.Lookup{Known: env.Loaded}, plan: p}
}

// needsLoad reports whether a value was needed that is not loaded. Everything done since then is to be
// discarded.
func (r *run) needsLoad() bool { return len(r.lookup.Load) > 0 }

func (r *run) state() *State { return &r.next.State }

// entry is that of a state that this application enters.
func (r *run) entry() Entry {
	return Entry{By: r.env.Cause, Since: r.at, Generation: r.env.Generation}
}

// ownState copies what of the state is shared with the caller's, before its first change.
func (r *run) ownState() {
	if r.next.Changed {
		return
	}
	s := r.state()
	s.At = r.at
	s.Series = append(make([]Series, 0, len(s.Series)+1), s.Series...)
	r.next.Changed = true
	r.next.Events = r.env.Before[len(r.env.Before):]
}

// ownWaiting copies the waiting, so that it can be changed.
func (r *run) ownWaiting() *Waiting {
	r.ownState()
	waiting := *r.state().Waiting
	if waiting.Token != nil {
		token := *waiting.Token
		waiting.Token = &token
	}
	r.state().Waiting = &waiting
	return &waiting
}

// leaveWaiting ends the waiting. It returns its step and the waiting.
func (r *run) leaveWaiting() (*flow.Step, Waiting) {
	r.ownState()
	r.endedWaiting = r.state().Waiting
	r.state().Waiting = nil
	return r.env.Flow.All[r.endedWaiting.Attempt.Step], *r.endedWaiting
}

// advance runs steps from step on, until one waits or the execution ends. A nil step is the end of
// the innermost series.
func (r *run) advance(step *flow.Step) {
	for !r.state().Status.Final() && r.state().Waiting == nil && r.err == nil && !r.needsLoad() {
		if step == nil {
			step = r.endSeries()
			continue
		}
		if err := r.checkEvents(); err != nil {
			r.failExecution(step, *err)
			return
		}
		if r.beginsLogItem(step) {
			r.waitForNextLogItem(step)
			return
		}
		step = r.enter(step)
	}
}

// emit adds an event to the history and returns its id.
func (r *run) emit(e Event) int {
	s := r.state()
	e.By = s.Events
	s.Events++
	e.ID, e.At = s.Events, r.at
	r.next.Events = append(r.next.Events, e)
	r.added += e.bound()
	return e.ID
}

// innermost returns the innermost series.
func (r *run) innermost() *Series {
	open := r.state().Series
	return &open[len(open)-1]
}

// limitsReached returns the first limit that these values of a step, or the item, exceed.
func (r *run) limitsReached(step *flow.Step, values ...value.Value) *token.Outcome {
	return cmp.Or(r.checkData(step, values...), r.mayFailForSize(step))
}

// armTimer starts a timer for what the state waits for, unless the live timer has that due. A timer
// whose wake is being applied is no longer live.
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

// nextDue is when something happens without a signal from outside: what the step waits for, or the
// time limit of the flow. Zero means never.
func (r *run) nextDue() time.Time {
	s := r.state()
	if s.Waiting == nil || s.Ending != nil {
		return time.Time{}
	}
	due := s.Waiting.Due
	if limit := r.limitAt(); r.env.Flow.Timeout > 0 && !s.isLane() && (due.IsZero() || limit.Before(due)) {
		return limit
	}
	return due
}
