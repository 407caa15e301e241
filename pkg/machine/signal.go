package machine

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// Signal is what the machine is told: one of [Started], [Returned],
// [Submitted], [Queued], [TokenClosed], [BeatSeen], [TimerDue] and [StopRequested]. Each
// carries its instant.
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

	// Submitted says that the function of a task that waits for a callback was
	// called, and what it answered.
	Submitted struct {
		At      time.Time
		Attempt Attempt
		Output  value.Value
	}

	// Queued says that a call was handed to the task queue.
	Queued struct {
		At      time.Time
		Attempt Attempt
	}

	// TokenClosed is the outcome that an attempt's token holds, whoever brought
	// it.
	TokenClosed struct {
		At      time.Time
		Attempt Attempt
		Outcome token.Outcome
		By      token.Closer
		// Answer is what the function answered to a submission that the task queue
		// made, nil for nothing. It may be news.
		Answer *value.Value
	}

	// BeatSeen says that a heartbeat kept a token from being closed.
	BeatSeen struct {
		At      time.Time
		Attempt Attempt
		Beat    time.Time
	}

	// StopRequested asks for the end of the execution.
	StopRequested struct {
		At           time.Time
		Error, Cause string
	}

	// TimerDue says that an instant was reached. It applies whatever is due by
	// then; which timer brought it is for the engine to know.
	TimerDue struct{ At time.Time }
)

func (s Started) instant() time.Time       { return s.At }
func (s Returned) instant() time.Time      { return s.At }
func (s TimerDue) instant() time.Time      { return s.At }
func (s Submitted) instant() time.Time     { return s.At }
func (s Queued) instant() time.Time        { return s.At }
func (s TokenClosed) instant() time.Time   { return s.At }
func (s BeatSeen) instant() time.Time      { return s.At }
func (s StopRequested) instant() time.Time { return s.At }

// Command is what the engine has to do: one of [CallTask], [SubmitTask], [QueueTask] and [CloseToken]. Timers are no commands:
// the engine starts the [State.Timer] of the state that it commits.
//
//sumtype:decl
type Command interface{ command() }

type (
	// CallTask calls a function and awaits its answer, which comes back as
	// [Returned].
	CallTask struct {
		Call
		// Claimed: the state that waits for the call is committed first, and
		// nobody repeats the call before the claim's timer.
		Claimed bool
	}

	// SubmitTask tells a function of a task, after the state that waits for its
	// token was committed. Its answer comes back as [Submitted], the token's
	// outcome as [TokenClosed].
	SubmitTask struct {
		Call
		Handle string
	}

	// QueueTask hands a call over that may take longer than anybody here waits,
	// after the state that waits for its token was committed. What comes back is
	// [Queued].
	QueueTask struct {
		Call
		Handle string
		// Await: the function's answer is the outcome. Otherwise the function only
		// is told of the task, and its answer comes back as [Submitted].
		Await bool
		// AtMostOnce: the call must not be made twice.
		AtMostOnce bool
	}

	// CloseToken closes a token if it is open. What it then holds comes back as
	// [TokenClosed], or the heartbeat that kept it open as [BeatSeen].
	CloseToken struct {
		Attempt Attempt
		Handle  string
		Closing token.CloseOp
		// AfterCommit: the state that decided it is committed first.
		AfterCommit bool
	}

	// Call is a call of a function.
	Call struct {
		Attempt   Attempt
		Flow      Flow
		Execution string
		Step      string
		Resource  fdl.Resource
		Input     value.Value
		// StepInput is the step's input, of which Input is made. Parts of it may
		// be held elsewhere.
		StepInput value.Value
		// Limit is how long the flow lets the call take, 0 for as long as the
		// function may; of a poll, what is left of the attempt's time.
		Limit time.Duration
	}
)

func (CallTask) command()   {}
func (SubmitTask) command() {}
func (QueueTask) command()  {}
func (CloseToken) command() {}

// Key is the same for every call of one attempt and differs between attempts and
// between polls, so that a function can tell a repeated call from a new one: 32
// hexadecimal digits.
func (c Call) Key() string {
	text := fmt.Appendf(nil, "%s\x00%s\x00%s\x00%d", c.Flow.Name, c.Execution, c.Step, c.Attempt.Number)
	if c.Attempt.Poll > 0 {
		text = fmt.Appendf(text, "\x00%d", c.Attempt.Poll)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// Next is what [Apply] answers.
type Next struct {
	State    State
	Events   []Event
	Commands []Command
	// Changed: the state is another one and is to be committed.
	Changed bool
	// Load are references to values that the state holds and whose content is needed: load them into [Env.Held] and call
	// again. The other fields are empty then.
	Load []value.Ref
	// Unmapped are the mappings whose source was missing, each once. They are for logs: neither the state nor an event has
	// them.
	Unmapped []UnmappedSource
}

// Applied reports whether the signal meant anything to the state. One that did
// not changes nothing, and nothing is to be written.
func (n Next) Applied() bool { return n.Changed || len(n.Commands) > 0 }
