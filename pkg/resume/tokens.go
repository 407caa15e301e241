package resume

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/waitless/waitless/pkg/token"
)

// TokenStore keeps the records of tokens, by their handles. Each method is one
// atomic step on the latest record and returns the record after it. After an error
// the step may or may not have been applied.
type TokenStore interface {
	// Record returns the record of the token, the zero Record for none.
	Record(ctx context.Context, handle string) (token.Record, error)
	// Close applies the operation to the record.
	Close(ctx context.Context, handle string, op token.CloseOp) (token.Record, error)
	// CloseEarly is Close, and calls applied when the token's wake sees the outcome, which may be
	// before the outcome is durable. A store without such an instant does not call it.
	CloseEarly(ctx context.Context, handle string, op token.CloseOp, applied func()) (token.Record, error)
	// Beat applies [token.Record.Beat] to the record.
	Beat(ctx context.Context, handle string, at time.Time) (token.Record, error)
	// Poll applies the operation to the record.
	Poll(ctx context.Context, handle string, op token.PollOp) (token.Record, error)
}

// Wakes wakes the execution or the delivery that waits for a token.
type Wakes interface {
	// Send delivers a wake for the token at least once. It may arrive before the
	// token is closed; sent says when it was sent.
	Send(ctx context.Context, id token.ID, handle string, sent time.Time) error
}

// Beats carries heartbeats of external waits to [Deliveries.Beat].
type Beats interface {
	// SendBeat delivers the heartbeat at least once.
	SendBeat(ctx context.Context, handle string, at time.Time) error
}

// The limits of an output, in bytes.
const (
	// DefaultLimit is the vendor's limit of a step's data.
	DefaultLimit = 32 << 10
	// ExternalLimit is the limit of Step Functions and durable functions.
	ExternalLimit = 256 << 10
)

// TokensConfig configures [Tokens]. Keys, Store, Wakes and Now are required.
type TokensConfig struct {
	Keys  KeySource
	Store TokenStore
	Wakes Wakes
	Now   func() time.Time
	// Limit is the limit of a step's output in bytes; 0 means [DefaultLimit].
	Limit int
	// MaxLimit is the highest value that the limit may be set to; 0 means [ExternalLimit].
	MaxLimit int
	// LimitHint says how to raise the limit: "set VARIABLE". It ends the cause of a job that
	// fails because of its output.
	LimitHint string
	// By is the closer of the tokens; empty means [token.ClosedByHand].
	By token.Closer
	// Beats is nil if no external waits are served.
	Beats Beats
	// HoldBack, unless nil, holds back the wakes of the token's execution until release is called,
	// so that a wake does not arrive before its token is closed. Release is called when the wake
	// sees the outcome.
	HoldBack func(id token.ID) (release func())
}

// Tokens verifies, closes and describes tokens. It is safe for concurrent use.
type Tokens struct{ config TokensConfig }

// NewTokens returns Tokens. It panics if a required field is missing.
func NewTokens(config TokensConfig) *Tokens {
	require("NewTokens", map[string]bool{
		"Keys": config.Keys != nil, "Store": config.Store != nil, "Wakes": config.Wakes != nil, "Now": config.Now != nil,
	})
	config.By = cmp.Or(config.By, token.ClosedByHand)
	config.Limit, config.MaxLimit = cmp.Or(config.Limit, DefaultLimit), cmp.Or(config.MaxLimit, ExternalLimit)
	return &Tokens{config}
}

// require panics if a required field is missing.
func require(constructor string, present map[string]bool) {
	for field, ok := range present {
		if !ok {
			panic("resume: " + constructor + ": " + field + " is missing")
		}
	}
}

// Token is a token with a verified text.
type Token struct {
	ID     token.ID
	tokens *Tokens
	handle string
}

// Handle returns the name of the token, without its signature.
func (t Token) Handle() string { return t.handle }

// Verify verifies the text of a token. The error is [token.ErrInvalid] for a text
// that is not valid; nothing of it has an effect.
func (t *Tokens) Verify(ctx context.Context, text string) (Token, error) {
	verified := Token{tokens: t}
	err := withKeys(ctx, t.config.Keys, func(keys token.Keys) (err error) {
		verified.ID, verified.handle, err = keys.Verify(text, t.config.Now())
		return err
	})
	return verified, err
}

// CloseResult is the result of an attempt to close a token.
type CloseResult uint8

// The results.
const (
	// Closed: this outcome is the first one.
	Closed CloseResult = iota
	// ClosedSame: the token had the same outcome before.
	ClosedSame
	// ClosedDifferent: the token had another outcome before, which stays.
	ClosedDifferent
)

// ErrTooSlow says that closing a token ran out of time before anything changed.
// Try again.
var ErrTooSlow = errors.New("the outcome could not be recorded in time; try again")

// Close closes the token with the outcome. If the token is closed already, its record
// does not change, and the result says whether its outcome is another one. Close returns
// the record after the attempt. The error is a [*ReportError] for an outcome that is not
// accepted, [ErrTooSlow], or an error of the wakes or the store.
func (t Token) Close(ctx context.Context, outcome token.Outcome) (CloseResult, token.Record, error) {
	by := t.tokens.config.By
	if err := errors.Join(t.tokens.check(t.ID, outcome), checkName(outcome, by)); err != nil {
		return 0, token.Record{}, fmt.Errorf("close token %s: %w", token.Mask(t.handle), err)
	}
	if outcome.Error == errorFailed && t.ID.Flags&token.FlagAnyValue != 0 {
		outcome.Error = errorFailedState
	}
	result, record, err := t.closeFromRequest(ctx, outcome, by)
	if err != nil {
		err = fmt.Errorf("close token %s: %w", token.Mask(t.handle), err)
	}
	return result, record, err
}

// closeFromRequest closes a token for a request, which no queue redelivers. It sends the
// wake before it updates the record: after a crash between the two, the wake finds an open
// token and has no effect, and the caller, who got no response, repeats the request (rule
// 10).
func (t Token) closeFromRequest(ctx context.Context, outcome token.Outcome, by token.Closer) (CloseResult, token.Record, error) {
	config, release := t.tokens.config, func() {}
	if config.HoldBack != nil {
		release = sync.OnceFunc(config.HoldBack(t.ID))
		defer release()
	}
	ctx, cancel := context.WithTimeout(ctx, token.CloseTime)
	defer cancel()
	sent := config.Now()
	if err := config.Wakes.Send(ctx, t.ID, t.handle, sent); err != nil {
		return 0, token.Record{}, err
	}
	now := config.Now()
	if now.Sub(sent) >= token.CloseTime {
		return 0, token.Record{}, ErrTooSlow
	}
	op := token.CloseOp{Outcome: outcome, By: by, At: now}
	record, err := config.Store.CloseEarly(ctx, t.handle, op, release)
	// The instant tells the operation's own outcome from an earlier one, and the content tells two
	// of the same instant apart.
	switch {
	case err != nil:
		return 0, token.Record{}, err
	case !token.Same(*record.Outcome, op.Outcome):
		return ClosedDifferent, record, nil
	case record.ClosedBy != op.By || !record.ClosedAt.Equal(op.At):
		return ClosedSame, record, nil
	}
	return Closed, record, nil
}

// Heartbeat records a heartbeat, unless the token is closed, and passes it on to an
// external recipient. It returns the record.
func (t Token) Heartbeat(ctx context.Context) (token.Record, error) {
	config := t.tokens.config
	now := config.Now()
	record, err := config.Store.Beat(ctx, t.handle, now)
	if err == nil && record.Open() && isExternal(t.ID) && config.Beats != nil {
		err = config.Beats.SendBeat(ctx, t.handle, now)
	}
	if err != nil {
		return token.Record{}, fmt.Errorf("send a heartbeat for token %s: %w", token.Mask(t.handle), err)
	}
	return record, nil
}

// Describe returns the record of the token.
func (t Token) Describe(ctx context.Context) (token.Record, error) {
	record, err := t.tokens.config.Store.Record(ctx, t.handle)
	if err != nil {
		return token.Record{}, fmt.Errorf("describe token %s: %w", token.Mask(t.handle), err)
	}
	return record, nil
}

// closeFromQueue closes the token with the handle for a caller with a message that is redelivered
// after an error. It updates the record, then sends the wake, also if the token was closed before:
// the process that closed it may have died before its wake (rule 10).
func (t *Tokens) closeFromQueue(ctx context.Context, handle string, outcome token.Outcome, by token.Closer) error {
	id, ok := token.HandleID(handle)
	if !ok {
		return fmt.Errorf("close token %s: the handle is not valid", token.Mask(handle))
	}
	now := t.config.Now()
	if !now.Before(id.Expires) {
		return nil // nothing of the execution is left
	}
	op := token.CloseOp{Outcome: t.withinLimits(id, outcome), By: by, At: now}
	if _, err := t.config.Store.Close(ctx, handle, op); err != nil {
		return fmt.Errorf("close token %s: %w", token.Mask(handle), err)
	}
	return t.wake(ctx, id, handle)
}

// wake sends a wake for the token.
func (t *Tokens) wake(ctx context.Context, id token.ID, handle string) error {
	if err := t.config.Wakes.Send(ctx, id, handle, t.config.Now()); err != nil {
		return fmt.Errorf("send the wake of token %s: %w", token.Mask(handle), err)
	}
	return nil
}

// check rejects an output that the recipient of the token cannot have.
func (t *Tokens) check(id token.ID, outcome token.Outcome) error {
	if outcome.Failed() {
		return nil
	}
	return t.Limits(id).check(outcome.Output)
}

// withinLimits returns the outcome of a job, or a failure if check rejects its output.
func (t *Tokens) withinLimits(id token.ID, outcome token.Outcome) token.Outcome {
	if err := t.check(id, outcome); err != nil {
		return token.Failure(errorDataLimit, err.Error())
	}
	return outcome
}

// The names of errors in flows.
const (
	errorFailed      = "FnF.Failed"            // a failure that was reported without a name
	errorFailedState = "States.Failed"         // the same of a state of a machine
	errorDataLimit   = "FnF.DataLimitExceeded" // a value that is too large
)

// checkName rejects a reported failure that has a name of Waitless's own: flows
// catch "FnF.TaskTimeout" as a time-out that Waitless found. The owner of a token
// may revoke it.
func checkName(outcome token.Outcome, by token.Closer) error {
	switch {
	case !strings.HasPrefix(outcome.Error, "FnF.") && !strings.HasPrefix(outcome.Error, "Token."):
		return nil
	case outcome.Error == errorFailed, outcome.Error == token.ErrorRevoked && by == token.ClosedByHand:
		return nil
	}
	return &ReportError{What: `the error has a name that begins with "FnF." or "Token.", which are those of Waitless; report a name of your own`}
}

func isExternal(id token.ID) bool { return id.Flags&token.FlagExternal != 0 }
