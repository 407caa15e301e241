package fdl

import (
	"time"

	"github.com/waitless/waitless/pkg/expr"
)

// Flow is a checked definition. Nothing in it changes after [Parse], so it may
// be shared.
type Flow struct {
	Version string // as written: "v1" or "v1beta1", which mean the same
	Name    string // empty when the definition gives none
	Input   expr.Mappings
	Output  expr.Mappings
	// Timeout is how long an execution may take, 0 when the flow sets no limit.
	Timeout time.Duration
	// Steps are the steps of the top level in their order.
	Steps []*Step
	// All holds the steps of every depth in the order of the text; a step's
	// Index is its place here.
	All []*Step
	// Extensions are the places where the flow uses what FDL does not have, or
	// maps what is surely missing: of [SeverityStrict], for whoever asks.
	Extensions Problems
}

// Step is one step of a flow.
type Step struct {
	Position Position
	Index    int    // place in [Flow.All]
	Name     string // unique in the flow
	End      bool   // the series ends with this step
	Input    expr.Mappings
	Output   expr.Mappings
	Next     *Step // the step after this one in the same series, nil at its end
	Kind     Kind
}

// Kind is what a step does: one of [*Task], [*Pass], [*Wait], [*Choice],
// [*Succeed] and [*Fail].
//
//sumtype:decl
type Kind interface {
	// Type is the word in the step's type field.
	Type() string
	isKind()
}

type (
	// Task calls a function or starts a job, and takes the answer or what it
	// waits for as the step's local value.
	Task struct {
		Resource Resource
		// Params are those that a job is started with, evaluated on the step's
		// input.
		Params  expr.Template
		Pattern Pattern
		// Timeout is how long an attempt may take, 0 when the flow sets no limit.
		Timeout time.Duration
		// Heartbeat is how long an attempt that waits for a callback may go
		// without a heartbeat, 0 when it needs none.
		Heartbeat time.Duration
		// AtMostOnce: an attempt whose outcome is unknown fails instead of being
		// called again.
		AtMostOnce bool
		// Signed: who calls back signs the body.
		Signed bool
		// Sender is the name of the sender who must sign; "" means that the task
		// names none.
		Sender string
		// CallbackURL: a mapping reads $context.task.callbackUrl.
		CallbackURL bool
		// Poll is how often the function is called, and until when, of a task that
		// waits for a condition; nil of others.
		Poll *Poll
		// Retry are the policies for attempts that fail, in the order in which they
		// are looked at.
		Retry []Retry
		// Catch says where the flow goes on after an attempt that failed and is not
		// retried, in the order in which the entries are looked at.
		Catch []Catch
		// ErrorMappings is what a caught error adds to the series: they read
		// $local.error and $local.cause.
		ErrorMappings expr.Mappings
	}

	// Poll calls a function again until its answer meets a condition.
	Poll struct {
		// Condition is evaluated on the function's answer.
		Condition expr.Condition
		// Interval is from the answer of one poll to the next poll, and Backoff
		// multiplies it from one poll to the next; see [Poll.After].
		Interval time.Duration
		Backoff  float64
		// MaxAttempts is how many polls there may be, 0 for any number.
		MaxAttempts int
	}

	// Retry is one policy. Each has a counter of its own.
	Retry struct {
		Errors []string
		// Interval is the pause before the first retry, and Multiplier makes each
		// longer than the one before, up to MaxInterval; see [Retry.After].
		Interval, MaxInterval time.Duration
		Multiplier            float64
		// MaxAttempts is how many retries there may be, not counting the first
		// attempt.
		MaxAttempts int
	}

	// Catch is where the flow goes on after an error: its steps run first, then
	// its goto is followed.
	Catch struct {
		Errors []string
		Steps  []*Step
		Goto   *Step // a sibling of the task, nil to go on after the task
	}

	// Pass computes its output from its input and nothing else.
	Pass struct{}

	// Wait pauses for a duration or until an instant.
	Wait struct {
		// Mode says which of the fields below holds.
		Mode WaitMode
		// Duration is from 0 to [MaxWait].
		Duration time.Duration
		// Timestamp may lie in the past; the wait then ends at once.
		Timestamp time.Time
		// Path selects the seconds or the RFC 3339 instant from the step's input.
		Path expr.Path
	}

	// Choice runs the first branch whose condition holds.
	Choice struct {
		Branches []Branch
		Default  *Branch // nil when the choice has none; its condition is unset
	}

	// Succeed ends its series.
	Succeed struct{}

	// Fail fails its parent, and so the flow.
	Fail struct {
		Error string // may be empty
		Cause string // may be empty
	}
)

// Branch is one alternative of a choice: its steps run first, then its goto
// is followed.
type Branch struct {
	Condition expr.Condition
	Steps     []*Step
	Goto      *Step // a sibling of the choice, nil to go on after the choice
}

// Pattern says what ends a task.
type Pattern uint8

// The patterns of a task.
const (
	PatternRequestResponse  Pattern = iota // the function's answer
	PatternWaitForCallback                 // whoever has the token
	PatternSync                            // the end of the job that it started
	PatternWaitForCondition                // an answer that meets the condition
)

// WaitMode says what a wait step is given.
type WaitMode uint8

// The modes of a wait: seconds or an instant, in the definition or in the
// step's input.
const (
	WaitDuration WaitMode = iota
	WaitDurationPath
	WaitTimestamp
	WaitTimestampPath
)

// MaxWait is the longest time that a wait step may take, as the vendor
// documents it.
const MaxWait = 48 * time.Hour

// Type implements [Kind].
func (*Task) Type() string { return "task" }

// Type implements [Kind].
func (*Pass) Type() string { return "pass" }

// Type implements [Kind].
func (*Wait) Type() string { return "wait" }

// Type implements [Kind].
func (*Choice) Type() string { return "choice" }

// Type implements [Kind].
func (*Succeed) Type() string { return "succeed" }

// Type implements [Kind].
func (*Fail) Type() string { return "fail" }

func (*Task) isKind()    {}
func (*Pass) isKind()    {}
func (*Wait) isKind()    {}
func (*Choice) isKind()  {}
func (*Succeed) isKind() {}
func (*Fail) isKind()    {}
