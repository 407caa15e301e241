package resume

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/token"
)

// TokenStore keeps what is known of tokens, by their handles. Each method is one
// atomic step, as of no earlier than its call.
type TokenStore interface {
	// Record is what is known of the token: the zero Record when nobody closed
	// it and no heartbeat came.
	Record(ctx context.Context, handle string) (token.Record, error)

	// Close applies the closing, as [token.CloseOp.Apply] says, and answers
	// the record after it. After an error it may or may not have been applied.
	Close(ctx context.Context, handle string, closing token.CloseOp) (token.Record, error)

	// Beat notes a heartbeat, as [token.Record.Beat] says, and answers the
	// record after it.
	Beat(ctx context.Context, handle string, at time.Time) (token.Record, error)

	// Poll notes a reconcile poll, as [token.PollOp.Apply] says, and returns the
	// record after it.
	Poll(ctx context.Context, handle string, polling token.PollOp) (token.Record, error)
}

// Wakes tells whoever waits for a token to look at it.
type Wakes interface {
	// Send delivers a wake for the token at least once. It may come before the
	// token is closed, and at tells when it was sent.
	Send(ctx context.Context, id token.ID, handle string, at time.Time) error
}

// Config is what [Tokens] works with. All fields but Limit and By are required.
type Config struct {
	Keys token.Keys
	// NewerKeys reads the keys again; it is called when a text names a key that Keys lacks. If it
	// is nil, the keys do not change.
	NewerKeys func(context.Context) (token.Keys, error)

	Outcomes TokenStore
	Wakes    Wakes
	Now      func() time.Time
	// Limit is how large the output of a step of ours may be, in bytes; 0 means
	// [DefaultLimit].
	Limit int
	// By is what brings the outcomes; empty means [token.ClosedByHand].
	By token.Closer
	// Beats carries heartbeats to somebody else's engine; nil where none is
	// served.
	Beats Beats
}

// Beats carries heartbeats of foreign tokens to whoever calls
// [Deliveries.Beat].
type Beats interface {
	// SendBeat delivers the heartbeat at least once. When SendBeat returns nil it
	// will not be lost.
	SendBeat(ctx context.Context, handle string, at time.Time) error
}

// The limits of an output, in bytes.
const (
	// DefaultLimit is the vendor's limit of a step's data.
	DefaultLimit = 32 << 10
	// ForeignLimit is what Step Functions and durable functions take.
	ForeignLimit = 256 << 10
)

// Tokens closes tokens. It is safe for concurrent use.
type Tokens struct{ config Config }

// New makes Tokens.
func New(config Config) *Tokens { return &Tokens{config} }

// timeLimit bounds a closing: later its wake may have been dropped as the wake
// of a token that nobody closed (rule 11).
const timeLimit = 5 * time.Second

// Answer says what a closing met.
type Answer uint8

// The answers to a closing.
const (
	// Closed: this was the first outcome, and it stays.
	Closed Answer = iota
	// ClosedSame: the token had the same outcome before.
	ClosedSame
	// ClosedDifferent: the token had another outcome before, which stays.
	ClosedDifferent
)

// ErrTooSlow says that a closing ran out of time before anything was changed.
// It may be tried again.
var ErrTooSlow = errors.New("the outcome could not be recorded in time; try again")

// check finds a success that would only fail what waits for it: a step of ours
// takes an object, somebody else's engine any value.
func (t *Tokens) check(id token.ID, outcome token.Outcome) error {
	switch {
	case outcome.Failed():
		return nil
	case !isForeign(id):
		return checkOutput(outcome.Output, cmp.Or(t.config.Limit, DefaultLimit))
	}
	return checkValue(outcome.Output, ForeignLimit)
}

// checkName rejects a reported failure with a name of Waitless's own: flows catch
// "FnF.TaskTimeout" as what Waitless found, and no caller may report it. The
// owner of a token may revoke it.
func checkName(outcome token.Outcome, by token.Closer) error {
	switch {
	case !strings.HasPrefix(outcome.Error, "FnF.") && !strings.HasPrefix(outcome.Error, "Token."):
		return nil
	case outcome.Error == errorFailed, outcome.Error == token.ErrorRevoked && by == token.ClosedByHand:
		return nil
	}
	return &ReportError{What: `the error has a name that begins with "FnF." or "Token.", which are those of Waitless; report a name of your own`}
}

// errorFailed is the name of a failure that was reported without one.
const errorFailed = "FnF.Failed"

// errorDataLimit is the name in flows of values that are too large.
const errorDataLimit = "FnF.DataLimitExceeded"

// fitting is the outcome of a job, whose output nobody can refuse: of one that
// is none for what waits, the failure that comes of it.
func (t *Tokens) fitting(id token.ID, outcome token.Outcome) token.Outcome {
	if err := t.check(id, outcome); err != nil {
		return token.Failure(errorDataLimit, err.Error())
	}
	return outcome
}

func isForeign(id token.ID) bool { return id.Flags&token.FlagForeign != 0 }

// Close brings the outcome of what waits for the token. The record is what the
// token holds then, whoever brought it. The error is [token.ErrInvalid] for a
// text that is no token, a [*ReportError], [ErrTooSlow], or a store's.
func (t *Tokens) Close(ctx context.Context, text string, outcome token.Outcome) (Answer, token.Record, error) {
	id, handle, err := t.verify(ctx, text)
	if err != nil {
		return 0, token.Record{}, err
	}
	by := cmp.Or(t.config.By, token.ClosedByHand)
	if err := errors.Join(t.check(id, outcome), checkName(outcome, by)); err != nil {
		return 0, token.Record{}, fmt.Errorf("close token %s: %w", token.Mask(text), err)
	}
	return t.close(ctx, id, handle, outcome, by)
}

// close closes a token for somebody who does not come again by himself: the
// wake, then the update.
func (t *Tokens) close(ctx context.Context, id token.ID, handle string, outcome token.Outcome, by token.Closer) (Answer, token.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	sent := t.config.Now()
	if err := t.config.Wakes.Send(ctx, id, handle, sent); err != nil {
		return 0, token.Record{}, fmt.Errorf("close token %s: %w", token.Mask(handle), err)
	}
	now := t.config.Now()
	if now.Sub(sent) >= timeLimit {
		return 0, token.Record{}, ErrTooSlow
	}
	closing := token.CloseOp{Outcome: outcome, By: by, At: now}
	record, err := t.config.Outcomes.Close(ctx, handle, closing)
	if err != nil {
		return 0, token.Record{}, fmt.Errorf("close token %s: %w", token.Mask(handle), err)
	}
	return answer(record, closing), record, nil
}

// answer tells our own outcome from an earlier one by the instant and, since
// two may meet in one, by what it says.
func answer(record token.Record, closing token.CloseOp) Answer {
	switch {
	case !token.Same(*record.Outcome, closing.Outcome):
		return ClosedDifferent
	case record.ClosedBy != closing.By || !record.ClosedAt.Equal(closing.At):
		return ClosedSame
	}
	return Closed
}

// Check is what the token says; [token.ErrInvalid] for a text that is no
// token, before anything is read of what comes with it.
func (t *Tokens) Check(ctx context.Context, text string) (token.ID, error) {
	id, _, err := t.verify(ctx, text)
	return id, err
}

func (t *Tokens) verify(ctx context.Context, text string) (id token.ID, handle string, err error) {
	err = t.withKeys(ctx, func(keys token.Keys) error {
		id, handle, err = keys.Verify(text, t.config.Now())
		return err
	})
	return id, handle, err
}

// withKeys calls use with the keys, and again with newer ones if they lack a key.
func (t *Tokens) withKeys(ctx context.Context, use func(token.Keys) error) error {
	return t.config.Keys.With(newer(ctx, t.config.NewerKeys), use)
}

func newer(ctx context.Context, read func(context.Context) (token.Keys, error)) func() (token.Keys, error) {
	if read == nil {
		return nil
	}
	return func() (token.Keys, error) { return read(ctx) }
}

// Heartbeat keeps the token from being closed for a missed one, and one that
// stands for somebody else's from being closed there. The record tells whether it
// was open still.
func (t *Tokens) Heartbeat(ctx context.Context, text string) (token.Record, error) {
	now := t.config.Now()
	id, handle, err := t.verify(ctx, text)
	if err != nil {
		return token.Record{}, err
	}
	record, err := t.config.Outcomes.Beat(ctx, handle, now)
	if err == nil && record.Open() && isForeign(id) && t.config.Beats != nil {
		err = t.config.Beats.SendBeat(ctx, handle, now)
	}
	if err != nil {
		return token.Record{}, fmt.Errorf("send a heartbeat for token %s: %w", token.Mask(text), err)
	}
	return record, nil
}

// Describe is what is known of the token.
func (t *Tokens) Describe(ctx context.Context, text string) (token.ID, token.Record, error) {
	id, handle, err := t.verify(ctx, text)
	if err != nil {
		return token.ID{}, token.Record{}, err
	}
	record, err := t.config.Outcomes.Record(ctx, handle)
	if err != nil {
		return token.ID{}, token.Record{}, fmt.Errorf("describe token %s: %w", token.Mask(text), err)
	}
	return id, record, nil
}
