package resume

import (
	"context"
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/jobs/simulated"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// Poll is a reconcile poll: the job of one waiter is to be described, in case its
// event never comes. The same message ends a wait at its deadline.
type Poll struct {
	Key    jobs.Key
	JobID  string
	Waiter Waiter
	// Number is 1 for the first poll of the wait, and so on.
	Number int
	// Receives is how often this message was received, this time included; 0 for
	// unknown. It is not sent: the receiver of the message fills it in.
	Receives int
	// Due is when it is of use, at most [LongestPoll] after it is sent.
	Due time.Time
	// Deadline is when the token is closed if it is still open then; zero where
	// an engine of ours sees to that.
	Deadline time.Time
	// MAC binds the token to the job: it proves that StartJob, or an earlier poll,
	// wrote all of this but Due.
	MAC string
}

// pollMAC is what the MAC of a poll is for.
const pollMAC token.Use = "poll"

// authenticated is what the MAC of the poll is over. Due is left out: a message
// that cannot be held back for so long is sent again.
func (p Poll) authenticated() []byte {
	var e value.Encoder
	EncodeKey(&e, p.Key)
	e.Text(p.JobID)
	e.Text(p.Waiter.Handle)
	e.Text(p.Waiter.Run.Name)
	e.Time(p.Waiter.Run.Since)
	e.Int(int64(p.Number))
	e.Time(p.Deadline)
	return e.Bytes()
}

// Authenticate returns the poll with the MAC that [Jobs.Reconcile] asks for.
// Only a caller that knows for itself who waits for which job may use it.
func (j *Jobs) Authenticate(poll Poll) Poll {
	poll.MAC = j.config.Tokens.config.Keys.MAC(pollMAC, poll.authenticated())
	return poll
}

// Polls carries polls to whoever calls Jobs.Reconcile.
type Polls interface {
	// Send delivers the poll at least once, never before its Due. When Send
	// returns nil it will not be lost.
	Send(ctx context.Context, poll Poll) error
}

// The pauses before a poll: the first one, which doubles from poll to poll, and
// the longest one, which is also the longest that a message may be held back.
const (
	FirstPoll   = time.Minute
	LongestPoll = 15 * time.Minute
)

// pause is how long the poll of that number comes after the one before.
func pause(number int) time.Duration {
	pause := FirstPoll
	for range min(number, 10) - 1 {
		pause *= 2
	}
	return min(pause, LongestPoll)
}

// errorTimeout is the name of a time-out in flows.
const errorTimeout = "FnF.TaskTimeout"

// forgotten is the number of the poll that believes the service that there is no
// such job. An earlier one may have come before the service told itself of it.
const forgotten = 2

// Reconcile carries out a poll.
//
//   - A poll without a valid MAC has no effect and reads nothing. The error is
//     [token.ErrForged]: discard the message.
//   - A poll that is early is sent again.
//   - After any other error, deliver the same poll again.
//
// If the service does not respond, the next poll asks again: a service that is
// down for long must not use up the number of times that a queue redelivers.
func (j *Jobs) Reconcile(ctx context.Context, poll Poll) error {
	check := func(keys token.Keys) error { return keys.CheckMAC(pollMAC, poll.authenticated(), poll.MAC) }
	if err := j.config.Tokens.withKeys(ctx, check); err != nil {
		return fmt.Errorf("reconcile job %s: %w", poll.Key.Name, err)
	}
	handle := poll.Waiter.Handle
	id, ok := token.HandleID(handle)
	switch now := j.config.Now(); {
	case !ok || !now.Before(id.Expires):
		return nil
	case now.Before(poll.Due):
		return j.sendAgain(ctx, poll)
	}
	record, err := j.config.Outcomes.Record(ctx, handle)
	switch {
	case err != nil:
		return fmt.Errorf("reconcile job %s: %w", poll.Key.Name, err)
	case record.Open() && poll.Number > 1 && poll.polling().Follows(record):
		return nil // another delivery of it sent its successor; the first poll begins a chain, as after a restart
	case record.Open():
		return j.poll(ctx, poll, record)
	case poll.closes(record.ClosedBy):
		return j.wake(ctx, id, handle, j.config.Now()) // who closed it may have died without a wake
	}
	return nil
}

// closes: a poll may have closed the token, or an event, which may not find its
// waiter any more when it comes again.
func (p Poll) closes(by token.Closer) bool {
	return by == token.ClosedByReconcile || by == token.ClosedByEvent || by == token.ClosedByDeadline && !p.Deadline.IsZero()
}

// polling is what the record of the token notes of the poll.
func (p Poll) polling() token.PollOp { return token.PollOp{Job: p.JobID, Number: p.Number} }

// poll closes the token of one who waits, or sends the next poll.
func (j *Jobs) poll(ctx context.Context, poll Poll, record token.Record) error {
	outcome, err := j.look(ctx, poll)
	if isNotFound(err) && poll.Number >= forgotten {
		outcome, err = new(token.Failure(jobs.ErrorNotFound, err.Error())), nil
	}
	j.warn(err)
	now := j.config.Now()
	switch {
	case outcome != nil:
		return j.settle(ctx, poll.Waiter.Handle, *outcome, token.ClosedByReconcile)
	case !poll.Deadline.IsZero() && !now.Before(poll.Deadline):
		cause := fmt.Sprintf("%s had no outcome by %s", poll.what(), poll.Deadline.UTC().Format(time.RFC3339))
		return j.settle(ctx, poll.Waiter.Handle, token.Failure(errorTimeout, cause), token.ClosedByDeadline)
	}
	next := poll
	next.Number, next.Receives = poll.Number+1, 0
	if err := j.send(ctx, next, now); err != nil {
		return err
	}
	return j.noteSent(ctx, poll.Receives, next, record)
}

// sendAgain sends a poll again that came early.
func (j *Jobs) sendAgain(ctx context.Context, poll Poll) error {
	receives := poll.Receives
	poll.Receives = 0
	if err := j.config.Polls.Send(ctx, poll); err != nil {
		return err
	}
	return j.noteSent(ctx, receives, poll, token.Record{})
}

// noteSent notes that the poll was sent, so that the chains of polls merge which a
// redelivered poll began: the one that is behind ends. A wait whose polls were
// each received once has one chain, and the note would cost a write for each.
func (j *Jobs) noteSent(ctx context.Context, receives int, sent Poll, record token.Record) error {
	if receives == 1 && record.Polled == 0 {
		return nil
	}
	if _, err := j.config.Outcomes.Poll(ctx, sent.Waiter.Handle, sent.polling()); err != nil {
		return fmt.Errorf("note poll %d of %s: %w", sent.Number, sent.what(), err)
	}
	return nil
}

// what the poll is about, for people.
func (p Poll) what() string {
	if p.Key.Kind == jobs.KindCallback {
		return "the callback"
	}
	return "job " + p.Key.Name
}

// look is the outcome of what waits for the job, nil while it waits.
func (j *Jobs) look(ctx context.Context, poll Poll) (*token.Outcome, error) {
	kind, ok := jobs.Find(poll.Key.Kind)
	switch {
	case !ok:
		return nil, fmt.Errorf("reconcile job %s: kind %q is none of this release", poll.Key.Name, poll.Key.Kind)
	case kind.Name == jobs.KindCallback:
		return nil, nil //nolint:nilnil // documented
	case kind.Name == jobs.KindSimulated:
		return j.simulatedOutcome(poll)
	}
	seen, err := j.describe(ctx, kind, poll.JobID)
	if err != nil {
		return nil, err
	}
	return verdict(kind, poll.Key.Name, poll.Waiter.Run, seen)
}

func (j *Jobs) simulatedOutcome(poll Poll) (*token.Outcome, error) {
	end, err := simulated.End(poll.JobID)
	if err != nil {
		return nil, err
	}
	if j.config.Now().Before(end) {
		return nil, nil //nolint:nilnil // it waits
	}
	return outcomeOf(poll.Key.Name, simulatedEnd(poll.Key, poll.JobID, end)), nil
}

// send sends the poll of that number for when it is of use.
func (j *Jobs) send(ctx context.Context, poll Poll, now time.Time) error {
	poll.Due = now.Add(pause(poll.Number))
	switch poll.Key.Kind {
	case jobs.KindSimulated: // whose end is known
		if end, err := simulated.End(poll.JobID); err == nil {
			poll.Due = earlier(end, now.Add(LongestPoll))
		}
	case jobs.KindCallback: // of which there is nothing to look at
		poll.Due = now.Add(LongestPoll)
	}
	if !poll.Deadline.IsZero() {
		poll.Due = earlier(poll.Due, poll.Deadline)
	}
	if err := j.config.Polls.Send(ctx, j.Authenticate(poll)); err != nil {
		return fmt.Errorf("send poll %d of %s: %w", poll.Number, poll.what(), err)
	}
	return nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
