package token

import (
	"fmt"
	"regexp"
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

// ErrorFunction is the error of a function that was called and ended without an
// answer.
const ErrorFunction = "FC.FunctionError"

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

// Thrown is the outcome of a function that ended with an exception of its own;
// the type may be empty. [Outcome.Type] gives it back.
func Thrown(exception, message string) Outcome {
	if exception != "" {
		message = exception + ": " + message
	}
	return Failure(ErrorFunction, message)
}

// exceptionType begins the cause of a failure that [Thrown] made.
var exceptionType = regexp.MustCompile(`^[\pL_$][\pL\pN_$]*(?:(?:\.|::)[\pL_$][\pL\pN_$]*)*(?:<[^\s<>]+>)?: `)

// Type is the type of the exception that a function ended with, empty when o is
// something else or nobody knows the type.
func (o Outcome) Type() string {
	if o.Error != ErrorFunction {
		return ""
	}
	return strings.TrimSuffix(exceptionType.FindString(o.Cause), ": ")
}

// The lengths of an error and a cause that are kept, in bytes: the vendor's
// limits of what callers may report. Not every store takes more.
const (
	maxError = 128
	maxCause = 4096
)

// Cut is the outcome with as much of the error and the cause as is kept.
func (o Outcome) Cut() Outcome {
	o.Error = cut(o.Error, maxError)
	if size := len(o.Cause); size > maxCause {
		note := fmt.Sprintf("... (cut: it had %d bytes and the limit is %d)", size, maxCause)
		o.Cause = cut(o.Cause, maxCause-len(note)) + note
	}
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
