package resume

import (
	"context"
	"errors"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/token"
)

// Rendezvous keeps what is known of jobs, by their keys, so that an event and
// those who wait for it meet in either order. Each method is one atomic step.
// After an error it may or may not have been made; to make it again is no harm.
type Rendezvous interface {
	// Bind adds the waiter, or replaces the one with its handle, and answers
	// what is known then. The record is kept until expires at least.
	Bind(ctx context.Context, key jobs.Key, waiter Waiter, expires time.Time) (Meeting, error)

	// Note keeps the sighting of an end, unless a later one is kept, and
	// answers what is known then. Where nobody waits, it is kept until expires.
	Note(ctx context.Context, key jobs.Key, end jobs.Sighting, expires time.Time) (Meeting, error)

	// Release takes away the waiters with these handles.
	Release(ctx context.Context, key jobs.Key, handles []string) error
}

// Waiter is a token that waits for a job.
type Waiter struct {
	Handle string
	Run    jobs.Run
}

// Meeting is what is known of a job.
type Meeting struct {
	// Waiters are those who wait, in the order of their handles.
	Waiters []Waiter
	// End is the latest end that was seen, nil for none. The run may be an
	// earlier one.
	End *jobs.Sighting
}

// Services starts and describes jobs where they run. An error that the service
// answered is a [*ServiceError]; after any other nobody knows.
type Services interface {
	// Start makes the call that starts a job of that kind and answers what the
	// service answered, as JSON.
	Start(ctx context.Context, kind jobs.Kind, params []byte) ([]byte, error)

	// Describe makes the call that describes one.
	Describe(ctx context.Context, kind jobs.Kind, params []byte) ([]byte, error)
}

// ServiceError is what a service answered instead: its error code and message.
type ServiceError struct {
	// Name is the service and the code: "batch.ClientException".
	Name string
	// Message is the service's own text.
	Message string
	// Again: the same call may succeed later (throttled, service unavailable).
	Again bool
}

func (e *ServiceError) Error() string { return e.Name + ": " + e.Message }

// Poll is a reconcile poll: the job of one waiter is to be described, in case its
// event never comes. The same message ends a wait at its deadline.
type Poll struct {
	Key    jobs.Key
	JobID  string
	Waiter Waiter
	// Number is 1 for the first poll of the wait, and so on.
	Number int
	// Due is when it is of use.
	Due time.Time
	// Deadline is when the token is closed if it is still open then; zero where
	// an engine of ours sees to that.
	Deadline time.Time
}

// Polls carries polls to whoever calls Jobs.Reconcile.
type Polls interface {
	// Send delivers the poll at least once, never before its Due. When Send
	// returns nil it will not be lost.
	Send(ctx context.Context, poll Poll) error
}

// ForeignWaits keeps what a token of ours stands for that closes one of
// somebody else's engine. The token's outcome is kept as that of any other.
type ForeignWaits interface {
	// Open keeps the wait unless there is one under the handle, and answers the
	// one that is there.
	Open(ctx context.Context, handle string, wait ForeignWait) (ForeignWait, error)

	// ForeignWait is the wait of that token with its record; [ErrNoWait] for none.
	ForeignWait(ctx context.Context, handle string) (ForeignWait, token.Record, error)

	// Deliver notes what became of the delivery; the first one stays.
	Deliver(ctx context.Context, handle string, delivery Delivery) error

	// List are waits that are open or not delivered, the oldest first, at most
	// limit of them after the one with that handle; "" begins.
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
	Job     jobs.Key
	JobID   string
	Opened  time.Time
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

// JobsConfig is what [Jobs] works with.
type JobsConfig struct {
	// Tokens closes the tokens of those who wait, and signs those of foreign
	// waits. It is required.
	Tokens *Tokens
	// Outcomes, Wakes, Rendezvous, Services and Polls are required where their
	// use cases are used.
	Outcomes   Outcomes
	Wakes      Wakes
	Rendezvous Rendezvous
	Services   Services
	Polls      Polls
	// Foreign is nil where nobody else's engine is served.
	Foreign ForeignWaits
	// Account and Region are the caller's, for keys that no answer tells.
	Account, Region string
	// CallbackBase is where callbacks arrive: "https://host"; empty for nowhere.
	CallbackBase string
	Now          func() time.Time
	// Random makes the random part of a simulated job's id; nil means crypto/rand.
	Random func() [10]byte
}

// Jobs starts jobs, tells how they are, and brings those who wait for one its
// end. It is safe for concurrent use.
type Jobs struct{ config JobsConfig }

// NewJobs makes Jobs.
func NewJobs(config JobsConfig) *Jobs { return &Jobs{config} }

// StartJob is the function of that name: JSON in, JSON out. Its errors are a
// [*jobs.RequestError], a [*ServiceError], [token.ErrInvalid], or a store's.
func (j *Jobs) StartJob(ctx context.Context, input []byte) ([]byte, error) { return nil, nil }

// GetJobStatus is the function of that name: JSON in, JSON out. Its errors are
// those of [Jobs.StartJob].
func (j *Jobs) GetJobStatus(ctx context.Context, input []byte) ([]byte, error) { return nil, nil }

// Observe takes a job event, as EventBridge delivers it. After an error the same
// event is to come again. The error is [jobs.ErrNoEnd] where there is nothing to
// do, and another without effect for a text that is no event.
func (j *Jobs) Observe(ctx context.Context, event []byte) error { return nil }

// Reconcile carries out a poll. After an error the same poll is to come again.
func (j *Jobs) Reconcile(ctx context.Context, poll Poll) error { return nil }

// Deliveries hands outcomes of foreign tokens to their recipients.
type Deliveries struct {
	Keys       token.Keys
	Foreign    ForeignWaits
	Recipients Recipients
	Now        func() time.Time
}

// Deliver delivers the outcome of the token, once it has one: the wake of a
// closer comes before it (rule 11), and sent tells when that was. PutBack is when
// the same is to be asked again, zero when it is done.
func (d *Deliveries) Deliver(ctx context.Context, handle string, sent time.Time) (putBack time.Time, err error) {
	return time.Time{}, nil
}
