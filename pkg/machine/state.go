package machine

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// Status is the status of an execution, named as in the 2019-03-15 API.
type Status string

// The statuses. All but the first two are final.
const (
	StatusStarting  Status = "Starting"
	StatusRunning   Status = "Running"
	StatusSucceeded Status = "Succeeded"
	StatusFailed    Status = "Failed"
	StatusStopped   Status = "Stopped"
	StatusTimedOut  Status = "TimedOut"
)

// Statuses are all statuses. A log item stores their places in this list.
var Statuses = []Status{StatusStarting, StatusRunning, StatusSucceeded, StatusFailed, StatusStopped, StatusTimedOut}

// Final reports whether the execution has ended.
func (s Status) Final() bool { return s != StatusStarting && s != StatusRunning }

// Notify is where an execution reports that it ended.
type Notify struct {
	// Target is a URL, or on AWS also the ARN of a queue, a topic or an event bus. It is empty for
	// no reports. It may be a secret.
	Target string
	// Waits reports whether the target is also told of each step that begins to wait for a
	// callback.
	Waits bool
}

// FlowRef names the definition of an execution: its name and the hash of its text.
type FlowRef struct {
	Name string
	Hash string
}

// State is an execution between two signals. It is a value: [Apply] does not change the state that
// it is given.
type State struct {
	// Lane identifies the lane that has this state. It is nil for an execution.
	Lane *Lane
	// Parent is what started a sub-flow, or where an execution reports its end, nil for other
	// executions. The lanes of a sub-flow have it, too.
	Parent *Parent
	// Notify selects the notices of the execution, and is zero for most. Its lanes have it, too.
	Notify Notify
	// Redriven is set for an execution that goes on where another one ended. Its lanes do not have
	// it.
	Redriven *Redriven
	// Results holds the results that a redriven execution keeps of its first step, nil for others
	// and after that step. Its lanes have them, too.
	Results *Results
	// Trace is the trace context, nil for an execution that is not traced. Its lanes have it, too.
	Trace     *Trace
	Flow      FlowRef
	Execution string // name of the execution
	Status    Status
	Started   time.Time
	// Expires is when the execution is deleted, fixed at its start unless [Limits] has a ShortLife.
	// Its tokens are valid until then.
	Expires time.Time
	// At is the instant of the last signal. A later signal has no earlier instant.
	At     time.Time
	Events int // history events so far in this log, and the id of the last one
	// FirstID is the id that the API gives to the event before the first of this log: for a lane,
	// one of the ids that the fork reserved; 0 for an execution. Reserved is how many ids the forks
	// of this log reserved for their lanes.
	FirstID, Reserved int
	// Around, of a lane, is [State.ForkIndexes] of its parent.
	Around []int
	// Share has the items of a lane that claims them. It is nil for other logs.
	Share *Share
	// Tolerance counts the failed items of a lane in a fork that tolerates some. It is nil for
	// other logs.
	Tolerance *Tolerance
	Polls     int         // polls so far, and the Poll of the last one
	Input     value.Value // of the execution
	// Series are the open series, the flow's own first. There are none before the first step and
	// after the last.
	Series []Series
	// Waiting is the wait of the innermost series, nil before the first step and after the last.
	Waiting *Waiting
	// Timer is the live timer. Wakes of other timers do not apply.
	Timer Timer
	// Ending is how the execution will end once the waiting attempt has its outcome, nil if it is
	// not ending.
	Ending *Ending
	Output value.Value // of a succeeded execution
	// Error and Cause are set for an execution that failed or was stopped.
	Error, Cause string
	// FailedStep is the step that failed the execution or the lane, as [StepIn] writes it, empty if
	// it was none. While the lanes of a failed attempt end, it is the step that failed in them.
	FailedStep string
	// By is the cause of the wake that ended the execution, [CauseStart] until then.
	By string
	// Generation identifies the process in which a worker ended the execution.
	Generation uint64
}

// Series is an open series of steps: the series of the flow, of a choice's branch, of a catch, or
// of an item of a fork. The items of a fork that this log runs are in a series of their own.
type Series struct {
	Owner Owner
	Input value.Value // the series' input
	// Local are the merged outputs of the steps so far, or the outputs of a fork's items in lists.
	Local value.Value
	// Entered is the id of the event that entered the fork or the item, 0 for other series and for
	// the fork of a lane.
	Entered int
	// Since is when that was. It is zero unless the execution is sampled.
	Since time.Time
}

// Owner identifies the owner of a series of steps.
type Owner struct {
	Kind OwnerKind
	// Step is the index of the choice, the failed task or the fork. Branch is the index of the
	// choice's branch, the catch's entry or the fork's item. Both are 0 for the flow.
	Step, Branch int
}

// OwnerKind is the kind of an [Owner].
type OwnerKind uint8

// The kinds of owners. The numbers are stored.
const (
	OwnerFlow OwnerKind = iota
	OwnerChoice
	OwnerCatch
	OwnerFork // the items of a parallel or a foreach that this log runs
	OwnerItem // one of them: a branch or an iteration, in the series of the fork
)

// NoStep stands for the flow where a step's index is expected.
const NoStep = -1

// Entry records which wake entered a state.
type Entry struct {
	// By is the cause of the wake, and Since the instant.
	By    string
	Since time.Time
	// Generation identifies the worker's process; see [Env].
	Generation uint64
}

// Ending is how an execution is going to end.
type Ending struct {
	Status       Status
	Error, Cause string
	// Entry is the entry of the decision.
	Entry
}

// Waiting is a step that needs something from outside to go on.
type Waiting struct {
	Attempt Attempt
	For     WaitingFor
	Input   value.Value // the step's input
	// Due is the next instant at which something happens without a signal from outside, zero for
	// none: the end of a wait, of a claim or of the pause before a retry, the next poll, the
	// deadline, or a missed heartbeat.
	Due time.Time
	// Entry is the entry of the attempt, or of the current part of it.
	Entry
	// Began is when the attempt began, if that is not Since. It is zero unless the execution is
	// sampled.
	Began time.Time
	// Deadline is when the attempt of a token or of polls times out, zero for never.
	Deadline time.Time
	// Retried counts the retries by each policy of the step; nil before the first.
	Retried []int
	// Polls counts the polls of this attempt.
	Polls int
}

// Token returns the token that the step waits for, nil if it waits for something else.
func (w *Waiting) Token() *TokenWait {
	if w == nil {
		return nil
	}
	wait, _ := w.For.(*TokenWait)
	return wait
}

// Fork returns the lanes that the step waits for, nil if it waits for something else.
func (w *Waiting) Fork() *ForkWait {
	if w == nil {
		return nil
	}
	wait, _ := w.For.(*ForkWait)
	return wait
}

// Child returns the sub-flow that closes the step's token when it ends, nil for none.
func (w *Waiting) Child() *ExecutionRef {
	if t := w.Token(); t != nil {
		return t.Child
	}
	return nil
}

// Handle returns the handle of the token that the step waits for, "" if it waits for something
// else.
func (w Waiting) Handle() string {
	if t := w.Token(); t != nil {
		return t.Handle
	}
	return ""
}

// Submitted reports whether the step waits for a token that its function was told of.
func (w Waiting) Submitted() bool { return w.isIn(TokenSubmitted) }

// isIn reports whether the step waits for a token in this phase.
func (w *Waiting) isIn(phase TokenPhase) bool { return w.Token() != nil && w.Token().Phase == phase }

// WaitingFor is what ends the waiting of a step: one of [SimpleWait], [*TokenWait] and [*ForkWait].
//
//sumtype:decl
type WaitingFor interface{ waitingFor() }

// SimpleWait is the kind of a wait that has nothing but the fields of [Waiting].
type SimpleWait uint8

// The simple waits. The numbers are stored.
const (
	WaitingForCall        SimpleWait = 0  // the result of a direct call
	WaitingForInstant     SimpleWait = 1  // the end of a wait
	WaitingForClaim       SimpleWait = 2  // the result of a claimed call
	WaitingForRetry       SimpleWait = 4  // the next attempt of a task that failed
	WaitingForPoll        SimpleWait = 5  // the next poll of a task that waits for a condition
	WaitingForNextLogItem SimpleWait = 6  // the next item of the log, because the current one is full
	WaitingForItems       SimpleWait = 10 // the next items of the fork, which the lane claims
	WaitingForReport      SimpleWait = 13 // the failed items of all lanes, after a report of this one's
)

// TokenWait is the token that a step waits for.
type TokenWait struct {
	Handle string // the part of the token's text before the dot
	// Beat is the latest known heartbeat, at first the start of the attempt.
	Beat  time.Time
	Phase TokenPhase
	// Child is the sub-flow that closes the token when it ends, nil if something else does.
	Child *ExecutionRef
}

// ForkWait describes the lanes of a fork; the step waits for their ends.
type ForkWait struct {
	// Lanes is their number. FirstID is the id of the API before the ids of the first lane, and
	// Block the number of ids for each lane.
	Lanes, FirstID, Block int
	// Items is the number of branches or iterations that the lanes run. It is 0 for a fork that an
	// earlier release began.
	Items int
	// First is how many items each lane begins with if lanes claim the others (rule 27). It is 0 if
	// each lane has a fixed part of the items.
	First int
	// Tolerated is how many items may fail without a failure of the fork (rule 32).
	Tolerated int
	// Closing is the failure of the lane that failed first, once the log knows it: the other lanes
	// are being stopped, and no lane begins (rule 30). It is nil before.
	Closing *token.Outcome
}

// isFor reports whether an attempt of the step waits for this.
func (w *Waiting) isFor(wait SimpleWait, attempt Attempt) bool {
	return w != nil && w.For == wait && w.Attempt == attempt
}

// IsBetweenItems reports whether a lane waits for an answer of the join record before its next
// item.
func (w *Waiting) IsBetweenItems() bool {
	return w != nil && (w.For == WaitingForItems || w.For == WaitingForReport)
}

func (SimpleWait) waitingFor() {}
func (*TokenWait) waitingFor() {}
func (*ForkWait) waitingFor()  {}

// TokenPhase is the state of the call that leads to the outcome of a token.
type TokenPhase uint8

// The phases of a token. The numbers are stored.
const (
	TokenToSubmit  TokenPhase = iota // the function is still to be told of the token
	TokenToQueue                     // the call is still to be put into the task queue
	TokenQueued                      // the task queue has the call
	TokenSubmitted                   // the function was told of the token
)

// Attempt identifies one try of one step. Number is the id in its log of its event TaskScheduled or
// StepStarted, or StepEntered for a fork, so it grows with each attempt. Poll identifies the call
// of an attempt that polls: it counts the polls of the execution, and is 0 for others.
type Attempt struct {
	Step, Number, Poll int
}

// Timer is a wake that arrives no earlier than Due. The zero Timer is no timer.
type Timer struct {
	Tag string
	Due time.Time
}

// Env is the input of [Apply] besides the state and the signal.
type Env struct {
	// Flow is the definition that the state's Flow names.
	Flow *flow.Flow
	// Limits bound the execution.
	Limits Limits
	// Keys sign the tokens.
	Keys token.Keys
	// CallbackBase is the address for callbacks, like "https://host". It may be empty.
	CallbackBase string
	// TimeLimits are the time limits of the functions that the flow calls, by the text of the
	// resource. A call of a function that is not here is short.
	TimeLimits map[string]time.Duration
	// Cause is the cause of the wake being applied: [CauseStart], [CauseStop], a timer's tag, a
	// token's handle, or its [CauseReply].
	Cause string
	// Generation counts the processes that opened a store one after the other. It is 0 for a store
	// that several share.
	Generation uint64
	// WriteFormat is the newest format of items that may be written, 0 for the oldest that this
	// release reads. Lanes claim their items in format 2.
	WriteFormat int
	// Tag is the tag of a timer that this application starts. It must be new.
	Tag string
	// Loaded are the values of references in the state, as [Next.Load] asked for.
	Loaded map[value.Ref]value.Value
	// Before are the events of earlier signals in the same item of the log. [Apply] adds its events
	// in the spare capacity after them if that is large enough.
	Before []Event
}

// New returns the state of an accepted execution that has not begun, and its first history event.
// The definition belongs to the flow reference. The input must be an object.
func New(flow FlowRef, definition *flow.Flow, execution string, input value.Value, at time.Time, limits Limits) (State, []Event) {
	s := State{
		Flow: flow, Execution: execution, Status: StatusStarting,
		Started: at, Expires: limits.firstExpiry(definition, at), At: at, Events: 1, Input: input, By: CauseStart,
	}
	return s, []Event{{ID: 1, Type: ExecutionStarted, Step: NoStep, At: at, Input: input}}
}

// Causes of wakes that are neither a timer's tag nor a token's handle.
const (
	CauseStart = "start" // a start
	CauseStop  = "stop"  // a request to stop
	CauseLimit = "limit" // the time limit of an execution that has no timer for it
	// CauseRearm is the cause of a wake that does the work of all messages of an execution, which
	// may be lost.
	CauseRearm = "rearm"
	// CauseRearmCalls is CauseRearm if long calls may be lost, too, which are queued again.
	CauseRearmCalls = "rearm-calls"
	// CauseRearmNotices is CauseRearm if notices of waits may be lost, too, which are sent again.
	CauseRearmNotices = "rearm-notices"
)

// CauseReply returns the cause of the wake for the reply to a submission that the task queue made.
// It is not the handle: a wake with the handle as its cause is sent before the token is closed and
// must find it closed (rule 11).
func CauseReply(handle string) string { return "answer-" + handle }

// ID identifies an execution or a lane inside the system, and its log. The id of an execution is a
// hash of the names of the flow and the execution, so the same names always lead to the same log.
type ID [12]byte

// NewID returns the id of an execution of a flow.
func NewID(flow, execution string) ID {
	sum := sha256.Sum256([]byte(flow + "\x00" + execution))
	return ID(sum[:12])
}

// String is the id as 24 hexadecimal digits.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// ID returns the id of the execution or the lane.
func (s State) ID() ID {
	if s.Lane != nil {
		return s.Lane.ID()
	}
	return NewID(s.Flow.Name, s.Execution)
}
