package flow

import (
	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// Data says how values go into a step, or a flow, and out of it. Each language has its own. The
// methods depend on the frame alone, so a repeated attempt computes the same values.
type Data interface {
	// Enter returns the input. The frame has the values of the series around the step, or the input
	// of the execution.
	Enter(f *Frame) value.Value
	// Leave returns the output. The frame has the input, and the result of the step as its local
	// value.
	Leave(f *Frame) value.Value
	// Caught returns the output of a step if a catch handles its failure.
	Caught(f *Frame, failure token.Outcome) value.Value
	// ReadsResult reports whether Leave reads the local value. The lanes of a fork keep their
	// outputs only then.
	ReadsResult() bool
	// ReadsAttempt reports whether Enter reads the context, which each attempt of a task has anew.
	ReadsAttempt() bool
}

// Frame has everything that a [Data] may read.
type Frame struct {
	Input, Local value.Value
	// Lookup loads the values that are held by reference.
	Lookup *value.Lookup
	Surroundings
}

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
	// Step has no name for the flow itself.
	Step StepContext
}

// StepContext is the part of a [Context] about a step.
type StepContext struct {
	Name  string
	Event int // enters or leaves the step
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
