package machine

import (
	"cmp"
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/token"
)

// End is when an execution has taken as long as it may, whose flow sets that limit,
// 0 for none. Then what counts is allowed now, but no more than at its start: it is
// not kept for longer.
func (l Limits) End(s State, timeout time.Duration) time.Time {
	if timeout > 0 {
		return s.Started.Add(timeout)
	}
	end, latest := s.Started.Add(cmp.Or(l.Duration, DefaultDuration)), s.Expires.Add(-l.retention())
	if latest.Before(end) {
		return latest
	}
	return end
}

func (r *run) limit() time.Time { return r.env.Limits.End(*r.state(), r.env.Flow.Timeout) }

// timeIsUp reports whether the execution is to end for that. At the very instant
// the limit comes before whatever else is due.
func (r *run) timeIsUp() bool {
	s := r.state()
	return !s.Status.Final() && s.Ending == nil && !r.at.Before(r.limit())
}

// timeOut decides that the execution ends because its time is up. Not done: the
// signal brings the outcome of the attempt that waits, which is recorded first.
func (r *run) timeOut(sig Signal) (done bool) {
	which := "the timeoutSeconds of the flow: raise it, or put long work into several executions"
	if r.env.Flow.Timeout == 0 {
		which = "the limit of a flow without timeoutSeconds: set that, up to a year"
	}
	cause := fmt.Sprintf("the execution did not end within %s, %s", r.limit().Sub(r.state().Started), which)
	r.decide(StatusTimedOut, token.Failure(ErrorExecutionTimeout, cause))
	switch sig.(type) {
	case Returned, TokenClosed:
		return false
	case Started, Submitted, Queued, BeatSeen, TimerDue, StopRequested:
	}
	r.endOrClose()
	return true
}
