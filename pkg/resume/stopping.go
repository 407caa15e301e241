package resume

import (
	"context"
	"errors"
	"fmt"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/token"
)

// stopJob stops the job of a step of a stopped execution. It stops no job if the step's run has
// ended, or if another token waits for the job. Until the service accepts the stop, or the job has
// ended, the next poll tries again: the service may not respond, lack the right, or refuse to stop
// a job that only begins.
//
// The token was closed before, so the stop of the execution is durable. The description comes
// first, because a resource may run for another token by now.
func (o *JobObserver) stopJob(ctx context.Context, poll Poll) error {
	stopped, err := o.tryStop(ctx, poll)
	if stopped { // a process that starts later would send the poll of a bound waiter again
		if err := o.config.Rendezvous.Release(ctx, poll.Key, []string{poll.Waiter.Handle}); err != nil {
			return fmt.Errorf("release the waiter of job %s, which was stopped: %w", poll.Key.Name, err)
		}
		return nil
	}
	if err != nil {
		o.config.warn(&StopError{Job: poll.Key.Name, Err: err})
	}
	next := poll
	next.Number, next.Receives = poll.Number+1, 0
	return o.config.sendPoll(ctx, next)
}

// tryStop reports whether the run has ended or the service accepted to stop it. Without an error,
// another token waits for the job.
func (o *JobObserver) tryStop(ctx context.Context, poll Poll) (stopped bool, err error) {
	kind, ok := jobs.Find(poll.Key.Kind)
	if !ok {
		return false, fmt.Errorf("this release does not know kind %q", poll.Key.Kind)
	}
	there, seen, err := o.config.describeIn(ctx, poll.Key.Account, kind, poll.Waiter.JobID)
	switch {
	case isNotFound(err) && poll.Number >= firstBelievedPoll:
		return true, nil
	case err != nil:
		return false, err
	case !kind.Runs(poll.Waiter.Run, seen):
		return true, nil
	}
	if shared, err := o.isShared(ctx, poll); shared || err != nil {
		return false, err
	}
	params, err := kind.StopParams(poll.Waiter.JobID)
	if err != nil {
		return false, err
	}
	err = there.Services.Stop(ctx, kind, params)
	if refused, ok := errors.AsType[*ServiceError](err); ok && kind.Over(refused.code()) {
		return true, nil
	}
	return err == nil, masked(err)
}

// isShared reports whether another token that is open waits for the job.
func (o *JobObserver) isShared(ctx context.Context, poll Poll) (bool, error) {
	record, err := o.config.Rendezvous.JobRecord(ctx, poll.Key)
	if err != nil {
		return false, err
	}
	for _, other := range record.Waiters {
		id, known := token.HandleID(other.Handle)
		if other.Handle == poll.Waiter.Handle || other.Claims || !known || !o.config.Now().Before(id.Expires) {
			continue
		}
		if wait, err := o.config.Tokens.config.Store.Record(ctx, other.Handle); err != nil || wait.Open() {
			return err == nil, err
		}
	}
	return false, nil
}

// StopError is an attempt to stop a job that failed. A later poll tries again.
type StopError struct {
	Job string // the name of its key
	Err error
}

func (e *StopError) Error() string {
	return fmt.Sprintf("stop job %s, and try again later: %v", e.Job, e.Err)
}

// Unwrap returns the error of the service.
func (e *StopError) Unwrap() error { return e.Err }
