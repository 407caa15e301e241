package machine

import (
	"cmp"
	"time"

	"github.com/waitless/waitless/pkg/flow"
)

// firstExpiry returns when an execution that starts now is deleted, unless it waits longer than its
// definition says.
func (l Limits) firstExpiry(flow *flow.Flow, now time.Time) time.Time {
	life := l.duration(flow)
	if l.extends(flow) && !l.waitsLong(flow, now) {
		life = min(life, l.ShortLife)
	}
	return now.Add(life + l.retention())
}

// extends reports whether the logs of a flow expire later once they wait longer. The logs of a flow
// with forks do not: the logs of its lanes refer to each other, so all of them expire at the
// instant that was fixed at the start.
func (l Limits) extends(flow *flow.Flow) bool {
	for _, step := range flow.All {
		if step.IsFork() {
			return false
		}
	}
	return l.ShortLife > 0
}

// waitsLong reports whether a step of the flow says that it may wait longer than the short life, so
// that extending the expiry later would cost a write that can be saved.
func (l Limits) waitsLong(def *flow.Flow, now time.Time) bool {
	for _, step := range def.All {
		var wait time.Duration
		switch kind := step.Kind.(type) {
		case *flow.Wait:
			wait = kind.Duration
			if kind.Mode == flow.WaitTimestamp {
				wait = kind.Timestamp.Sub(now)
			}
		case *flow.Task:
			wait = kind.Timeout
			if wait == 0 && kind.Heartbeat == 0 && (!isAwaited(kind) || kind.Pattern == flow.PatternSync) {
				wait = l.duration(def)
			}
		case *flow.Pass, *flow.Choice, *flow.Parallel, *flow.Foreach, *flow.Succeed, *flow.Fail:
		}
		if wait > l.ShortLife {
			return true
		}
	}
	return false
}

// LastExpiry returns when the execution is deleted at the latest. What cannot be kept longer
// afterwards is kept until then.
func (l Limits) LastExpiry(s State, flow *flow.Flow) time.Time {
	return later(s.Expires, l.EndsAt(s, flow).Add(l.retention()))
}

// TokenPartExpiry returns when a large value is deleted that comes with a token. The log may refer
// to it for longer than the token is valid.
func (l Limits) TokenPartExpiry(token, now time.Time) time.Time {
	if l.ShortLife == 0 {
		return token
	}
	return later(token, now.Add(cmp.Or(l.Duration, DefaultDuration)+l.retention()))
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// keepUntil sets the expiry so that the log is kept for the retention after an instant at which it
// may still wait. What once waits longer than expected may do so again, so this happens once.
func (x *tx) keepUntil(until time.Time) {
	s, limits := x.state(), x.env.Limits
	kept := until.Add(limits.retention())
	if !limits.extends(x.env.Flow) || !s.Expires.Before(kept) {
		return
	}
	s.Expires = later(kept, limits.LastExpiry(*s, x.env.Flow))
}

// waitsForLastingToken reports whether the state waits for a token that was made to be valid as
// long as the log is kept at most, because nothing else limits the wait.
func (s State) waitsForLastingToken(flow *flow.Flow) bool {
	w := s.Waiting
	return w.Token() != nil && canWait(flow, w) && taskOf(flow.All[w.Attempt.Step]).Timeout == 0
}

// waitsUntil returns until when the state waits at most, which is not after the time limit of the
// execution: a token that has no limit of its own is made to be valid until then.
func (x *tx) waitsUntil() time.Time {
	w := x.state().Waiting
	switch {
	case w == nil || x.state().Ending != nil:
		return x.at
	case !w.Due.IsZero():
		if limit := x.limitAt(); limit.Before(w.Due) {
			return later(x.at, limit)
		}
		return later(x.at, w.Due)
	case w.Token() != nil:
		return x.limitAt()
	}
	return x.at
}
