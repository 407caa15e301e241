package resume

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/token"
)

// parked is how long an event is kept that nobody waits for: its job may have
// ended before whoever started it could say so.
const parked = 24 * time.Hour

// The instants that an end may have: an event of the future would keep out every
// true one, since the latest end stays, and nobody waits for one that is so old.
const (
	ahead  = 5 * time.Minute // for clocks that differ
	oldest = 400 * 24 * time.Hour
)

// ErrNoEvent says that a text is no event of a job, or not one that can be read.
// It would be no better the next time.
var ErrNoEvent = errors.New("resume: it is no event of a job")

// JobObserver closes the tokens that wait for jobs, when it learns of their ends by
// events or polls. It is safe for concurrent use.
type JobObserver struct{ ports JobsConfig }

// NewJobObserver returns a JobObserver. It panics if a required field is missing.
func NewJobObserver(config JobsConfig) *JobObserver {
	return &JobObserver{config.checked("NewJobObserver")}
}

// Observe takes a job event, as EventBridge delivers it. After an error the same
// event is to come again, unless it is [jobs.ErrNoEnd], where there is nothing
// to do, or [ErrNoEvent].
//
// An event about a key that names one run decides, if it says how the run ended.
// Of one that is used again the event says only that something ended; how, and of
// which run, the service tells.
func (o *JobObserver) Observe(ctx context.Context, event []byte) error {
	key, end, err := jobs.ReadEvent(event)
	switch {
	case errors.Is(err, jobs.ErrNoEnd):
		return err
	case err != nil:
		return fmt.Errorf("%w: %w", ErrNoEvent, err)
	}
	if now := o.ports.now(); end.At.After(now.Add(ahead)) || now.Sub(end.At) > oldest {
		return fmt.Errorf("%w: job %s ended at %s, and it is %s now", ErrNoEvent, key.Name, end.At.Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	met, err := o.ports.Rendezvous.Note(ctx, key, kept(end), o.ports.now().Add(parked))
	if err != nil {
		return fmt.Errorf("note the end of job %s: %w", key.Name, err)
	}
	return o.bring(ctx, key, end, met.Waiters)
}

// keptSize is how large an end may be that is kept, in bytes: most are of jobs
// that nobody here waits for.
const keptSize = 1 << 10

// kept is what is noted of an end: of a large one only that it ended, so that the
// service is asked for the rest.
func kept(end jobs.Sighting) jobs.Sighting {
	if len(end.Output)+len(end.Error)+len(end.Cause) > keptSize {
		return jobs.Sighting{Status: jobs.StatusRunning, At: end.At, Run: end.Run, Began: end.Began}
	}
	return end
}

// bring closes the tokens of those for whom the job ended.
func (o *JobObserver) bring(ctx context.Context, key jobs.Key, end jobs.Sighting, waiters []Waiter) error {
	kind, ok := jobs.Find(key.Kind)
	if !ok || len(waiters) == 0 {
		return nil
	}
	seen, err := o.ports.confirm(ctx, kind, key, end)
	if isNotFound(err) {
		return nil // that it is forgotten for good is for the polls to find
	}
	if refused, ok := errors.AsType[*ServiceError](err); ok && !refused.Again {
		o.ports.warn(err) // it would be no better the next time, and the polls ask again
		return nil
	}
	if err != nil {
		return err
	}
	var failed []error
	for _, waiter := range waiters {
		if outcome, done := outcomeFor(kind, key.Name, waiter.Run, seen); done {
			failed = append(failed, o.ports.Tokens.settle(ctx, waiter.Handle, outcome, token.ClosedByEvent))
		}
	}
	return errors.Join(failed...)
}

// confirm is what is known of the job after an event. Where the service is to
// tell, the key is all that a description needs.
func (c JobsConfig) confirm(ctx context.Context, kind jobs.Kind, key jobs.Key, end jobs.Sighting) (jobs.Sighting, error) {
	if kind.Scope == jobs.ScopeRun && end.Status != jobs.StatusRunning {
		return end, nil
	}
	return c.describe(ctx, kind, key.Name)
}
