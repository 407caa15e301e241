package resume

import (
	"context"
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

// Rearmer sends again what external waits and the waits of steps for jobs depend on, in case it is lost. All fields are required.
type Rearmer struct {
	Tokens *Tokens
	Polls  Polls
}

// longestStart is longer than a call of StartJob takes. A wait is opened at the end of that call, and the run begins in it.
const longestStart = 10 * time.Second

// Rearm sends the message that a wait depends on which was not delivered, and returns its name. With dryRun it sends nothing. If
// the message was not lost, a second delivery finds the first one, and of two chains of polls the one that is behind ends.
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
	}
	return needs, r.sendPoll(ctx, poll)
}

// RearmStep sends a poll of the job that a step waits for, and returns its name. It returns "" if the step depends on no poll: its token is
// closed, or the job's key names a resource, whose runs only the poll that was lost could tell apart. The token has that handle, and
// StartJob returned started.
func (r Rearmer) RearmStep(ctx context.Context, handle string, started jobs.StartResult, dryRun bool) (needs string, err error) {
	kind, known := jobs.Find(started.Kind)
	if !known || !kind.HasEnd() || kind.Name == jobs.KindCallback || kind.Scope == jobs.ScopeResource || started.ID == "" {
		return "", nil
	}
	record, err := r.Tokens.config.Store.Record(ctx, handle)
	switch {
	case err != nil || !record.Open():
		return "", err
	case dryRun:
		return NeedsPoll, nil
	}
	return NeedsPoll, r.sendPoll(ctx, Poll{
		Key: jobs.Key{Kind: kind.Name, Name: started.Key}, Number: 1, Waiter: Waiter{Handle: handle, JobID: started.ID},
	})
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
