package machine

import (
	"cmp"
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// Limits bound an execution. Zero values mean the defaults.
type Limits struct {
	Events int // history events of a log; default [DefaultEvents], and [DefaultLaneEvents] for a lane
	Data   int // bytes of a step's input, local and output together; default [DefaultData], at most [Limits.MaxData]
	Item   int // bytes of an item of the log; default [MaxItem], which is the most
	// Apart says that there is a store for values that are too large for an item of the log.
	Apart bool
	// Duration is the time limit of executions if their flow sets none; default [DefaultDuration].
	// No timer watches it.
	Duration time.Duration
	// Retention is how long an execution is kept after the time that it may take; default
	// [DefaultRetention].
	Retention time.Duration
	// ShortLife is how long most executions take. The log of an execution is kept for as long and
	// the retention at first, and for the whole time that it may take only once it waits longer. 0
	// keeps each for that time. [engine.Log.Extend] has them kept longer.
	ShortLife time.Duration
	// Direct is the longest duration of a call for which the worker itself awaits the result;
	// default [DefaultDirect].
	Direct time.Duration
	// QueueTimesCalls says that the task queue enforces the time limit of an awaited call from when
	// the call begins, so that waiting for its turn does not count. The token of such a call has no
	// deadline. A call that must not be repeated is queued instead of claimed if its function has a
	// time limit: a claim would lapse while the call waits for its turn.
	QueueTimesCalls bool
	// ClaimTime is how long the items of a claim are to take, at the pace of the lane's last ones;
	// default [DefaultClaimTime] (rule 27).
	ClaimTime time.Duration
	// Hints end the messages about limits.
	Hints Hints
}

// Hints holds the remedies of this installation's operator, for the end of messages: "set
// VARIABLE".
type Hints struct {
	Data         string // to raise [Limits.Data]
	CallbackBase string // to have an [Env.CallbackBase]
}

// The defaults. DefaultEvents is the limit of Step Functions, so that its machines run to the same
// end; DefaultLaneEvents and DefaultData are those of FDL's vendor. A lane has fewer events because
// its fork reserves ids for all of them (see block), and nested forks multiply the ids. A lane of a
// run has DefaultRunEvents for the executions that it runs one after the other.
const (
	DefaultEvents     = 25000
	DefaultLaneEvents = 5000
	DefaultRunEvents  = 400_000
	DefaultData       = 32 << 10
	DefaultDuration   = 90 * 24 * time.Hour
	DefaultRetention  = 30 * 24 * time.Hour
	DefaultDirect     = 10 * time.Second
	DefaultClaimTime  = time.Second
)

// MaxData is the highest limit of a step's data without a store for large values. The data kept for
// one step has to fit into an item of every store, and the smallest item has 400 KB.
const MaxData = 256 << 10

// MaxLargeData is the highest limit of a step's data with a store for large values. A Lambda
// function accepts and returns as much.
const MaxLargeData = 6 << 20

// MaxItem is the largest item of the log in bytes: what every store keeps, with room for keys.
const MaxItem = 390 << 10

// laneEvents is the limit of events of a lane of a fork.
func (l Limits) laneEvents(fork *flow.Step) int {
	if fork.MapRun() != nil {
		return cmp.Or(l.Events, DefaultRunEvents)
	}
	return cmp.Or(l.Events, DefaultLaneEvents)
}

// laneEvents is the limit of events of the lane.
func (x *tx) laneEvents() int {
	return x.env.Limits.laneEvents(x.env.Flow.All[x.state().Series[0].Owner.Step])
}

func (l Limits) data() int { return cmp.Or(l.Data, DefaultData) }

// MaxData is the highest value of the limit Data.
func (l Limits) MaxData() int {
	if l.Apart {
		return MaxLargeData
	}
	return MaxData
}

func (l Limits) item() int { return cmp.Or(l.Item, MaxItem) }

func (l Limits) direct() time.Duration { return cmp.Or(l.Direct, DefaultDirect) }

// duration is how long an execution of the flow may take.
func (l Limits) duration(flow *flow.Flow) time.Duration {
	return cmp.Or(flow.Timeout, flow.Life, l.Duration, DefaultDuration)
}

func (l Limits) retention() time.Duration { return cmp.Or(l.Retention, DefaultRetention) }

// leastRetention is how long an execution is kept at least after its time limit, if a parameter was
// raised since it started.
const leastRetention = 24 * time.Hour

// EndsAt returns when the time limit of an execution is reached, or an instant that is no later if
// its flow is nil. If the flow has no time limit, Duration counts. If the expiry is fixed, of all
// logs of the flow or of the token that the state waits for, that has to come later: a Duration
// that was raised does not count then. A Retention that was raised ends nothing.
func (l Limits) EndsAt(s State, flow *flow.Flow) time.Time {
	if flow != nil && flow.Timeout > 0 {
		return s.Started.Add(flow.Timeout)
	}
	end, retention := s.Started.Add(cmp.Or(l.Duration, DefaultDuration)), l.retention()
	if flow != nil {
		end = s.Started.Add(l.duration(flow))
	}
	switch latest := s.Expires.Add(-retention); {
	case !latest.Before(end):
		return end
	case flow == nil:
		return latest
	case l.extends(flow) && !s.waitsForLastingToken(flow), !s.Expires.Add(-min(retention, leastRetention)).Before(end):
		return end
	}
	return s.Expires.Add(-min(retention, s.Expires.Sub(s.Started)/2)) //nolint:mnd // half of the time that the log has
}

// limitReached returns the failure of what reached a limit.
func limitReached(name, format string, args ...any) *token.Outcome {
	return new(token.Failure(name, fmt.Sprintf(format, args...)))
}

func nameOf(step *flow.Step) string {
	if step == nil {
		return ""
	}
	return step.Name
}

// checkData returns a failure if the values of a step, or of the flow if step is nil, exceed the
// limit together, or one value exceeds the limit of the language. Nothing larger goes into the
// next step or outside, so a loop with mappings that double a value ends early.
func (l Limits) checkData(rules flow.Values, step string, values ...value.Value) *token.Outcome {
	size := 0
	for _, v := range values {
		if rules.Each > 0 {
			size = max(size, v.Size())
		} else {
			size += v.Size()
		}
	}
	limit := max(l.data(), rules.Each)
	if size <= limit {
		return nil
	}
	what, raise := placeOf(step)+": input, local and output have %d bytes together", ""
	if rules.Each > 0 {
		what = placeOf(step) + ": a value has %d bytes"
	}
	if step == "" {
		what = "the output of the flow has %d bytes"
	}
	if l.Hints.Data != "" && limit < l.MaxData() {
		raise = fmt.Sprintf(", or %s, up to %d", l.Hints.Data, l.MaxData())
	}
	return limitReached(ErrorDataLimit, what+" and the limit is %d; pass on only what later steps need, and store large data elsewhere%s",
		size, limit, raise)
}

func (x *tx) checkData(step *flow.Step, values ...value.Value) *token.Outcome {
	return x.env.Limits.checkData(x.env.Flow.Values, nameOf(step), values...)
}

// EventsReserve is how many events one step may add at once (task: entered, scheduled, started,
// submitted, failed twice) before the limit is checked again.
const EventsReserve = 6

// checkEvents keeps room for the events of the end: one for each open series.
func (x *tx) checkEvents() *token.Outcome {
	s, limit, log := x.state(), cmp.Or(x.env.Limits.Events, DefaultEvents), "the execution"
	if s.isLane() {
		limit, log = x.laneEvents(), "a lane of the execution"
	}
	if s.Events+EventsReserve+len(s.Series) <= limit {
		return nil
	}
	return limitReached(ErrorEventLimit, "%s has %d history events, and the next step or attempt may exceed the limit of %d; split the work "+
		"into several executions, and poll within one step", log, s.Events, limit)
}

// Kept returns the part of a call's outcome to keep: if the outcome is too large for any step, the
// resulting failure.
func Kept(limits Limits, call Call, outcome token.Outcome) token.Outcome {
	outcome = outcome.Cut()
	if err := limits.checkData(call.Values, call.Step, call.Input, outcome.Output); err != nil && !outcome.Failed() {
		return *err
	}
	return outcome
}

// limitAt returns when the execution reaches its time limit.
func (x *tx) limitAt() time.Time { return x.env.Limits.EndsAt(*x.state(), x.env.Flow) }

// timeIsUp reports whether the execution has reached its time limit. At that very instant the limit
// comes before whatever else is due. A lane is stopped by its execution (rule 23).
func (x *tx) timeIsUp() bool {
	s := x.state()
	return !s.isLane() && !s.Status.Final() && s.Ending == nil && !x.at.Before(x.limitAt())
}

// timeOut decides that the execution ends because of its time limit, and reports whether that was
// all: a signal with the outcome of the attempt that waits is recorded first.
func (r *run) timeOut(sig Signal) (done bool) {
	which, advice := "its time limit", "raise that, or split the work into several executions"
	if r.env.Flow.Timeout == 0 {
		which, advice = "the limit of a flow without one of its own", "set a time limit for the flow, up to a year"
	}
	cause := fmt.Sprintf("the execution did not end within %s, %s; %s", r.limitAt().Sub(r.state().Started), which, advice)
	r.decide(StatusTimedOut, r.named(token.Failure(ErrorExecutionTimeout, cause)))
	switch sig.(type) {
	case Returned, TokenClosed, LanesJoined:
		return false
	case Started, Submitted, Queued, BeatSeen, LaneFailed, ItemsClaimed, FailuresReported, TimerDue, StopRequested:
	}
	r.endOrClose()
	return true
}
