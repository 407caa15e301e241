package machine

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// Signal is an input of the machine: one of [Started], [Returned], [Submitted], [Queued],
// [TokenClosed], [BeatSeen], [LanesJoined], [LaneFailed], [ItemsClaimed], [FailuresReported],
// [TimerDue] and [StopRequested]. Each has its instant.
//
//sumtype:decl
type Signal interface{ instant() time.Time }

type (
	// Started begins an execution that was accepted.
	Started struct{ At time.Time }

	// Returned is the outcome of a call.
	Returned struct {
		At      time.Time
		Attempt Attempt
		Outcome token.Outcome
	}

	// Submitted reports that the function of a task was told of its token, and the function's
	// reply.
	Submitted struct {
		At      time.Time
		Attempt Attempt
		Output  value.Value
	}

	// Queued reports that the task queue has a call.
	Queued struct {
		At      time.Time
		Attempt Attempt
	}

	// TokenClosed is the outcome of an attempt's token.
	TokenClosed struct {
		At      time.Time
		Attempt Attempt
		Outcome token.Outcome
		By      token.Closer
		// Reply is the reply to a submission that the task queue made, nil for none. The state may
		// not have it yet.
		Reply *value.Value
	}

	// BeatSeen reports that a heartbeat kept a token open.
	BeatSeen struct {
		At      time.Time
		Attempt Attempt
		Beat    time.Time
	}

	// LanesJoined reports that all lanes of a fork have ended and joined (rule 18).
	LanesJoined struct {
		At      time.Time
		Attempt Attempt
		// Outputs are the [State.Output] of the lanes in their order, if [NeedsOutputs].
		Outputs []value.Value
		// Ranges are the [Share.Ranges] of the lanes, if they claim their items and [NeedsOutputs].
		Ranges [][]Range
		// Failure is the failure of the lane that failed first, the zero Outcome if none did.
		Failure token.Outcome
		// Step is the [State.FailedStep] of the lane, "" if the attempt was closing.
		Step string
		// Left is how many items no lane claimed, because all lanes retired (rule 28).
		Left int
	}

	// ItemsClaimed is the answer to [ClaimItems].
	ItemsClaimed struct {
		At      time.Time
		Attempt Attempt
		// Range has no items if none was left, or if the lane retires.
		Range Range
		// Retires says that the join record has the retirement of the lane.
		Retires bool
	}

	// FailuresReported is the answer to [ReportFailures].
	FailuresReported struct {
		At      time.Time
		Attempt Attempt
		Failed  int // items of all lanes, as far as they were reported
	}

	// LaneFailed reports that a lane failed before all had joined. The execution is going to fail
	// and stops the other lanes.
	LaneFailed struct {
		At      time.Time
		Attempt Attempt
		Failure token.Outcome
		Step    string // the [State.FailedStep] of the lane
	}

	// StopRequested ends the execution or the lane.
	StopRequested struct {
		At           time.Time
		Error, Cause string
	}

	// TimerDue reports that an instant was reached, and applies the deadlines until then. The
	// engine checks which timer it is.
	TimerDue struct{ At time.Time }
)

func (s Started) instant() time.Time       { return s.At }
func (s Returned) instant() time.Time      { return s.At }
func (s TimerDue) instant() time.Time      { return s.At }
func (s Submitted) instant() time.Time     { return s.At }
func (s Queued) instant() time.Time        { return s.At }
func (s TokenClosed) instant() time.Time   { return s.At }
func (s BeatSeen) instant() time.Time      { return s.At }
func (s LanesJoined) instant() time.Time   { return s.At }
func (s LaneFailed) instant() time.Time    { return s.At }
func (s ItemsClaimed) instant() time.Time  { return s.At }
func (s StopRequested) instant() time.Time { return s.At }

func (s FailuresReported) instant() time.Time { return s.At }

// Command is an instruction to the engine: one of [CallTask], [SubmitTask], [QueueTask],
// [CloseToken], [StartLanes], [StopLanes], [ClaimItems], [ReportFailures] and [WakeChild]. Timers
// are no commands: the engine starts the [State.Timer] of the state that it commits.
//
//sumtype:decl
type Command interface{ command() }

type (
	// CallTask calls a function and awaits its result, which comes back as [Returned].
	CallTask struct {
		Call
		// Claimed says that the waiting state is committed before the call, and that the call is
		// not repeated before the claim's timer.
		Claimed bool
		// Independent says that the call depends neither on the signal nor on earlier signals that
		// are not committed: it belongs to another item of a fork (rule 22).
		Independent bool
	}

	// SubmitTask tells a function of its token after the waiting state was committed. The
	// function's reply comes back as [Submitted], and the token's outcome as [TokenClosed].
	SubmitTask struct {
		Call
		Handle string
		// AtMostOnce says that the call must not be repeated.
		AtMostOnce bool
	}

	// QueueTask puts a long call into the task queue after the waiting state was committed. It
	// comes back as [Queued].
	QueueTask struct {
		Call
		Handle string
		// Await says that the function's result is the outcome. Otherwise the function is told of
		// its token, and its reply comes back as [Submitted].
		Await bool
		// AtMostOnce says that the call must not be repeated.
		AtMostOnce bool
	}

	// CloseToken closes a token if it is open. Its outcome comes back as [TokenClosed], or the
	// heartbeat that kept it open as [BeatSeen].
	CloseToken struct {
		Attempt Attempt
		Handle  string
		Closing token.CloseOp
		// AfterCommit says that the state is committed first.
		AfterCommit bool
	}

	// StartLanes sends the start wakes of a fork's lanes after the waiting state was committed
	// (rule 15).
	StartLanes struct {
		Attempt Attempt
		Count   int
		// Executed says which lanes need a wake: all for [ExecutedNever], all for [ExecutedMaybe]
		// if the last one has no log, and those without a log for [ExecutedQueueLost].
		Executed Executed
	}

	// StopLanes ends the lanes that have not joined, after the ending state was committed (rule
	// 19). They come back as [LanesJoined].
	StopLanes struct {
		Attempt Attempt
		Count   int
	}

	// ClaimItems claims the next items of the fork for a lane. The range comes back as
	// [ItemsClaimed]. It stays with the lane, so its calls may come before a commit. A second
	// claim comes after the commit of the first (rule 27).
	ClaimItems struct {
		Attempt Attempt
		Number  int // of the lane's claims, from 1 on
		Size    int // how many items at most; 0 retires the lane (rule 28)
		// First is the first item that is to be claimed, and Items the number of all items.
		First, Items int
	}

	// ReportFailures reports how many items of a lane failed, after the state was committed (rule
	// 32). The number of all lanes comes back as [FailuresReported].
	ReportFailures struct {
		Attempt Attempt
		Failed  int // items in the committed log
	}

	// WakeChild sends a sub-flow the wake [CauseParent] before the state is committed: its parent
	// no longer waits for it (rule 26).
	WakeChild struct{ Child ExecutionRef }

	// Call is a call of a function, or the start of a sub-flow.
	Call struct {
		Attempt Attempt
		Log     ID // whose state waits for the outcome
		// Place names the attempt or the poll in the items of forks in its log, "" outside of
		// items. Then the numbers of the attempt name it.
		Place     string
		Flow      FlowRef
		Execution string
		Step      string
		// Iteration names the iterations of foreach around the step, as [IterationPath] writes
		// them.
		Iteration string
		Resource  flow.Resource
		Values    flow.Values // the rules for its result
		Input     value.Value
		// StepInput is the step's input, from which Input was made. Parts of it may be references.
		StepInput value.Value
		// Start is set for the start of a sub-flow. Input is then the input of the sub-flow.
		Start *Start
		// Traceparent and Tracestate are headers for the function, empty for none: its spans are
		// inside of the attempt's span.
		Traceparent, Tracestate string
		// Limit is how long the call may take, 0 for no limit but the function's own. For a poll it
		// is the rest of the attempt's time.
		Limit time.Duration
	}
)

func (CallTask) command()   {}
func (SubmitTask) command() {}
func (QueueTask) command()  {}
func (CloseToken) command() {}
func (StartLanes) command() {}
func (StopLanes) command()  {}
func (ClaimItems) command() {}
func (WakeChild) command()  {}

func (ReportFailures) command() {}

// callOf returns the call of an attempt as far as its key depends on it.
func (s *State) callOf(step *flow.Step, attempt Attempt) Call {
	return Call{Attempt: attempt, Log: s.ID(), Place: PlaceIn(s.Series, attempt.Number), Flow: s.Flow, Execution: s.Execution, Step: step.Name}
}

// WaitingKey returns the idempotency key of the call for which a state waits in the step, which it
// must.
func (s State) WaitingKey(step *flow.Step) string {
	call := s.callOf(step, s.Waiting.Attempt)
	call.Place = s.WaitingPlace()
	return call.Key()
}

// Key returns the idempotency key of the call, 32 hexadecimal digits. Repeated calls of an attempt
// or of a poll have the same key.
func (c Call) Key() string {
	number := cmp.Or(c.Place, strconv.Itoa(c.Attempt.Number))
	text := fmt.Appendf(nil, "%s\x00%s\x00%s\x00%s", c.Flow.Name, c.Execution, c.Step, number)
	if c.Attempt.Poll > 0 && c.Place == "" {
		text = fmt.Appendf(text, "\x00%d", c.Attempt.Poll)
	}
	if c.Log != (ID{}) && c.Log != NewID(c.Flow.Name, c.Execution) { // lanes run the same step with the same number
		text = fmt.Appendf(text, "\x00%s", c.Log)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// Next is the result of [Apply].
type Next struct {
	State    State
	Events   []Event
	Commands []Command
	// Changed reports whether the state is to be committed.
	Changed bool
	// Load lists references to values that the state holds and that are needed in full: load them
	// into [Env.Loaded] and call again. The other fields are empty then.
	Load []value.Ref
	// Unmapped lists the mappings without their source, each once. They are for logs: neither the
	// state nor an event has them.
	Unmapped []UnmappedSource
}

// Applied reports whether the signal applied. A signal that does not apply changes nothing.
func (n Next) Applied() bool { return n.Changed || len(n.Commands) > 0 }
