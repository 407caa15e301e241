package machine

import (
	"cmp"
	"time"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// tx is the kernel of one application of a signal. It alone writes the state, the history and the
// commands, and keeps them within the limits. It knows no kind of step.
type tx struct {
	env  Env
	next Next
	at   time.Time
	err  error
	// endedWaiting is the waiting that this application ended, nil for none.
	endedWaiting *Waiting
	// retried are the retries before the attempt that begins or ends, by policy; nil for the first.
	retried []int
	// lookup finds the values that the state holds by reference.
	lookup value.Lookup
	// plan makes the item smaller, and checkpoints counts the calls of mayFailForSize.
	plan        plan
	checkpoints int
	// kept is how many series of the state were open all the time. independent says that the items
	// of a fork among them were left, so that later commands do not depend on the signal (rule 22).
	kept        int
	independent bool
	// resumed is the step that the previous item left to this one, nil for none.
	resumed *flow.Step
	// added is an upper bound of the bytes that the events add to the item. measure measures these
	// bytes; it is nil until the bound is too high.
	added   int
	measure *measure
}

// needsLoad reports whether a value was needed that is not loaded. Everything done since then is to
// be discarded.
func (x *tx) needsLoad() bool { return len(x.lookup.Load) > 0 }

// state returns the state to be read.
func (x *tx) state() *State { return &x.next.State }

// entry returns the entry of a state that this application enters.
func (x *tx) entry() Entry {
	return Entry{By: x.env.Cause, Since: x.at, Generation: x.env.Generation}
}

// own copies what of the state is shared with the caller's, before its first change.
func (x *tx) own() {
	if x.next.Changed {
		return
	}
	s := x.state()
	s.At = x.at
	s.Series = append(make([]Series, 0, len(s.Series)+1), s.Series...)
	x.next.Changed = true
	x.next.Events = x.env.Before[len(x.env.Before):]
}

// begin makes the state run.
func (x *tx) begin() *State {
	x.own()
	x.state().Status = StatusRunning
	return x.state()
}

// emit adds an event to the history and returns its id.
func (x *tx) emit(e Event) int {
	s := x.state()
	e.By = s.Events
	s.Events++
	e.ID, e.At = s.Events, x.at
	x.next.Events = append(x.next.Events, e)
	x.added += e.bound()
	return e.ID
}

// do adds a command.
func (x *tx) do(c Command) { x.next.Commands = append(x.next.Commands, c) }

// wait makes the state wait.
func (x *tx) wait(w *Waiting) { x.state().Waiting = w }

// ownWaiting copies the waiting, so that it can be changed.
func (x *tx) ownWaiting() *Waiting {
	x.own()
	waiting := *x.state().Waiting
	if t := waiting.Token(); t != nil {
		token := *t
		waiting.For = &token
	}
	x.wait(&waiting)
	return &waiting
}

// leaveWaiting ends the waiting. It returns its step and the waiting.
func (x *tx) leaveWaiting() (*flow.Step, Waiting) {
	x.own()
	x.endedWaiting = x.state().Waiting
	x.retried = x.endedWaiting.Retried
	x.wait(nil)
	return x.env.Flow.All[x.endedWaiting.Attempt.Step], *x.endedWaiting
}

// nextPoll counts the polls of the log.
func (x *tx) nextPoll() int {
	s := x.state()
	s.Polls++
	return s.Polls
}

// reserve reserves the ids of the API for the lanes of the fork that the last event entered.
func (x *tx) reserve(lanes, block int) {
	entered := &x.next.Events[len(x.next.Events)-1]
	entered.Lanes, entered.Block = lanes, block
	x.state().Reserved += lanes * block
}

// innermost returns the innermost series.
func (x *tx) innermost() *Series {
	open := x.state().Series
	return &open[len(open)-1]
}

// open opens a series of steps.
func (x *tx) open(series Series) { x.state().Series = append(x.state().Series, series) }

// setInput sets the input of the flow's series.
func (x *tx) setInput(input value.Value) { x.state().Series[0].Input = input }

// setLocal sets the local value of the innermost series.
func (x *tx) setLocal(local value.Value) { x.innermost().Local = local }

// join gives the output of a step to its series.
func (x *tx) join(exit flow.Exit) {
	x.setLocal(x.env.Flow.Join(&x.lookup, x.innermost().Local, exit))
}

// leaveSeries leaves the innermost series.
func (x *tx) leaveSeries() {
	s := x.state()
	s.Series = s.Series[:len(s.Series)-1]
	x.kept = min(x.kept, len(s.Series))
}

// decide records how the execution is going to end.
func (x *tx) decide(status Status, why token.Outcome) {
	x.own()
	x.state().Ending = &Ending{Status: status, Error: why.Error, Cause: why.Cause, Entry: x.entry()}
}

// takeEnding takes the end that was decided.
func (x *tx) takeEnding() *Ending {
	s := x.state()
	ending := s.Ending
	s.Ending = nil
	return ending
}

// failedAt records the step that fails the execution or the lane.
func (x *tx) failedAt(step *flow.Step) {
	s := x.state()
	s.FailedStep = StepIn(step.Name, Iterations(step, s.ForkIndexes()))
}

// failedIn records the step that failed in a lane, "" for none.
func (x *tx) failedIn(step string) { x.state().FailedStep = step }

// close ends the execution or the lane.
func (x *tx) close(status Status, outcome token.Outcome) {
	s := x.state()
	s.Status, s.Output, s.Error, s.Cause = status, outcome.Output, outcome.Error, outcome.Cause
	s.Series, s.Results, s.Waiting, s.By, s.Generation = nil, nil, nil, x.env.Cause, x.env.Generation
	if status != StatusFailed {
		s.FailedStep = ""
	}
}

// limitsReached returns the first limit that these values of a step, or the item, exceed.
func (x *tx) limitsReached(step *flow.Step, values ...value.Value) *token.Outcome {
	return cmp.Or(x.checkData(step, values...), x.mayFailForSize(step))
}

// armTimer starts a timer for the next due instant of the state, unless the live timer has that
// instant. A timer is no longer live once its wake is being applied.
func (x *tx) armTimer() {
	s := x.state()
	due := x.nextDue()
	switch {
	case due.IsZero():
		s.Timer = Timer{}
	case due.Equal(s.Timer.Due) && s.Timer.Tag != x.env.Cause:
	default:
		s.Timer = Timer{x.env.Tag, due}
	}
}

// nextDue is when something happens without a signal from outside: the deadline of the waiting
// step, or the time limit of the flow. Zero means never.
func (x *tx) nextDue() time.Time {
	s := x.state()
	if s.Waiting == nil || s.Ending != nil {
		return time.Time{}
	}
	due := s.Waiting.Due
	if limit := x.limitAt(); x.env.Flow.Timeout > 0 && !s.isLane() && (due.IsZero() || limit.Before(due)) {
		return limit
	}
	return due
}
