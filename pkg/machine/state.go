package machine

import (
	"cmp"
	"time"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/fdl"
)

// Status is the status of an execution as the 2019-03-15 API names it.
type Status string

// The statuses. The last two are final.
const (
	StatusStarting  Status = "Starting"
	StatusRunning   Status = "Running"
	StatusSucceeded Status = "Succeeded"
	StatusFailed    Status = "Failed"
)

// Final reports whether nothing follows the status.
func (s Status) Final() bool { return s == StatusSucceeded || s == StatusFailed }

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
	// At is the instant of the last signal; no signal is earlier.
	At     time.Time
	Events int        // history events so far, which is also the id of the last one
	Input  expr.Value // as the execution was started with
	// Scopes are the series being run, the flow's own first; empty before the
	// first step and after the last.
	Scopes []Scope
	// Waiting is what the innermost series waits for, nil when nothing.
	Waiting *Waiting
	// Timer is the live timer, the only one whose arrival counts.
	Timer Timer
	// Output is the result of a succeeded execution.
	Output expr.Value
	// Error and Cause say why an execution failed.
	Error, Cause string
	// By is the cause of the wake that started or ended the execution.
	By string
}

// Scope is a series being run: the steps of the flow or of a choice's branch.
type Scope struct {
	// Choice is the choice step that the series belongs to, and Branch its
	// branch; NoStep for the flow's own series.
	Choice, Branch int
	Input          expr.Value // $input of the steps' input mappings
	Local          expr.Value // $local of the steps' input mappings: what the steps put out so far
}

// NoStep stands for the flow where a step's index is expected.
const NoStep = -1

// defaultBranch is the Branch of a choice's default.
const defaultBranch = -1

// Waiting is a step that cannot go on by itself.
type Waiting struct {
	Attempt Attempt
	For     WaitingFor
	Input   expr.Value // the step's input
	Due     time.Time  // WaitingForInstant: when the wait ends
	// By is the cause of the wake that entered the attempt, Since the instant.
	By    string
	Since time.Time
}

// WaitingFor says what ends the waiting of a step.
type WaitingFor uint8

// What a step waits for.
const (
	WaitingForCall WaitingFor = iota
	WaitingForInstant
)

// Attempt names one try of one step: the step's index and a number that grows
// with each attempt of the execution, the id of its event TaskScheduled or
// StepStarted.
type Attempt struct {
	Step, Number int
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
	// Cause is the cause of the wake being applied: "start" or a timer's tag.
	Cause string
	// Tag is the tag of a timer that this application starts. It must be fresh.
	Tag string
}

// Limits bound an execution. Zero values mean the defaults.
type Limits struct {
	Events int // history events an execution; default [DefaultEvents]
	Data   int // bytes of a step's input, local and output together; default [DefaultData]
}

// The vendor's limits.
const (
	DefaultEvents = 5000
	DefaultData   = 32 << 10
)

func (l Limits) events() int { return cmp.Or(l.Events, DefaultEvents) }

func (l Limits) data() int { return cmp.Or(l.Data, DefaultData) }

// New is the state of an execution that was accepted and has not begun, with
// its first history event. The input is an object.
func New(flow Flow, execution string, input expr.Value, at time.Time) (State, []Event) {
	s := State{
		Flow: flow, Execution: execution, Status: StatusStarting,
		Started: at, At: at, Events: 1, Input: input, By: CauseStart,
	}
	return s, []Event{{ID: 1, Type: ExecutionStarted, Step: NoStep, At: at, Input: input}}
}

// CauseStart is the cause of the wake that a start sends.
const CauseStart = "start"
