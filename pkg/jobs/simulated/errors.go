package simulated

import (
	"reflect"
	"time"
)

// JobNotFound says that a job_id names no simulated job. Its type name is its public name: Lambda's errorType.
type JobNotFound struct { //nolint:errname // callers see the type name as errorType
	Found string // what stood in job_id, cut to a readable length, or "missing"
}

// Error says what was found, and where to get a job_id that exists.
func (e JobNotFound) Error() string {
	return "job_id is " + e.Found + ": want the UUIDv7 that StartJob or SubmitJob returned"
}

// InvalidArgument says that a part of the input has the wrong type or size. Its type name is its public name:
// Lambda's errorType.
type InvalidArgument struct { //nolint:errname // callers see the type name as errorType
	Field   string // the member's name, or "input" for all of it
	Found   string // type and text of the value, cut to a readable length
	Allowed string // what may stand there
}

// Error names the field, what was found and what is allowed.
func (e InvalidArgument) Error() string {
	return e.Field + " is " + e.Found + ": want " + e.Allowed
}

// NotReady says that something was asked too early. Its type name is its public name: Lambda's errorType.
type NotReady struct { //nolint:errname // callers see the type name as errorType
	Ready time.Time // from when on it answers
}

// Error says when to ask again.
func (e NotReady) Error() string {
	return "nothing is ready before " + e.Ready.UTC().Format(time.RFC3339Nano) + ": try again"
}

// ErrorName answers the name under which Lambda shows err as errorType, so that a local run shows the same one:
// the bare name of its Go type, or of what that points to. Like Lambda it does not look into a wrapped error.
// It is "" for nil.
func ErrorName(err error) string {
	t := reflect.TypeOf(err)
	if t == nil {
		return ""
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}
