package engine

import (
	"context"
	"time"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// ID names an execution everywhere but to people.
type ID = machine.ID

// NewID is the id of the execution of a flow, both by name.
func NewID(flow, execution string) ID { return machine.NewID(flow, execution) }

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
	// Cause is [machine.CauseStart], [machine.CauseStop], [machine.CauseLimit], the tag of a
	// timer, the handle of a token, or [machine.CauseReply] of one.
	Cause string
	// Due is the instant before which the wake is of no use.
	Due time.Time
	// Sent is when the wake was made; it stays when the wake is sent again.
	Sent time.Time
	// Seq, of a timer, is the item that names it.
	Seq uint64
	// Receives is how often this message was received, this time included. It
	// is not sent: whoever receives the message knows, and fills it in.
	Receives int
}

// Wakes carries wakes to whoever calls [Worker.Advance].
type Wakes interface {
	// Send delivers the wake at least once, never before its Due, and soon
	// after it. When Send returns nil the wake will not be lost.
	Send(ctx context.Context, w Wake) error
}

// Caller calls functions.
type Caller interface {
	// Call makes the call and awaits its answer. What the function or the
	// attempt to call it came to is the outcome, failures included. The error
	// says that nobody knows because the worker is being stopped; the call
	// will be made again. A [*WaitError] says that it was not made yet.
	Call(ctx context.Context, call machine.Call) (token.Outcome, error)

	// TimeLimits are the time limits of the functions that the flow calls, by
	// the text of the resource; a function whose limit nobody knows is left out.
	TimeLimits(ctx context.Context, flow *fdl.Flow) (map[string]time.Duration, error)
}

// WaitError is returned by [Caller] for a call that has to wait until fewer calls
// run. The caller calls one of its functions, once.
type WaitError struct {
	// Call waits and makes the call. Its result is that of [Caller], with the
	// addition of [ErrConflict] if another worker committed meanwhile, in which
	// case the call was not made.
	Call func(ctx context.Context) (token.Outcome, error)
	// GiveUp ends the wait.
	GiveUp func()
}

// Error implements error.
func (*WaitError) Error() string { return "the call waits for its turn" }

// TaskQueue carries long calls to whoever calls [TaskRunner.RunTask].
type TaskQueue interface {
	// Queue hands over a call that may take longer than a worker lives.
	// Somebody then gives it to [TaskRunner.RunTask], at least once, and again when
	// its disposition says so. When Queue returns nil the task will not be lost. If
	// the queue can never carry the task, because it is too large, Queue returns
	// an [*Error] with [CodeInvalid], and the attempt fails.
	Queue(ctx context.Context, task Task) error
}

// Task is a call in the task queue.
type Task struct {
	Call   machine.Call
	Handle string
	// Await: the function's answer is the outcome and closes the token. Otherwise
	// a success is only kept in the token's record, and a failure closes it.
	Await bool
	// AtMostOnce: whoever makes the call begins it in the token's record, so
	// that nobody else does.
	AtMostOnce bool
	// TimeLimit is the function's time limit, 0 if it is unknown. The call may have a shorter one.
	TimeLimit time.Duration
	// MAC binds the token to the call: it proves that a worker with the token keys
	// queued exactly this call for it.
	MAC string
}

// taskMAC is what the MAC of a task is for.
const taskMAC token.Use = "task"

// authenticated is what the MAC of the task is over: all of it.
func (t Task) authenticated() []byte {
	var e value.Encoder
	for _, text := range []string{
		t.Handle, t.Call.Flow.Name, t.Call.Flow.Hash, t.Call.Execution, t.Call.Step, t.Call.Resource.Text, t.Call.Input.JSON(),
	} {
		e.Text(text)
	}
	attempt := t.Call.Attempt
	for _, number := range []int{
		attempt.Step, attempt.Number, attempt.Poll, int(t.Call.Limit), asInt(t.Await), asInt(t.AtMostOnce), int(t.TimeLimit),
	} {
		e.Int(int64(number))
	}
	return e.Bytes()
}

func asInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TokenStore keeps what is known of tokens, by their handles. Each method is one
// atomic step, as of no earlier than its call.
type TokenStore interface {
	// Record is what is known of the token: the zero Record when nobody closed
	// it and no heartbeat came.
	Record(ctx context.Context, handle string) (token.Record, error)

	// Close applies the closing, as [token.CloseOp.Apply] says, and answers
	// the record after it. After an error it may or may not have been applied.
	Close(ctx context.Context, handle string, closing token.CloseOp) (token.Record, error)

	// Begin applies the beginning, as [token.BeginOp.Apply] says, and answers
	// the record after it. After an error it may or may not have been applied.
	Begin(ctx context.Context, handle string, beginning token.BeginOp) (token.Record, error)

	// Reply applies the reply, as [token.ReplyOp.Apply] says, and answers
	// the record after it. After an error it may or may not have been applied.
	Reply(ctx context.Context, handle string, op token.ReplyOp) (token.Record, error)
}

// Stops keeps the requests to stop executions, one for each.
type Stops interface {
	// RequestStop stores the request unless the execution has one. The store may delete the request
	// after it expired. After an error it may or may not be stored.
	RequestStop(ctx context.Context, execution ID, request StopRequest, expires time.Time) error

	// StopRequest returns the request, as of no earlier than the call. ok is false if there is none.
	StopRequest(ctx context.Context, execution ID) (request StopRequest, ok bool, err error)
}

// StopRequest is how an execution that is stopped ends.
type StopRequest struct{ Error, Cause string }

// Ends is told of executions that ended.
type Ends interface {
	// Ended says how an execution ended, after that was committed and at least
	// once: after an error, or when the worker died, it is said again later. The
	// values of the state may be held by reference.
	Ended(ctx context.Context, execution ID, state machine.State) error
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

// Definition is an entry in a list of definitions, for those who manage them.
type Definition struct {
	Flow machine.Flow
	// Created is when the definition was put first.
	Created time.Time
}

// Observer is told what an engine does, for logs and views. Its methods return
// quickly and must be safe for concurrent use.
type Observer interface {
	// Calling: the call is about to be made. Its result is not committed yet,
	// and when the commit is lost to another worker never will be.
	Calling(call machine.Call, at time.Time)

	// Committed: the events are in the log now, and so is the state.
	Committed(execution ID, state machine.State, events []machine.Event)
}
