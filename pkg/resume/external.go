package resume

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/token"
)

// ExternalWaits keeps the external waits, by the handles of their tokens. The record of such a
// token is kept like any other.
type ExternalWaits interface {
	// Open stores the wait, unless the handle has one, and returns the stored one.
	Open(ctx context.Context, handle string, wait ExternalWait) (ExternalWait, error)

	// ExternalWait returns the wait of the token with the handle and the token's record, or
	// [ErrNoWait].
	ExternalWait(ctx context.Context, handle string) (ExternalWait, token.Record, error)

	// Deliver records the result of the delivery, unless there is one. The error is
	// [ErrNoWait] if the handle has no wait.
	Deliver(ctx context.Context, handle string, delivery Delivery) error

	// List returns at most limit waits that were not delivered, by the instant when they were
	// opened, then by their handles. It begins after the wait with that handle, which may have
	// been delivered meanwhile, or at the first one for "". The error is [ErrNoWait] if no wait
	// has that handle.
	List(ctx context.Context, after string, limit int) ([]ExternalWait, error)
}

// ExternalWait is a wait of another engine. A token of Waitless stands for that engine's token.
type ExternalWait struct {
	Handle    string
	Recipient Recipient
	// Sealed is the recipient's token, encrypted ([token.Keys.Seal]).
	Sealed []byte
	// Job is the job that is waited for; zero for a callback.
	Job    jobs.Key
	JobID  string
	Opened time.Time
	// Deadline is when the token is closed at the latest.
	Deadline time.Time
	// Expires is until when the wait is kept at least. It is later than the deadline, so that a
	// late caller learns what happened first.
	Expires time.Time
	// Delivery is empty until the outcome is delivered.
	Delivery Delivery
}

// Recipient is the engine that issued the token in an external wait.
type Recipient string

// The recipients.
const (
	RecipientStepFunctions Recipient = "step-functions"
	RecipientDurable       Recipient = "durable-function"
)

// Delivery is the result of a delivery.
type Delivery string

// The results of a delivery.
const (
	// DeliverySent: the recipient accepted the outcome.
	DeliverySent Delivery = "sent"
	// DeliveryGone: the recipient does not wait any longer.
	DeliveryGone Delivery = "gone"
)

// Recipients delivers outcomes to other engines. Repeat a call after an error.
type Recipients interface {
	// Deliver delivers the outcome to the recipient that waits with the token.
	Deliver(ctx context.Context, recipient Recipient, theirs string, outcome token.Outcome) (Delivery, error)

	// Beat passes on a heartbeat. It returns [DeliveryGone] if the recipient does not wait any
	// longer, else "".
	Beat(ctx context.Context, recipient Recipient, theirs string) (Delivery, error)
}

// ErrNoWait says that a handle has no external wait.
var ErrNoWait = errors.New("resume: no external wait has this token")

const (
	externalDefault = 90 * 24 * time.Hour // the time of a wait that names none
	externalKept    = 24 * time.Hour      // how long a wait is kept after its deadline
)

// openExternal makes the token of an external wait.
func (s *startCall) openExternal(ctx context.Context, recipient Recipient, theirs string) error {
	if s.External == nil {
		const what = "taskToken and callbackId are not served here: want token, or none; a stack needs StateMachines or DurableFunctions"
		return &jobs.RequestError{Name: jobs.ErrorInvalid, What: what}
	}
	keys, err := s.Tokens.config.Keys.Get(ctx)
	if err != nil {
		return err
	}
	deadline := s.run.Since.Add(cmp.Or(time.Duration(s.request.TimeoutSeconds)*time.Second, externalDefault))
	hash := sha256.Sum256([]byte(string(recipient) + "\x00" + theirs))
	// The ID depends on the day and not on the instant, so that a repeated start has the same
	// handle. If midnight lies between, there are two waits, and the recipient accepts one outcome.
	const day = 24 * time.Hour
	id := token.ID{Execution: [12]byte(hash[:12]), Flags: token.FlagExternal, Expires: deadline.Add(externalKept + day).UTC().Truncate(day)}
	s.token = Token{ID: id, tokens: s.Tokens, handle: keys.Handle(id)}
	s.text, s.unique = keys.Sign(id), hex.EncodeToString(id.Execution[:])
	s.wait = ExternalWait{Handle: s.token.handle, Recipient: recipient, Deadline: deadline, Expires: id.Expires}
	s.wait.Sealed, err = keys.Seal(s.token.handle, theirs)
	return err
}

// keepExternal stores the external wait, before its token can be closed.
func (s *startCall) keepExternal(ctx context.Context) error {
	if s.wait.Recipient == "" {
		return nil
	}
	s.wait.Opened = s.Now()
	if s.request.Kind != jobs.KindCallback {
		s.wait.Job, s.wait.JobID = s.started.Key, s.started.ID
	}
	opened, err := s.External.Open(ctx, s.wait.Handle, s.wait)
	if err != nil {
		return fmt.Errorf("open the external wait %s: %w", token.Mask(s.wait.Handle), err)
	}
	s.wait.Deadline = opened.Deadline
	return nil
}
