package token

import (
	"strings"

	"github.com/waitless/waitless/pkg/expr"
)

// Outcome is how an attempt ended: a success with an output, or a failure
// with an error and a cause.
type Outcome struct {
	// Output is what a success brings; its value is meaningless in a failure.
	Output expr.Value
	// Error is the name that a flow can tell failures apart by, for instance
	// "FC.FunctionError". It is empty exactly in a success.
	Error string
	// Cause explains a failure to a person.
	Cause string
}

// ErrorRevoked is the error of a token that its owner revoked, because it came
// into the wrong hands.
const ErrorRevoked = "Token.Revoked"

// Success is the outcome of an attempt that brought output.
func Success(output expr.Value) Outcome { return Outcome{Output: output} }

// Failure is the outcome of an attempt that failed, as much of it as is kept.
// An empty name would make it a success, so it becomes "FnF.Failed".
func Failure(name, cause string) Outcome {
	if name == "" {
		name = "FnF.Failed"
	}
	return Outcome{Error: name, Cause: cause}.Cut()
}

// The lengths of an error and a cause that are kept, in bytes: the vendor's
// limits of what callers may report. Not every store takes more.
const (
	maxError = 128
	maxCause = 4096
)

// Cut is the outcome with as much of the error and the cause as is kept.
func (o Outcome) Cut() Outcome {
	o.Error, o.Cause = cut(o.Error, maxError), cut(o.Cause, maxCause)
	return o
}

func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

// Failed reports whether o is a failure.
func (o Outcome) Failed() bool { return o.Error != "" }
