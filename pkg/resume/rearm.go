package resume

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/token"
)

// The messages that an external wait may depend on.
const (
	NeedsDelivery = "delivery" // of the outcome that its token has
	NeedsPoll     = "poll"     // which describes the job, and ends the wait at its deadline
)

// Rearmer resends the messages that external waits and the waits of steps for jobs depend on, in
// case they are lost. All fields are required, but Rearm needs no Account and Region.
type Rearmer struct {
	Tokens     *Tokens
	Polls      Polls
	Rendezvous Rendezvous
	// Account and Region are where the jobs of steps run that name no account.
	Account, Region string
}

// longestStart is longer than a call of StartJob takes. The run begins during the call, and the
// wait is opened at its end.
const longestStart = 10 * time.Second

// Rearm sends a wait's message again if it was not delivered, and returns the message's name. With
// dryRun it sends nothing. If the message was not lost, a second delivery finds the first one, and
// of two chains of polls the chain that is behind ends. If the token is not bound to its job any
// more, it is bound again.
func (r Rearmer) Rearm(ctx context.Context, wait ExternalWait, dryRun bool) (needs string, err error) {
	config := r.Tokens.config
	record, err := config.Store.Record(ctx, wait.Handle)
	needs = NeedsPoll
	if !record.Open() {
		needs = NeedsDelivery
	}
	id, ok := token.HandleID(wait.Handle)
	if err != nil || dryRun || !ok {
		return needs, err
	}
	if !record.Open() {
		return needs, r.Tokens.wake(ctx, id, wait.Handle)
	}
	poll := Poll{
		Key: wait.Job, Number: 1, Deadline: wait.Deadline,
		Waiter: Waiter{Handle: wait.Handle, Run: jobs.Run{Since: wait.Opened.Add(-longestStart)}, JobID: wait.JobID},
	}
	if wait.Job.Name == "" {
		poll.Key, poll.Waiter.JobID = jobs.Key{Kind: jobs.KindCallback, Name: wait.Handle}, wait.Handle
		return needs, r.sendPoll(ctx, poll)
	}
	bound, err := r.findBound(ctx, &poll)
	if err == nil && !bound {
		err = r.bind(ctx, poll, id.Expires)
	}
	if err != nil {
		return needs, err
	}
	return needs, r.sendPoll(ctx, poll)
}

// StepWait is the wait of a step with that token. Started is the reply to its submission.
type StepWait struct {
	Handle  string
	Started jobs.StartResult
	// Called says that another function than StartJob replied. It may have passed the token to
	// StartJob, or not.
	Called bool
	// StopJob says that the step stops its job; see [Waiter].
	StopJob bool
}

// RearmStep sends a poll of the job that a step waits for, and returns its name. It returns "" if
// the step depends on no poll: its token is closed, or it is not bound to the job and nothing else
// tells which run it waits for. That is so if the key of the job names a resource, or if the step
// called another function than StartJob. A token that is not bound to its job any more is bound
// again.
func (r Rearmer) RearmStep(ctx context.Context, wait StepWait, dryRun bool) (needs string, err error) {
	poll, kind, ok := r.pollOf(wait)
	id, known := token.HandleID(wait.Handle)
	if !ok || !known {
		return "", nil
	}
	record, err := r.Tokens.config.Store.Record(ctx, wait.Handle)
	if errors.Is(err, token.ErrDamaged) { // the wake of the execution ends it
		return "", nil
	}
	if err != nil || !record.Open() {
		return "", err
	}
	bound, err := r.findBound(ctx, &poll)
	switch {
	case err != nil || !bound && (wait.Called || kind.Scope == jobs.ScopeResource):
		return "", err
	case dryRun:
		return NeedsPoll, nil
	case !bound:
		err = r.bind(ctx, poll, id.Expires)
	}
	if err != nil {
		return NeedsPoll, err
	}
	return NeedsPoll, r.sendPoll(ctx, poll)
}

// RearmStop sends polls again for the stop of a job, in case they are lost, and returns their name.
// A step of a stopped execution started the job. RearmStop returns "" if the job is not to be
// stopped, was stopped, or has ended: then no bound waiter has a token that the stop closed. The
// jobs of kinds without events have no such waiters.
func (r Rearmer) RearmStop(ctx context.Context, started jobs.StartResult, dryRun bool) (needs string, err error) {
	poll, _, ok := r.pollOf(StepWait{Started: started})
	if !ok {
		return "", nil
	}
	known, err := r.Rendezvous.JobRecord(ctx, poll.Key)
	if err != nil {
		return "", fmt.Errorf("rearm the stop of %s: %w", poll.what(), err)
	}
	for _, waiter := range known.Waiters {
		if !waiter.StopJob {
			continue
		}
		record, err := r.Tokens.config.Store.Record(ctx, waiter.Handle)
		if err == nil && record.ClosedBy == token.ClosedByStop {
			if poll.Waiter, needs = waiter, NeedsPoll; !dryRun {
				err = r.sendPoll(ctx, poll)
			}
		}
		if err != nil {
			return needs, err
		}
	}
	return needs, nil
}

// pollOf returns the first poll of a step, without the run that it waits for.
func (r Rearmer) pollOf(wait StepWait) (poll Poll, kind jobs.Kind, ok bool) {
	started := wait.Started
	kind, known := jobs.Find(started.Kind)
	poll = Poll{
		Key:    jobs.Key{Kind: kind.Name, Account: cmp.Or(started.Account, r.Account), Region: r.Region, Name: started.Key},
		Number: 1, Waiter: Waiter{Handle: wait.Handle, JobID: started.ID, StopJob: wait.StopJob},
	}
	return poll, kind, known && kind.HasEnd() && kind.Name != jobs.KindCallback && started.ID != ""
}

// findBound reports whether the token of a poll is bound to its job. The poll then asks for the run
// that StartJob stored.
func (r Rearmer) findBound(ctx context.Context, poll *Poll) (bound bool, err error) {
	record, err := r.Rendezvous.JobRecord(ctx, poll.Key)
	if err != nil {
		return false, fmt.Errorf("rearm %s: %w", poll.what(), err)
	}
	for _, waiter := range record.Waiters {
		if waiter.Handle == poll.Waiter.Handle && !waiter.Claims {
			poll.Waiter = waiter
			return true, nil
		}
	}
	return false, nil
}

// bind binds the token to its job again, so that the event of the job closes it.
func (r Rearmer) bind(ctx context.Context, poll Poll, expires time.Time) error {
	if kind, _ := jobs.Find(poll.Key.Kind); !kind.HasEvents() {
		return nil
	}
	if _, err := r.Rendezvous.Bind(ctx, poll.Key, poll.Waiter, expires); err != nil {
		return fmt.Errorf("bind a token to job %s: %w", poll.Key.Name, err)
	}
	return nil
}

// sendPoll sends the first poll, and records it, so that one chain of polls is left.
func (r Rearmer) sendPoll(ctx context.Context, poll Poll) error {
	config := r.Tokens.config
	sender := JobsConfig{JobDescriber: JobDescriber{Now: config.Now}, Tokens: r.Tokens, Polls: r.Polls}
	if err := sender.sendPoll(ctx, poll); err != nil {
		return err
	}
	if _, err := config.Store.Poll(ctx, poll.Waiter.Handle, poll.op()); err != nil {
		return fmt.Errorf("record poll 1 of %s: %w", poll.what(), err)
	}
	return nil
}
