package engine

import (
	"errors"
	"fmt"
	"strings"

	"github.com/waitless/waitless/pkg/token"
)

// Code tells callers what kind of error it is.
type Code string

// The codes.
const (
	CodeNotFound Code = "NotFound" // there is no such execution, item or flow
	CodeConflict Code = "Conflict" // another caller was first
	CodeInvalid  Code = "Invalid"  // the request has no meaning; trying again is of no use
	CodeTooNew   Code = "TooNew"   // the data was written by a newer release
	CodePaused   Code = "Paused"   // the flow is paused
	// CodeDefect: the stored data or its definition cannot be processed, and a retry gives the same
	// error.
	CodeDefect   Code = "Defect"
	CodeInternal Code = "Internal" // a component that failed, or a bug
)

// Error is an error with a code.
type Error struct {
	Code Code
	Op   string // what was being done, for instance "start polling/run-1"; empty if Err says enough
	Err  error
}

func (e *Error) Error() string {
	switch {
	case e.Op == "" && e.Err == nil:
		return string(e.Code)
	case e.Op == "":
		return e.Err.Error()
	case e.Err == nil:
		return fmt.Sprintf("%s: %s", e.Op, e.Code)
	}
	return fmt.Sprintf("%s: %s", e.Op, e.Err)
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is matches any error with the same code, when target names no operation: it
// is how the sentinels compare.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && t.Op == ""
}

// Sentinels to compare with by errors.Is.
var (
	ErrNotFound = &Error{Code: CodeNotFound}
	ErrConflict = &Error{Code: CodeConflict}
)

// CodeOf is the code of err: CodeInternal for an error without one, empty for
// nil.
func CodeOf(err error) Code {
	var coded *Error
	var conflict *ConflictError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &coded):
		return coded.Code
	case errors.As(err, &conflict):
		return CodeConflict
	case errors.Is(err, token.ErrNewer):
		return CodeTooNew
	case errors.Is(err, token.ErrDamaged):
		return CodeDefect
	}
	return CodeInternal
}

// ConflictError says that an item with that Seq is there already.
type ConflictError struct {
	Nonce string // of the item that is there
}

func (e *ConflictError) Error() string { return "the log has an item with this number already" }

// Is makes a ConflictError match [ErrConflict].
func (e *ConflictError) Is(target error) bool { return target == error(ErrConflict) }

// wrap returns err with the operation that failed and the code of err, nil for nil.
func wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Code: CodeOf(err), Op: op, Err: err}
}

// wrapOnce is wrap for an operation on an object, which err may already name.
func wrapOnce(op, object string, err error) error {
	if err != nil && !strings.Contains(err.Error(), object) {
		op += " " + object
	}
	return wrap(op, err)
}
