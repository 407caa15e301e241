package resume

import (
	"context"
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/token"
)

// adoptWithin is how long ago a run may have begun that StartJob adopts: a caller
// that was killed before it knew the result of its start repeats it within that time.
const adoptWithin = 5 * time.Minute

// adopt has the start go on with a job that the service reports to exist already, if
// an earlier call with the same token or key may have started it: the job has a name
// that only such a call gives, or its run began just now.
func (s *startCall) adopt(ctx context.Context, params []byte, refused *ServiceError) (err error) {
	refusal := s.refusal(refused)
	if s.started, err = s.kind.ReadStart(s.Account, s.Region, params, nil); err != nil {
		return refusal
	}
	nameIsOurs := s.kind.NamedByUs(s.started.ID, s.unique)
	switch {
	case nameIsOurs && (s.kind.Scope == jobs.ScopeRun || !s.waits()):
		return nil
	case !s.waits(): // only a waiter tells which run is its own
		return refusal
	}
	seen, err := s.describe(ctx, s.kind, s.started.ID)
	if err != nil {
		s.warn(err)
		return refusal
	}
	if !nameIsOurs {
		s.contested = refused
		inUse := seen.Status == jobs.StatusRunning || s.kind.Once == jobs.OnceByName
		if s.run.Since.Sub(seen.Began) > adoptWithin || !inUse {
			return refusal
		}
	}
	s.run.BeginText = seen.BeginText
	if !seen.Began.IsZero() {
		s.run.Since = seen.Began
	}
	return nil
}

// claim binds the waiter to a contested run, unless another token waits for that run: then another
// caller started it. It is bound first with a claim, which no event closes, so that a refused
// caller does not learn of the end. The returned record has an end that came meanwhile.
func (s *startCall) claim(ctx context.Context) (JobRecord, error) {
	claimant := s.waiter()
	claimant.Claims = true
	record, err := s.bind(ctx, claimant)
	if err != nil {
		return JobRecord{}, err
	}
	// Another token that was bound to a job with a unique name may be closed by now.
	boundBefore := s.kind.Once == jobs.OnceByName && slices.ContainsFunc(record.Waiters, func(w Waiter) bool {
		return w.Handle != s.token.handle && s.kind.SameRun(s.run, w.Run)
	})
	if boundBefore || len(s.releaseClosed(ctx, record.Waiters)) > 0 {
		s.warn(s.Rendezvous.Release(ctx, s.started.Key, []string{s.token.handle}))
		return JobRecord{}, s.refusal(s.contested)
	}
	return s.bind(ctx, s.waiter())
}

// releaseClosed releases the other waiters of a resource that are over. It returns the
// rest of the other waiters.
func (s *startCall) releaseClosed(ctx context.Context, waiters []Waiter) []Waiter {
	var others []Waiter
	var closed []string
	for _, other := range waiters {
		switch {
		case other.Handle == s.token.handle:
		case s.kind.Scope == jobs.ScopeResource && s.isOver(ctx, other):
			closed = append(closed, other.Handle)
		default:
			others = append(others, other)
		}
	}
	if len(closed) > 0 {
		s.warn(s.Rendezvous.Release(ctx, s.started.Key, closed))
	}
	return others
}

// isOver reports whether the waiter's token is expired or closed. If this run is contested, the
// waiter is not over if it was closed with the end of the run: then the run was its own.
func (s *startCall) isOver(ctx context.Context, other Waiter) bool {
	if id, ok := token.HandleID(other.Handle); !ok || !s.Now().Before(id.Expires) {
		return true
	}
	record, err := s.Tokens.config.Store.Record(ctx, other.Handle)
	s.warn(err)
	byEnd := record.ClosedBy == token.ClosedByEvent || record.ClosedBy == token.ClosedByReconcile
	owner := s.contested != nil && byEnd && s.kind.SameRun(s.run, other.Run)
	return err == nil && !record.Open() && !owner
}

// expose fails the other waiters that adopted this run before its starter was bound.
// They are closed as by a reconcile poll: nothing redelivers this call, but their
// own polls send a lost wake again.
func (s *startCall) expose(ctx context.Context, waiters []Waiter) {
	others := s.releaseClosed(ctx, waiters)
	if s.kind.Once == jobs.OnceNot || s.kind.Once == jobs.OnceByToken { // the run is the caller's own, or shared by its token
		return
	}
	for _, other := range others {
		if s.kind.SameRun(s.run, other.Run) {
			cause := s.started.Key.Name + ": another caller started the run that this start seemed to have started"
			s.warn(s.Tokens.closeFromQueue(ctx, other.Handle, token.Failure(jobs.ErrorSuperseded, cause), token.ClosedByReconcile))
		}
	}
}
