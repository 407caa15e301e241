package resume

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/token"
)

// ExternalWaits keeps what a token of ours stands for that closes one of
// somebody else's engine. The token's outcome is kept as that of any other.
type ExternalWaits interface {
	// Open keeps the wait unless there is one under the handle, and answers the
	// one that is there.
	Open(ctx context.Context, handle string, wait ExternalWait) (ExternalWait, error)

	// ExternalWait is the wait of that token with its record; [ErrNoWait] for none.
	ExternalWait(ctx context.Context, handle string) (ExternalWait, token.Record, error)

	// Deliver notes what became of the delivery; the first one stays. The error
	// is [ErrNoWait] for none.
	Deliver(ctx context.Context, handle string, delivery Delivery) error

	// List are the waits that nothing is noted of, by the instant when they were
	// opened, then by their handles: at most limit of them after the one with that
	// handle, which may have been delivered meanwhile; "" begins. The error is
	// [ErrNoWait] where no wait has that handle.
	List(ctx context.Context, after string, limit int) ([]ExternalWait, error)
}

// ExternalWait is one wait of somebody else's engine.
type ExternalWait struct {
	Handle string
	// Recipient is whose token it is.
	Recipient Recipient
	// Sealed is that token, encrypted ([token.Keys.Seal]).
	Sealed []byte
	// Job is what is waited for; its zero value where a callback alone is.
	Job    jobs.Key
	JobID  string
	Opened time.Time
	// Deadline is when the token is closed if it is still open then.
	Deadline time.Time
	// Expires is until when the wait is kept at least, as its handle says too:
	// later than the deadline, so that a late caller hears what happened first.
	Expires time.Time
	// Delivery is empty while the outcome was not delivered.
	Delivery Delivery
}

// Recipient is whose token an external wait holds.
type Recipient string

// The recipients that are not attempts of ours.
const (
	RecipientStepFunctions Recipient = "step-functions"
	RecipientDurable       Recipient = "durable-function"
)

// Delivery says what became of an outcome for somebody else.
type Delivery string

// The ends of a delivery.
const (
	// DeliverySent: the recipient took it.
	DeliverySent Delivery = "sent"
	// DeliveryGone: the recipient waits no more.
	DeliveryGone Delivery = "gone"
)

// Recipients delivers outcomes to somebody else's engine.
type Recipients interface {
	// Deliver hands the outcome to whoever waits with the token, or says that
	// nobody does any more. After an error it is to be tried again.
	Deliver(ctx context.Context, recipient Recipient, theirs string, outcome token.Outcome) (Delivery, error)

	// Beat hands on a heartbeat. The answer is empty, or [DeliveryGone] when
	// nobody waits any more. After an error it is to be tried again.
	Beat(ctx context.Context, recipient Recipient, theirs string) (Delivery, error)
}

// ErrNoWait says that a handle is of no external wait.
var ErrNoWait = errors.New("resume: no external wait has this token")

// The time that an external wait has: what it asks for or ninety days, and what
// its record is kept for after that.
const (
	externalDefault = 90 * 24 * time.Hour
	externalKept    = 24 * time.Hour
)

func externalTime(seconds int64) time.Duration {
	if seconds == 0 {
		return externalDefault
	}
	return time.Duration(seconds) * time.Second
}

// externalID is what our token says that stands for theirs. It holds no instant
// but a day, so that a repeated start has the same handle, unless midnight lies
// between; then there are two waits, of which the recipient takes one outcome.
func externalID(recipient Recipient, theirs string, deadline time.Time) token.ID {
	hash := sha256.Sum256([]byte(string(recipient) + "\x00" + theirs))
	const day = 24 * time.Hour
	return token.ID{
		Execution: [12]byte(hash[:12]), Flags: token.FlagExternal,
		Expires: deadline.Add(externalKept + day).UTC().Truncate(day),
	}
}

// openExternal makes the token of an external wait.
func (s *start) openExternal(ctx context.Context, recipient Recipient, theirs string) error {
	if s.external == nil {
		return &jobs.RequestError{Name: jobs.ErrorInvalid, What: "taskToken and callbackId are not served here: want token, or none"}
	}
	keys, err := s.ports.Tokens.config.Keys.Get(ctx)
	if err != nil {
		return err
	}
	s.recipient, s.theirs = recipient, theirs
	s.deadline = s.since.Add(externalTime(s.request.TimeoutSeconds))
	id := externalID(recipient, theirs, s.deadline)
	s.token = Token{ID: id, tokens: s.ports.Tokens, handle: keys.Handle(id)}
	return nil
}

// keepExternal stores the external wait, before its token can be closed.
func (s *start) keepExternal(ctx context.Context) error {
	if s.recipient == "" {
		return nil
	}
	wait := ExternalWait{
		Handle: s.token.handle, Recipient: s.recipient, Opened: s.ports.now(), Deadline: s.deadline, Expires: s.token.ID.Expires,
	}
	err := withKeys(ctx, s.ports.Tokens.config.Keys, func(keys token.Keys) (err error) {
		wait.Sealed, err = keys.Seal(wait.Handle, s.theirs)
		return err
	})
	if err != nil {
		return err
	}
	if s.request.Kind != jobs.KindCallback {
		wait.Job, wait.JobID = s.started.Key, s.started.ID
	}
	opened, err := s.external.Open(ctx, wait.Handle, wait)
	if err != nil {
		return fmt.Errorf("open the external wait %s: %w", token.Mask(wait.Handle), err)
	}
	s.deadline = opened.Deadline
	return nil
}
