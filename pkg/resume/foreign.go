package resume

import (
	"context"
	"errors"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/token"
)

// ForeignWaits keeps what a token of ours stands for that closes one of
// somebody else's engine. The token's outcome is kept as that of any other.
type ForeignWaits interface {
	// Open keeps the wait unless there is one under the handle, and answers the
	// one that is there.
	Open(ctx context.Context, handle string, wait ForeignWait) (ForeignWait, error)

	// ForeignWait is the wait of that token with its record; [ErrNoWait] for none.
	ForeignWait(ctx context.Context, handle string) (ForeignWait, token.Record, error)

	// Deliver notes what became of the delivery; the first one stays. The error
	// is [ErrNoWait] for none.
	Deliver(ctx context.Context, handle string, delivery Delivery) error

	// List are the waits that nothing is noted of, by the instant when they were
	// opened, then by their handles: at most limit of them after the one with that
	// handle, which may have been delivered meanwhile; "" begins.
	List(ctx context.Context, after string, limit int) ([]ForeignWait, error)
}

// ForeignWait is one wait of somebody else's engine.
type ForeignWait struct {
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

// Recipient is whose token a foreign wait holds.
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
}

// ErrNoWait says that a handle is of no foreign wait.
var ErrNoWait = errors.New("resume: no foreign wait has this token")
