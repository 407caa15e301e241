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

// Rearmer sends again what external waits depend on, in case it is lost. All fields are required.
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
	sender := JobsConfig{JobDescriber: JobDescriber{Now: config.Now}, Tokens: r.Tokens, Polls: r.Polls}
	if err := sender.sendPoll(ctx, poll); err != nil {
		return needs, err
	}
	if _, err := config.Store.Poll(ctx, wait.Handle, poll.op()); err != nil {
		return needs, fmt.Errorf("record poll 1 of %s: %w", poll.what(), err)
	}
	return needs, nil
}
