package machine

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// Status is the status of an execution as the 2019-03-15 API names it.
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

// Final reports whether nothing follows the status.
func (s Status) Final() bool { return s != StatusStarting && s != StatusRunning }

// Flow names the definition of an execution: a name and the hash of the text.
type Flow struct {
	Name string
	Hash string
}

// State is an execution between two signals. It is a value: [Apply] never
// changes one that it was given.
type State struct {
	Flow      Flow
	Execution string // name of the execution
	Status    Status
	Started   time.Time
	// Expires is when nothing of the execution is kept any more, fixed at its
	// start: tokens of it are valid until then.
	Expires time.Time
	// At is the instant of the last signal; no signal is earlier.
	At     time.Time
	Events int         // history events so far, which is also the id of the last one
	Polls  int         // polls so far, which is also the Poll of the last one
	Input  value.Value // as the execution was started with
	// Scopes are the series being run, the flow's own first; empty before the
	// first step and after the last.
	Scopes []Scope
	// Waiting is what the innermost series waits for, nil when nothing.
	Waiting *Waiting
	// Timer is the live timer, the only one whose arrival counts.
	Timer Timer
	// Ending is how the execution will end, once the attempt that still waits
	// has its outcome; nil when it is not ending.
	Ending *Ending
	// Output is the result of a succeeded execution.
	Output value.Value
	// Error and Cause say why an execution failed or was stopped.
	Error, Cause string
	// By is the cause of the wake that started or ended the execution.
	By string
	// Generation is that of the process whose worker ended it.
	Generation uint64
}

// Scope is a series of steps that is being run.
type Scope struct {
	Owner Owner
	Input value.Value // the series' input
	Local value.Value // the merged outputs of its steps so far
}

// Owner is what a series of steps belongs to.
type Owner struct {
	Kind OwnerKind
	// Step is the index of the choice or of the task that failed, and Branch that of the choice's branch or of the catch's
	// entry. Both are 0 for the flow.
	Step, Branch int
}

// OwnerKind is the kind of an [Owner].
type OwnerKind uint8

// The kinds of owners. The numbers are stored.
const (
	OwnerFlow OwnerKind = iota
	OwnerChoice
	OwnerCatch
)

// NoStep stands for the flow where a step's index is expected.
const NoStep = -1

// Entry records which wake entered a state.
type Entry struct {
	// By is the cause of that wake, and Since the instant.
	By    string
	Since time.Time
	// Generation is that of the worker's process; see [Env].
	Generation uint64
}

// Ending is the end that an execution will come to.
type Ending struct {
	Status       Status
	Error, Cause string
	// Entry is that of the decision.
	Entry
}

// Waiting is a step that needs something from outside to go on.
type Waiting struct {
	Attempt Attempt
	For     WaitingFor
	Input   value.Value // the step's input
	// Due is the next instant at which something happens without a signal from outside, zero for none: the end of a wait, of a
	// claim or of the pause before a retry, the next poll, the deadline, or a missed heartbeat.
	Due time.Time
	// Entry is that of the attempt, or of the current part of it.
	Entry
	// Deadline is when the attempt of a token or of polls times out, zero for never.
	Deadline time.Time
	// Retried counts the retries by each policy of the task; nil before the first.
	Retried []int
	// Polls counts the polls of this attempt.
	Polls int
	// Token is set if and only if For is [WaitingForToken].
	Token *TokenWait
}

// Handle returns the handle of the token that the step waits for, "" if it waits for something else.
func (w Waiting) Handle() string {
	if w.Token == nil {
		return ""
	}
	return w.Token.Handle
}

// Submitted reports whether the step waits for a token that its function was told of.
func (w Waiting) Submitted() bool { return w.Token != nil && w.Token.Phase == TokenSubmitted }

// WaitingFor is what ends the waiting of a step.
type WaitingFor uint8

// What a step waits for. The numbers are stored.
const (
	WaitingForCall    WaitingFor = iota // the result of a direct call
	WaitingForInstant                   // the end of a wait
	WaitingForClaim                     // the result of a claimed call
	WaitingForToken                     // the outcome of a token
	WaitingForRetry                     // the next attempt of a task that failed
	WaitingForPoll                      // the next poll of a task that waits for a condition
	WaitingForRoom                      // the next item of the log, because the current one is full
)

// TokenWait is the token that a step waits for.
type TokenWait struct {
	Handle string // the part of the token's text before the dot
	// Beat is the latest known heartbeat, at first the start of the attempt.
	Beat  time.Time
	Phase TokenPhase
}

// TokenPhase says how far the call got that brings the outcome of a token.
type TokenPhase uint8

// The phases of a token. The numbers are stored.
const (
	TokenToSubmit  TokenPhase = iota // the function is still to be told of the token
	TokenToQueue                     // the call is still to be put into the task queue
	TokenQueued                      // the task queue has the call
	TokenSubmitted                   // the function was told of the token
)

// Attempt names one try of one step: the step's index and a number that grows
// with each attempt of the execution, the id of its event TaskScheduled or
// StepStarted. The attempt of a task that waits for a condition makes several
// calls: Poll tells them apart, for it counts the polls of the whole execution.
// Of others it is 0.
type Attempt struct {
	Step, Number, Poll int
}

// Timer is a wake that will arrive no earlier than Due. The zero Timer is none.
type Timer struct {
	Tag string
	Due time.Time
}

// Env is what [Apply] knows besides the state: values only.
type Env struct {
	// Flow is the checked definition that the state's Flow names.
	Flow *fdl.Flow
	// Limits bound the execution.
	Limits Limits
	// Keys sign the tokens.
	Keys token.Keys
	// CallbackBase is where callbacks arrive: "https://host"; empty for nowhere.
	CallbackBase string
	// TimeLimits are the time limits of the functions that the flow calls, by
	// the text of the resource. One that is not here is short.
	TimeLimits map[string]time.Duration
	// Cause is the cause of the wake being applied: [CauseStart], [CauseStop],
	// a timer's tag, a token's handle or its [CauseAnswer].
	Cause string
	// Generation counts the processes that took over a store which has one at a
	// time; 0 where several work together.
	Generation uint64
	// Tag is the tag of a timer that this application starts. It must be fresh.
	Tag string
	// Held are values that the state holds by reference and that [Next.Missing]
	// asked for.
	Held map[value.Ref]value.Value
	// Before are the events of earlier signals that come into the same item of the
	// log.
	Before []Event
}

// New is the state of an execution that was accepted and has not begun, with
// its first history event. The definition is what the flow names, the input an
// object.
func New(flow Flow, definition *fdl.Flow, execution string, input value.Value, at time.Time, limits Limits) (State, []Event) {
	s := State{
		Flow: flow, Execution: execution, Status: StatusStarting,
		Started: at, Expires: at.Add(limits.duration(definition) + limits.retention()), At: at, Events: 1, Input: input, By: CauseStart,
	}
	return s, []Event{{ID: 1, Type: ExecutionStarted, Step: NoStep, At: at, Input: input}}
}

// Causes of wakes that are neither a timer's tag nor a token's handle.
const (
	CauseStart = "start" // a start
	CauseStop  = "stop"  // a request to stop
	CauseLimit = "limit" // the time limit of an execution that no timer watches
)

// CauseAnswer is the cause of the wake that tells of the answer to a submission
// which the task queue made. It is not the handle itself: a wake with that cause
// is sent before the token is closed and must find it closed (rule 11).
func CauseAnswer(handle string) string { return "answer-" + handle }

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

// ID is the id of the execution.
func (s State) ID() ID { return NewID(s.Flow.Name, s.Execution) }
