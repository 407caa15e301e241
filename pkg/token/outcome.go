package token

import (
	"fmt"
	"slices"
	"strings"

	"github.com/waitless/waitless/pkg/value"
)

// Outcome is how an attempt ended: a success with an output, or a failure
// with an error and a cause.
type Outcome struct {
	// Output is the result of a success.
	Output value.Value
	// Error is the name of a failure, for instance "FC.Unknown". It is empty in a success.
	Error string
	// Cause explains a failure to a person.
	Cause string
	// Thrown reports whether Error is the type of an exception that a function
	// ended with. [Outcome.Matches] knows such an error by more than one name.
	Thrown bool
	// Missed reports whether the failure of an attempt is a missed heartbeat. It is not stored.
	Missed bool
	// Choice is the label of the choice that has this output, empty if nothing was chosen.
	Choice string
}

// ErrorRevoked is the error of a token that its owner revoked.
const ErrorRevoked = "Token.Revoked"

// The errors of a call. The names are the vendor's or, where those are unknown, ours.
const (
	// ErrorFunction is the error of a function that was called and failed without a
	// type of its own. In `retry` and `catch` it matches every exception, too.
	ErrorFunction = "FC.FunctionError"
	// ErrorFunctionNotFound: there is no such function.
	ErrorFunctionNotFound = "FC.FunctionNotFound"
	// ErrorAccessDenied: the caller may not call it.
	ErrorAccessDenied = "FC.AccessDenied"
	// ErrorInvalidArgument: the function's service rejected the input.
	ErrorInvalidArgument = "FC.InvalidArgument"
	// ErrorExhausted: there was no capacity for the call, which was not made.
	ErrorExhausted = "FC.ResourceExhausted"
	// ErrorThrottled: the function's service throttled the call.
	ErrorThrottled = "FC.ResourceThrottled"
	// ErrorServer: the function's service failed.
	ErrorServer = "FC.InternalServerError"
	// ErrorUnreachable: no connection came about, so the call was not made.
	ErrorUnreachable = "FC.Unreachable"
	// ErrorUnknown: the result of the call is unknown, because the connection broke.
	ErrorUnknown = "FC.Unknown"
)

// callErrors describe the result of a call. A function cannot claim one of them.
var callErrors = []string{
	ErrorFunctionNotFound, ErrorAccessDenied, ErrorInvalidArgument, ErrorExhausted, ErrorThrottled, ErrorServer, ErrorUnreachable, ErrorUnknown,
}

// Success returns the outcome of an attempt that succeeded with output.
func Success(output value.Value) Outcome { return Outcome{Output: output} }

// Failure returns the outcome of an attempt that failed, cut by [Outcome.Cut]. An empty
// name becomes "FnF.Failed".
func Failure(name, cause string) Outcome {
	if name == "" {
		name = "FnF.Failed"
	}
	return Outcome{Error: name, Cause: cause}.Cut()
}

// functionPrefix begins the errors of a call, and optionally the type of an exception in `retry`
// and `catch`.
const functionPrefix = "FC."

// Thrown returns the outcome of a function that ended with an exception: the error is its type.
// Without a type, the error is [ErrorFunction]. It is also [ErrorFunction], with the type in the
// cause, for a type that looks like an error of the engine ("FnF.", "Token.") or of a call ("FC.").
func Thrown(exception, message string) Outcome {
	switch {
	case exception == "":
		return Failure(ErrorFunction, message)
	case isReserved(exception):
		return Failure(ErrorFunction, exception+": "+message)
	}
	o := Failure(exception, message)
	o.Thrown = true
	return o
}

func isReserved(exception string) bool {
	return slices.ContainsFunc([]string{"FnF.", "Token.", functionPrefix}, func(prefix string) bool {
		return strings.HasPrefix(exception, prefix)
	})
}

// Matches reports whether name, as `retry` and `catch` write it, names the failure. An exception of
// type T is T and FC.T, and FC.FunctionError like every exception. It is not FC.T where that is an
// error of a call.
func (o Outcome) Matches(name string) bool {
	switch {
	case !o.Failed():
		return false
	case name == o.Error, o.Thrown && name == ErrorFunction:
		return true
	}
	return o.Thrown && name == functionPrefix+o.Error && !slices.Contains(callErrors, name)
}

// MaxError is the limit of an error's length in bytes, as in reports to Step Functions. A longer
// error of a call is cut.
const MaxError = 256

// maxCause is how many bytes of a cause are kept.
const maxCause = 4096

// Cut returns the outcome with the error and the cause cut to the lengths that are kept.
func (o Outcome) Cut() Outcome {
	o.Error = cut(o.Error, MaxError)
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
