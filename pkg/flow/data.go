package flow

import (
	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// Data says how values go into a step, or a flow, and out of it. Each language has its own. The
// methods depend on the frame alone, so a repeated attempt computes the same values.
type Data interface {
	// Enter begins the step. The frame has the values of the series around the step, or the input
	// of the execution.
	Enter(f *Frame) Entry
	// Leave ends the step. The frame has the value that the step worked on as its input, and the
	// result of the step as its local value.
	Leave(f *Frame) Exit
	// Caught ends a step if that entry of its catch handles its failure.
	Caught(f *Frame, entry int, failure token.Outcome) Exit
	// ReadsResult reports whether Leave reads the local value. The lanes of a fork keep their
	// outputs only then.
	ReadsResult() bool
	// ReadsAttempt reports whether Enter reads the context, which each attempt of a task has anew.
	ReadsAttempt() bool
}

// Entry is the beginning of a step.
type Entry struct {
	// Input is the input in the history.
	Input value.Value
	// Work is the value that the step works on: the input of a function, the values that the items
	// of a fork share, the end of a wait. It is missing if that is the Input.
	Work value.Value
	// Failure is the failure of the step if its data cannot be computed, the zero Outcome
	// otherwise.
	Failure token.Outcome
}

// Value returns the value that the step works on.
func (e Entry) Value() value.Value {
	if e.Work.IsMissing() {
		return e.Input
	}
	return e.Work
}

// Exit is the end of a step.
type Exit struct {
	Output value.Value
	// Local is the value that the history shows as local, and [Flow.Join] gets.
	Local value.Value
	// Failure is the failure of the step if its data cannot be computed, the zero Outcome
	// otherwise.
	Failure token.Outcome
}

// Frame has everything that a [Data] may read.
type Frame struct {
	Input, Local value.Value
	// Outer has the values of the series around the step. They are missing for the flow itself.
	Outer Outer
	// Lookup loads the values that are held by reference.
	Lookup *value.Lookup
	Surroundings
}

// Outer has the input and the local value of a series of steps.
type Outer struct{ Input, Local value.Value }

// Surroundings are the parts of a [Frame] beside its values.
type Surroundings interface {
	// Context returns the context. It makes a token for the attempt, so it is only called if the
	// context is read.
	Context() Context
	// Missing reports a source without a value; its target is left out. Field is the field of the
	// definition that has the source.
	Missing(field, target, source string)
}

// Context has the names and instants that a [Data] may read beside values.
type Context struct {
	Flow, Hash, Execution string
	Started               string      // in the form of the API
	Input                 value.Value // of the execution
	// Redriven counts the redrives that led to the execution.
	Redriven int
	// Step has no name for the flow itself.
	Step StepContext
}

// StepContext is the part of a [Context] about a step.
type StepContext struct {
	Name  string
	Event int // enters or leaves the step
	// Seed names the entry of the step or the attempt, for values that look random. It never
	// repeats.
	Seed string
	// Since is when the step was entered, or the attempt of a task began, in the form of the API.
	Since string
	// Retried is the number of retries before the attempt.
	Retried int
	// Items has the index of each item of a fork around the step, the outermost first.
	Items []int
	// Key is the idempotency key of a task's attempt, "" for other steps.
	Key string
	// Token and CallbackURL are missing unless the task waits for a callback, and there is an
	// address for callbacks.
	Token, CallbackURL value.Value
}

// Condition is a condition on the input of a choice, or on the result of a poll, as Self of the
// scope.
type Condition interface {
	Holds(scope *expr.Scope) bool
}
