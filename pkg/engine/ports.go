package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// ID names an execution everywhere but to people: a hash of the flow's name
// and its own, so that the same names always meet in the same log.
type ID [12]byte

// NewID is the id of the execution of a flow, both by name.
func NewID(flow, execution string) ID {
	sum := sha256.Sum256([]byte(flow + "\x00" + execution))
	return ID(sum[:12])
}

// String is the id as 24 hexadecimal digits.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// Item is one entry of an execution's log: what happened since the item before
// and the state after it.
type Item struct {
	Execution ID
	Seq       uint64 // 0, 1, 2, ... without gaps
	Nonce     string // differs in every put that was ever tried
	Body      []byte // [machine.Encode]
}

// Log keeps the items of executions for ever. It is safe for use by many
// workers at once, in many processes.
type Log interface {
	// Latest is the item with the highest Seq, as of no earlier than the call.
	// An execution without items: [ErrNotFound].
	Latest(ctx context.Context, execution ID) (Item, error)

	// Append puts the item if the execution has none with its Seq yet. It
	// keeps a copy of Body. The Seq is taken: a [*ConflictError] with the nonce
	// that is there. After any other error the item may or may not be there.
	Append(ctx context.Context, item Item) error

	// Items are the execution's items from Seq from on, in order, at most limit
	// of them, as of no earlier than the call; none when there are no more.
	Items(ctx context.Context, execution ID, from uint64, limit int) ([]Item, error)
}

// Wake says: look at this execution. It carries ids and instants only, and may
// be delivered twice, late, in any order, or be forged, without harm.
type Wake struct {
	Execution ID
	// Cause is [machine.CauseStart] or the tag of a timer.
	Cause string
	// Due is the instant before which the wake is of no use.
	Due time.Time
	// Sent is when the wake was made; it stays when the wake is sent again.
	Sent time.Time
	// Seq, of a timer, is the item that names it.
	Seq uint64
}

// Wakes carries wakes to whoever calls [Engine.Advance].
type Wakes interface {
	// Send delivers the wake at least once, never before its Due, and soon
	// after it. When Send returns nil the wake will not be lost.
	Send(ctx context.Context, w Wake) error
}

// Tasks calls functions.
type Tasks interface {
	// Call makes the call and awaits its answer. What the function or the
	// attempt to call it came to is the outcome, failures included. The error
	// says that nobody knows because the worker is being stopped; the call
	// will be made again.
	Call(ctx context.Context, call machine.CallTask) (token.Outcome, error)
}

// Flows keeps definitions by name and content.
type Flows interface {
	// Put keeps the definition under the name and answers what to start it by.
	// The same text under the same name is the same flow. A text that is no
	// flow: an [*Error] with [CodeInvalid].
	Put(ctx context.Context, name string, text []byte) (machine.Flow, error)

	// Flow is the definition, checked. One that was never put: [ErrNotFound].
	Flow(ctx context.Context, flow machine.Flow) (*fdl.Flow, error)
}

// Observer is told what an engine does, for logs and views. Its methods return
// quickly and must be safe for concurrent use.
type Observer interface {
	// Calling: the call is about to be made. Its result is not committed yet,
	// and when the commit is lost to another worker never will be.
	Calling(call machine.CallTask, at time.Time)

	// Committed: the events are in the log now, and so is the state.
	Committed(execution ID, state machine.State, events []machine.Event)
}
