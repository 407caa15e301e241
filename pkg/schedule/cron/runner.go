package cron

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/schedule"
)

// Runner fires the schedules of a store in one process. It implements [Trigger].
//
// The next process fires an instant that was due while no process ran. Of several instants of a
// schedule it fires the latest, if it is at most a day ago. The store has the latest fired instant,
// so no instant is fired again. A stored instant over a day ahead was fired by a wrong clock, and
// does not count.
type Runner struct {
	schedule.Starter

	Now func() time.Time
	Log *slog.Logger

	changed chan struct{}
}

// NewRunner returns a runner. Its Run fires schedules.
func NewRunner(starter schedule.Starter, now func() time.Time, log *slog.Logger) *Runner {
	return &Runner{starter, now, log, make(chan struct{}, 1)}
}

const (
	// patience is for how long a missed instant is fired, as by EventBridge Scheduler.
	patience = 24 * time.Hour
	// longestPause is the longest time between two looks at the clock. Timers stand still while the
	// machine sleeps.
	longestPause = time.Minute
	// afterError is the pause before a schedule that failed is tried again.
	afterError = 10 * time.Second
)

// Set implements [Trigger]. The schedule that is stored counts.
func (r *Runner) Set(context.Context, schedule.Schedule, Expression) error {
	select {
	case r.changed <- struct{}{}:
	default: // Run looks anyway
	}
	return nil
}

// Remove implements [Trigger].
func (r *Runner) Remove(context.Context, string, string) error { return nil }

// Run fires schedules until ctx ends.
func (r *Runner) Run(ctx context.Context) {
	for ctx.Err() == nil {
		timer := time.NewTimer(r.FireDue(ctx))
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-r.changed:
		}
		timer.Stop()
	}
}

// FireDue fires the schedules that are due, and returns the time after which to call it again.
func (r *Runner) FireDue(ctx context.Context) (pause time.Duration) {
	pause = longestPause
	entries, err := r.Store.Schedules(ctx, "", "")
	if err != nil {
		r.warn(ctx, schedule.Entry{}, err)
		return afterError
	}
	for _, entry := range entries {
		next, err := r.fire(ctx, entry)
		if err != nil {
			r.warn(ctx, entry, err)
			pause = min(pause, afterError)
		}
		if !next.IsZero() {
			pause = min(pause, max(0, next.Sub(r.Now())))
		}
	}
	return pause
}

func (r *Runner) warn(ctx context.Context, entry schedule.Entry, err error) {
	if ctx.Err() == nil {
		r.Log.WarnContext(ctx, "schedule failed", "flow", entry.Flow, "schedule", entry.Name, "error", err.Error())
	}
}

// fire fires a schedule if it is due, and returns when it is due next, zero for never.
func (r *Runner) fire(ctx context.Context, entry schedule.Entry) (next time.Time, err error) {
	s, err := entry.Schedule()
	if err != nil || !s.Enabled {
		return next, err
	}
	expression, err := Parse(s.Cron)
	if err != nil {
		return next, err
	}
	now := r.Now()
	next = expression.Next(s.Modified, now)
	due := expression.Latest(s.Modified, now)
	if wasAhead := s.Fired.Sub(now) > patience; !due.After(s.Fired) && !wasAhead || now.Sub(due) > patience {
		return next, nil
	}
	if err := r.Fire(ctx, schedule.Firing{Flow: s.Flow, Name: s.Name, Nonce: s.Nonce, At: due}); err != nil && !schedule.IsFinal(err) {
		return next, err
	} else if err != nil {
		r.warn(ctx, entry, err)
	}
	s.Fired = due
	fired, err := s.Entry()
	if err == nil {
		err = r.Store.SetSchedule(ctx, fired, entry.Text)
	}
	if errors.Is(err, engine.ErrConflict) { // it was changed or deleted meanwhile
		return r.Now(), nil
	}
	return next, err
}
