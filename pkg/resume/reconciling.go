package resume

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/jobs/simulated"
	"github.com/waitless/waitless/pkg/token"
)

// Poll is a reconcile poll: it describes the job of one waiter, in case the job's
// event is lost, and ends an external wait at its deadline.
type Poll struct {
	Key    jobs.Key
	Waiter Waiter
	// Number counts the polls of the wait from 1.
	Number int
	// Receives counts the deliveries of this message, this one included; 0 is
	// unknown. It is not sent: the receiver of the message sets it.
	Receives int `json:"-"`
	// Due is when the poll is useful: at most [LongestPoll] after it is sent or, for a callback,
	// the deadline.
	Due time.Time
	// Deadline is when the token is closed at the latest. It is zero for a step: the engine closes
	// its token.
	Deadline time.Time
	// MAC proves that StartJob or an earlier poll wrote all of this but Due.
	MAC string
}

// pollMAC is the use of the MAC of a poll.
const pollMAC token.Use = "poll"

// authenticated returns the text that the MAC of the poll covers. It leaves Due out, because a
// message that a queue cannot hold back for so long is sent again.
func (p Poll) authenticated() []byte {
	p.Due, p.MAC = time.Time{}, ""
	text, _ := json.Marshal(p) // it has a JSON text
	return text
}

// Sign returns the poll with the MAC that [JobObserver.Reconcile] demands. Only a
// caller that knows by itself which token waits for which job may use it.
func (p Poll) Sign(keys token.Keys) Poll {
	p.MAC = keys.MAC(pollMAC, p.authenticated())
	return p
}

// Polls carries polls to [JobObserver.Reconcile].
type Polls interface {
	// Send delivers the poll at least once. It may deliver it early: [JobObserver.Reconcile]
	// sends another one then.
	Send(ctx context.Context, poll Poll) error
}

// The pauses before a poll.
const (
	// FirstPoll is the pause before the first poll. It doubles from poll to poll.
	FirstPoll = time.Minute
	// LongestPoll is the longest pause. Only a callback, which no service describes, has
	// a longer one: until its deadline.
	LongestPoll = 15 * time.Minute
)

// longestStop is the longest pause before a poll that may have to stop the job.
const longestStop = 5 * time.Minute

// errorTimeout is the name of a time-out in flows.
const errorTimeout = "FnF.TaskTimeout"

// firstBelievedPoll is the number of the first poll that believes the service if it does not
// know the job. An earlier one may come before the service knows a new job.
const firstBelievedPoll = 2

// Reconcile carries out a poll.
//
//   - A poll without a valid MAC has no effect and reads nothing. The error is
//     [token.ErrForged]: discard the message.
//   - A poll that is early is sent again. The next poll follows an early poll of a callback
//     at once, so that chains of early polls merge and end with the token.
//   - After any other error, deliver the same poll again.
//
// If the service does not respond, the next poll asks again: a service that is down for long must
// not use up the number of times that a queue redelivers.
func (o *JobObserver) Reconcile(ctx context.Context, poll Poll) error {
	tokens := o.config.Tokens
	check := func(keys token.Keys) error { return keys.CheckMAC(pollMAC, poll.authenticated(), poll.MAC) }
	if err := withKeys(ctx, tokens.config.Keys, check); err != nil {
		return fmt.Errorf("reconcile job %s: %w", poll.Key.Name, err)
	}
	handle := poll.Waiter.Handle
	id, ok := token.HandleID(handle)
	switch now := o.config.Now(); {
	case !ok || !now.Before(id.Expires):
		return nil
	case now.Before(poll.Due) && poll.Key.Kind != jobs.KindCallback:
		receives := poll.Receives
		poll.Receives = 0
		if err := o.config.Polls.Send(ctx, poll); err != nil {
			return err
		}
		return o.recordSent(ctx, receives, poll, token.Record{})
	}
	record, err := tokens.config.Store.Record(ctx, handle)
	switch {
	case err != nil:
		return fmt.Errorf("reconcile job %s: %w", poll.Key.Name, err)
	case record.Open() && poll.Number > 1 && poll.op().OvertakenIn(record):
		return nil // another delivery sent the next poll; the first poll begins a chain, as after a restart
	case record.Open():
		return o.poll(ctx, poll, record)
	case poll.mayClose(record.ClosedBy):
		return tokens.wake(ctx, id, handle) // the closer may have died before its wake
	case poll.Waiter.StopJob && record.ClosedBy == token.ClosedByStop:
		return o.stopJob(ctx, poll)
	}
	return nil
}

// mayClose reports whether a poll or an event may have closed the token. A poll repeats the wake of
// an event, because the redelivered event may not find the waiter any more.
func (p Poll) mayClose(by token.Closer) bool {
	return by == token.ClosedByReconcile || by == token.ClosedByEvent || by == token.ClosedByDeadline && !p.Deadline.IsZero()
}

// op returns the operation that records the poll in the token's record.
func (p Poll) op() token.PollOp { return token.PollOp{Job: p.Waiter.JobID, Number: p.Number} }

// poll closes the token if its job has ended, or sends the next poll.
func (o *JobObserver) poll(ctx context.Context, poll Poll, record token.Record) error {
	handle := poll.Waiter.Handle
	outcome, done, err := o.look(ctx, poll)
	if isNotFound(err) && poll.Number >= firstBelievedPoll {
		outcome, done, err = token.Failure(jobs.ErrorNotFound, err.Error()), true, nil
		if isOfMachine(handle) {
			outcome.Error = errorTaskFailed
		}
	}
	o.config.warn(err)
	switch {
	case done:
		return o.config.Tokens.closeFromQueue(ctx, handle, outcome, token.ClosedByReconcile)
	case !poll.Deadline.IsZero() && !o.config.Now().Before(poll.Deadline):
		cause := fmt.Sprintf("%s had no outcome by %s", poll.what(), poll.Deadline.UTC().Format(time.RFC3339))
		return o.config.Tokens.closeFromQueue(ctx, handle, token.Failure(errorTimeout, cause), token.ClosedByDeadline)
	}
	next := poll
	next.Number, next.Receives = poll.Number+1, 0
	if err := o.config.sendPoll(ctx, next); err != nil {
		return err
	}
	return o.recordSent(ctx, poll.Receives, next, record)
}

// recordSent records that the poll was sent, so that chains of polls that redeliveries begin merge:
// the chain that is behind ends. It writes nothing for a wait if each of its polls was received
// once.
func (o *JobObserver) recordSent(ctx context.Context, receives int, sent Poll, record token.Record) error {
	if receives == 1 && record.Polled == 0 {
		return nil
	}
	if _, err := o.config.Tokens.config.Store.Poll(ctx, sent.Waiter.Handle, sent.op()); err != nil {
		return fmt.Errorf("record poll %d of %s: %w", sent.Number, sent.what(), err)
	}
	return nil
}

// what returns the subject of the poll, for people.
func (p Poll) what() string {
	if p.Key.Kind == jobs.KindCallback {
		return "the callback"
	}
	return "job " + p.Key.Name
}

// look describes the job and returns the outcome of the wait. It reports false while
// the wait goes on.
func (o *JobObserver) look(ctx context.Context, poll Poll) (outcome token.Outcome, done bool, err error) {
	kind, ok := jobs.Find(poll.Key.Kind)
	switch {
	case !ok:
		return outcome, false, fmt.Errorf("reconcile job %s: this release does not know kind %q", poll.Key.Name, poll.Key.Kind)
	case kind.Name == jobs.KindCallback: // which no service describes
		return outcome, false, nil
	}
	_, seen, err := o.config.describeIn(ctx, poll.Key.Account, kind, poll.Waiter.JobID)
	if err != nil {
		return outcome, false, err
	}
	return o.config.outcomeOf(ctx, kind, poll.Key, poll.Waiter, seen)
}

// sendPoll signs the poll and sends it for the instant when it is useful.
func (c JobsConfig) sendPoll(ctx context.Context, poll Poll) error {
	keys, err := c.Tokens.config.Keys.Get(ctx)
	if err == nil {
		poll.Due = poll.due(c.Now())
		err = c.Polls.Send(ctx, poll.Sign(keys))
	}
	if err != nil {
		return fmt.Errorf("send poll %d of %s: %w", poll.Number, poll.what(), err)
	}
	return nil
}

// due returns when a poll is useful that is sent now.
func (p Poll) due(now time.Time) time.Time {
	pause := min(FirstPoll<<(min(p.Number, 10)-1), LongestPoll)
	if p.Waiter.StopJob {
		pause = min(pause, longestStop)
	}
	switch p.Key.Kind {
	case jobs.KindSimulated: // with a known end
		if end, err := simulated.End(p.Waiter.JobID); err == nil {
			pause = min(end.Sub(now), LongestPoll)
		}
	case jobs.KindCallback: // which no service describes
		if !p.Deadline.IsZero() {
			return p.Deadline
		}
		pause = LongestPoll
	}
	if !p.Deadline.IsZero() {
		pause = min(pause, p.Deadline.Sub(now))
	}
	return now.Add(pause)
}
