package engine

import (
	"context"
	"time"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// ID identifies an execution, or a lane of one. People use names.
type ID = machine.ID

// NewID returns the id of an execution; flow and execution are names.
func NewID(flow, execution string) ID { return machine.NewID(flow, execution) }

// Item is one entry of an execution's log: what happened since the previous item, and the state
// after it.
type Item struct {
	Execution ID
	Seq       uint64 // 0, 1, 2, ... without gaps
	Nonce     string // different for every put
	Body      []byte // [machine.Encode]
	// Rest is the rest of the state, for a store that lists the executions to take over first.
	// Stores do not return it.
	Rest machine.Rest
}

// ItemKey names an item of a log.
type ItemKey struct {
	Execution ID
	Seq       uint64
}

// Key returns the key of the item.
func (i Item) Key() ItemKey { return ItemKey{i.Execution, i.Seq} }

// Log keeps the items of executions. It is safe for use by many workers at once, in many processes.
type Log interface {
	// Latest returns the item with the highest Seq, as of no earlier than the call. The error is
	// [ErrNotFound] for an execution without items.
	Latest(ctx context.Context, execution ID) (Item, error)

	// Append puts the item if the execution has no item with its Seq. It keeps a copy of Body. If
	// there is one, the error is a [*ConflictError] with its nonce. After any other error the item
	// may or may not be stored.
	Append(ctx context.Context, item Item) error

	// Items returns at most limit items of the execution, in order, beginning with Seq from, as of
	// no earlier than the call.
	Items(ctx context.Context, execution ID, from uint64, limit int) ([]Item, error)

	// Get returns the items that exist, as of no earlier than the call. The keys differ. Over a
	// network it takes one request for 100 keys.
	Get(ctx context.Context, keys ...ItemKey) (map[ItemKey]Item, error)

	// Extend sets the expiry of items that have not expired. If it returns nil, none of them is
	// deleted before that instant. After an error, the expiry of some may be set. The keys differ.
	// A log without expiry does nothing.
	Extend(ctx context.Context, expires time.Time, keys ...ItemKey) error
}

// Wake asks a worker to look at an execution. It carries only ids and instants. It may be delivered
// twice, late or in any order, and it may be forged, without harm.
type Wake struct {
	Execution ID // or the id of a lane's log
	// Lane is set in the wakes of a lane that may come before its log exists: its start, its stop,
	// and its timers.
	Lane *machine.Lane
	// Cause is [machine.CauseStart], [machine.CauseStop], [machine.CauseLimit], the tag of a timer,
	// the handle of a token, [machine.CauseReply] of one, [machine.CauseJoined],
	// [machine.CauseLaneFailed], [machine.CauseParent], [machine.CauseDescendants],
	// [machine.CauseRearm], [machine.CauseRearmCalls] or [machine.CauseRearmNotices].
	Cause string
	// Due is the instant before which the wake has no effect.
	Due time.Time
	// Sent is when the wake was made. It does not change when the wake is sent again.
	Sent time.Time
	// Seq, of a timer, is the item that names it.
	Seq uint64
	// Flow is the name of the execution's flow, "" if the sender does not know it.
	Flow string
	// Descendant says that the execution is a sub-flow of a sub-flow. A queue may handle other
	// wakes first.
	Descendant bool
	// Root, of a descendant, is the [machine.RootID] of the execution from which it descends, zero
	// if the sender does not know it. A queue in memory can let families take turns. It is not sent
	// elsewhere.
	Root ID
	// Receives is how often this message was received, this time included. It is not sent: the
	// receiver sets it.
	Receives int
}

// Wakes is the queue of wakes. Its receiver calls [Worker.Advance].
type Wakes interface {
	// Send delivers the wake at least once, soon after its Due and never before. If Send returns
	// nil, the wake is not lost.
	Send(ctx context.Context, w Wake) error

	// SendAll is Send for several wakes that are due. After an error some may have been sent.
	SendAll(ctx context.Context, wakes []Wake) error

	// HoldBack holds back the wakes of an execution until release is called, while its first item
	// is stored. A queue that does not hold back delivers the wake of a start again if it comes
	// before the item.
	HoldBack(execution ID) (release func())
}

// SendEach sends wakes with send, one after the other: [Wakes.SendAll] for a queue without batches.
func SendEach(ctx context.Context, wakes []Wake, send func(context.Context, Wake) error) error {
	for _, wake := range wakes {
		if err := send(ctx, wake); err != nil {
			return err
		}
	}
	return nil
}

// Caller calls functions.
type Caller interface {
	// Call makes the call and waits for its result. A failure of the function, or of the attempt to
	// call it, is an outcome. An error means that the result is unknown because the worker is being
	// stopped; the call is repeated. A [*SlowCallError] means that the result takes longer, and a
	// [*BusyError] that the call was not made.
	Call(ctx context.Context, call machine.Call) (token.Outcome, error)

	// TimeLimits returns the time limits of the functions that the flow calls, by the text of the
	// resource. Functions with an unknown limit are absent.
	TimeLimits(ctx context.Context, flow *flow.Flow) (map[string]time.Duration, error)
}

// BusyError is returned by [Caller] for a call that was not made, because there was no room for it.
// The wake or the task is redelivered. A call that must not be repeated has Outcome: later it is
// unknown that the call was not made.
type BusyError struct{ Outcome token.Outcome }

// Error implements error.
func (e *BusyError) Error() string { return "no room for the call: " + e.Outcome.Cause }

// SlowCallError is returned by [Caller] for a call whose result takes longer: it waits until fewer
// calls run, or it runs already. Commit before you wait for it.
type SlowCallError struct {
	// Await makes the call if it was not made yet, and waits for its result. It returns the result
	// of [Caller], or [ErrConflict] if another worker committed meanwhile. A call that was made
	// goes on then, and its result is lost.
	Await func(ctx context.Context) (token.Outcome, error)
}

// Error implements error.
func (*SlowCallError) Error() string { return "the result of the call takes longer" }

// TaskQueue is the queue of long calls. Its receiver calls [TaskRunner.RunTask].
type TaskQueue interface {
	// Queue adds a call that may take longer than a worker lives. The task is delivered at least
	// once, and again when the disposition says so. If Queue returns nil, the task is not lost. If
	// the task is too large for the queue, the error is an [*Error] with [CodeInvalid], and for an
	// unknown activity with [CodeNotFound]. The attempt then fails.
	Queue(ctx context.Context, task Task) error
}

// Task is a call in the task queue.
type Task struct {
	Call   machine.Call
	Handle string
	// LargeInput stands for the input of the call, which is missing then, if it is too large for a
	// message.
	LargeInput string
	// Await reports whether the function's result is the outcome and closes the token. Otherwise a
	// success is only stored in the token's record, and a failure closes the token.
	Await bool
	// AtMostOnce reports whether the runner must begin the call in the token's record, so that no
	// other runner makes it.
	AtMostOnce bool
	// TimeLimit is the function's time limit, 0 if it is unknown. The call may have a shorter one.
	TimeLimit time.Duration
	// MAC proves that a worker with the token keys queued exactly this call for this token.
	MAC string
	// Receives is how often this message was received, this time included. It is not sent: the
	// receiver sets it.
	Receives int
}

// taskMAC is the use of the MAC of a task.
const taskMAC token.Use = "task"

// authenticated returns the bytes that the MAC covers: the whole task but for the iteration, which
// only informs the function. Release 0.1.0 does not know it, and would discard the task during a
// deployment.
func (t Task) authenticated() []byte {
	var e value.Encoder
	for _, text := range []string{
		t.Handle, string(t.Call.Log[:]), t.Call.Place, t.Call.Flow.Name, t.Call.Flow.Hash, t.Call.Execution, t.Call.Step, t.Call.Resource.Text,
		t.Call.Input.JSON(), t.LargeInput,
	} {
		e.Text(text)
	}
	attempt := t.Call.Attempt
	for _, number := range []int{
		attempt.Step, attempt.Number, attempt.Poll, int(t.Call.Limit), asInt(t.Await), asInt(t.AtMostOnce), int(t.TimeLimit),
	} {
		e.Int(int64(number))
	}
	if t.Call.Traceparent != "" {
		e.Text(t.Call.Traceparent)
		e.Text(t.Call.Tracestate)
	}
	return e.Bytes()
}

func asInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TokenStore keeps the records of tokens by their handles. Each method is one atomic step, as of no
// earlier than its call. After an error of an update, the update may or may not have been applied.
type TokenStore interface {
	// Record returns the record of the token, the zero Record if there is none.
	Record(ctx context.Context, handle string) (token.Record, error)

	// Close applies op (see [token.CloseOp.Apply]) and returns the record after it.
	Close(ctx context.Context, handle string, op token.CloseOp) (token.Record, error)

	// Begin applies op (see [token.BeginOp.Apply]) and returns the record after it.
	Begin(ctx context.Context, handle string, op token.BeginOp) (token.Record, error)

	// Reply applies op (see [token.ReplyOp.Apply]) and returns the record after it.
	Reply(ctx context.Context, handle string, op token.ReplyOp) (token.Record, error)
}

// Stops keeps the requests to stop executions, one for each.
type Stops interface {
	// RequestStop stores the request unless the execution has one. The store may delete the request
	// after it expired. After an error it may or may not be stored.
	RequestStop(ctx context.Context, execution ID, request StopRequest, expires time.Time) error

	// StopRequest returns the request, as of no earlier than the call. ok is false if there is
	// none.
	StopRequest(ctx context.Context, execution ID) (request StopRequest, ok bool, err error)
}

// StopRequest is how an execution that is stopped ends.
type StopRequest struct{ Error, Cause string }

// Ends receives the executions that ended.
type Ends interface {
	// Ended reports the end of an execution after its commit, at least once: it is called again
	// after an error, or if the worker died. Values of the state may be held by reference.
	Ended(ctx context.Context, execution ID, state machine.State) error
}

// Notices receives the notices for the targets of executions.
type Notices interface {
	// Notify accepts the notice, which is delivered at least once, or given up after
	// [NoticePatience]. If Notify returns nil, the notice is not lost. The same notice may come
	// several times.
	Notify(ctx context.Context, notice Notice) error
}

// NoticePatience is how long the delivery of a notice is retried.
const NoticePatience = 24 * time.Hour

// Notice is a message to the target of an execution.
type Notice struct {
	Execution ID
	ID        string // the same each time; it has no dot
	Target    string // [machine.Notify]
	Body      string // JSON
	// Ended reports whether the notice is about the end of the execution.
	Ended bool
}

// Flows keeps definitions by name and content.
type Flows interface {
	// Put stores the definition under the name and returns its reference. The same text under the
	// same name is the same flow. It is then the newest definition of the name. If the text is not
	// a flow, the error is an [*Error] with [CodeInvalid].
	Put(ctx context.Context, name string, text []byte) (machine.FlowRef, error)

	// Flow returns the parsed definition. The error is [ErrNotFound] for a definition that was
	// never put.
	Flow(ctx context.Context, flow machine.FlowRef) (*flow.Flow, error)

	// Newest returns the definition that was listed last under the name, as of no earlier than the
	// call. The error is [ErrNotFound] if the list has none.
	Newest(ctx context.Context, name string) (machine.FlowRef, error)

	// SetNotify sets the Notify of a listed definition for executions that start without a target.
	// The error is [ErrNotFound] if the definition is not listed. It is forgotten when the
	// definition leaves the list, or becomes the newest again.
	SetNotify(ctx context.Context, flow machine.FlowRef, notify machine.Notify) error

	// NotifyOf returns what SetNotify set, the zero value if nothing. It may be a minute old.
	NotifyOf(ctx context.Context, flow machine.FlowRef) (machine.Notify, error)
}

// Index lists executions. It may lag behind the log.
type Index interface {
	// Executions returns a page of the selected executions, the latest start first: at most limit
	// ids. After is the text next of the previous page, empty for the first one; for any other text
	// the error has [CodeInvalid]. Next is empty on the last page; pages before it may be short or
	// empty.
	Executions(ctx context.Context, of Selection, after string, limit int) (ids []ID, next string, err error)
}

// Catalog lists executions, and the definitions that [Flows] stores, for users.
type Catalog interface {
	Index

	// Definitions returns the listed definitions by name, the latest of a name first. An empty name
	// means all.
	Definitions(ctx context.Context, name string) ([]Definition, error)

	// FlowText returns the text of a listed definition. For any other, the error is [ErrNotFound].
	FlowText(ctx context.Context, flow machine.FlowRef) ([]byte, error)

	// SetProperties replaces the properties of a listed definition, which are empty at first, if
	// they equal before. If they differ, the error is [ErrConflict]; if the definition is not
	// listed, [ErrNotFound]. A reference without a hash stands for the OfName of the listed
	// definitions of its name.
	SetProperties(ctx context.Context, flow machine.FlowRef, before, properties string) error

	// DeleteFlow takes the definition and its properties off the list until it is put again. The
	// engine can still read it: executions that the index does not show yet need it, and histories
	// name its steps. Deleting a definition that is not listed has no effect. OfName is deleted
	// with the last definition of the name.
	DeleteFlow(ctx context.Context, flow machine.FlowRef) error
}

// Definition is an entry in a list of definitions.
type Definition struct {
	Flow machine.FlowRef
	// Created is when the definition became the newest of its name.
	Created time.Time
	// Properties holds a protocol's own data for the definition while it is listed, in the
	// protocol's form.
	Properties string
	// OfName holds a protocol's own data for the name, the same in all its definitions.
	OfName string
	// Notify is the setting in [Flows] for executions that start without a target.
	Notify machine.Notify
}

// Observer receives reports of an engine's work, for logs and views. Its methods return quickly and
// are safe for concurrent use.
type Observer interface {
	// Calling is called before a call. The result is not committed yet, and it never will be if
	// another worker commits first.
	Calling(call machine.Call, at time.Time)

	// Committed is called after the events and the state of an execution or of a lane were
	// committed. The events have their Items. They are valid during the call: an observer that
	// keeps them keeps a copy.
	Committed(execution ID, state machine.State, events []machine.Event)
}
