package resume

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/token"
)

// keptWithoutWaiter is how long the end of a job is kept that has no waiter: the job may end before
// its starter binds one.
const keptWithoutWaiter = 24 * time.Hour

// The instants that an end may have. An end in the future would displace every true one, because
// the latest end stays.
const (
	maxAhead = 5 * time.Minute // for clocks that differ
	maxAge   = 400 * 24 * time.Hour
)

// ErrUnusableEvent says that a text is not an event of a job, cannot be read, or has an instant
// that cannot be right. Discard it.
var ErrUnusableEvent = errors.New("not an event of a job")

// JobObserver closes the tokens that wait for jobs, when it learns of their ends by
// events or polls. It is safe for concurrent use.
type JobObserver struct{ config JobsConfig }

// NewJobObserver returns a JobObserver. It panics if a required field is missing.
func NewJobObserver(config JobsConfig) *JobObserver {
	return &JobObserver{config.checked("NewJobObserver")}
}

// Observe handles a job event, as EventBridge delivers it.
//
//   - [jobs.ErrNoEnd] and [ErrUnusableEvent]: discard the event. Observe also returns
//     [ErrUnusableEvent] for an event of an account without a describer.
//   - After any other error, deliver the same event again.
//
// If the key names one run, the event decides. If the key names a resource that runs again, the
// event is a hint, and the service is asked which run ended, and how.
//
// The end is stored, and the waiters that are bound to the key are closed. They stay bound: a
// redelivery after a crash must find them, to send their wakes again, and StartJob must see that
// another token waited for the run.
func (o *JobObserver) Observe(ctx context.Context, event []byte) error {
	key, end, err := o.config.Kinds.ReadEvent(event)
	switch {
	case errors.Is(err, jobs.ErrNoEnd):
		return err
	case err != nil:
		return fmt.Errorf("%w: %w", ErrUnusableEvent, err)
	}
	if now := o.config.Now(); end.At.After(now.Add(maxAhead)) || now.Sub(end.At) > maxAge {
		return fmt.Errorf("%w: job %s ended at %s, and it is %s now", ErrUnusableEvent, key.Name, end.At.Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	if _, err := o.config.in(key.Account); err != nil {
		return fmt.Errorf("%w: job %s: %w", ErrUnusableEvent, key.Name, err)
	}
	stored := end
	if len(end.Output)+len(end.Error)+len(end.Cause) > keptSize { // a hint, so that the service is asked for the rest
		stored = jobs.Sighting{Status: jobs.StatusRunning, At: end.At, BeginText: end.BeginText, Began: end.Began}
	}
	record, err := o.config.Rendezvous.Note(ctx, key, stored, o.config.Now().Add(keptWithoutWaiter))
	if err != nil {
		return fmt.Errorf("note the end of job %s: %w", key.Name, err)
	}
	o.config.Noted(key, record)
	return o.closeWaiters(ctx, key, end, record.Waiters)
}

// keptSize is the size of the largest end that is kept, in bytes: most jobs have no waiter here.
const keptSize = 1 << 10

// closeWaiters closes the tokens of the waiters of the ended run.
func (o *JobObserver) closeWaiters(ctx context.Context, key jobs.Key, end jobs.Sighting, waiters []Waiter) error {
	kind, ok := jobs.Find(key.Kind)
	if !ok || len(waiters) == 0 {
		return nil
	}
	seen, err := o.config.decidingSighting(ctx, kind, key, end)
	if err != nil {
		return o.unlessPolled(err)
	}
	var failed []error
	for _, waiter := range waiters {
		outcome, done, err := o.config.outcomeOf(ctx, kind, key, waiter, seen)
		if err != nil {
			failed = append(failed, o.unlessPolled(err))
		} else if done && !waiter.Claims {
			failed = append(failed, o.config.Tokens.closeFromQueue(ctx, waiter.Handle, outcome, token.ClosedByEvent))
		}
	}
	return errors.Join(failed...)
}

// unlessPolled returns the error of a description after an event, nil if a redelivery of the event
// is of no use.
func (o *JobObserver) unlessPolled(err error) error {
	if isNotFound(err) {
		return nil // the polls find out whether the service forgot the job
	}
	if refused, ok := errors.AsType[*ServiceError](err); ok && !refused.Again {
		o.config.warn(err) // a redelivery would fail too, and the polls ask again
		return nil
	}
	return err
}

// decidingSighting returns the end that an event told, if it decides, else the service's
// description.
func (c JobsConfig) decidingSighting(ctx context.Context, kind jobs.Kind, key jobs.Key, end jobs.Sighting) (jobs.Sighting, error) {
	if kind.Scope == jobs.ScopeRun && !end.IsHint() {
		return end, nil
	}
	_, seen, err := c.describeIn(ctx, key.Account, kind, key.Name)
	return seen, err
}
