// Package simulated is the tutorial's job (kind `simulated`): a job that does nothing and succeeds when
// its delay has passed. A job is its job_id, a UUIDv7 with the instant of the start in its 48-bit time,
// so any process can tell the job's status, and nothing is stored.
//
// The package is pure: instants and random bytes come in as values, results and errors go out. The
// Lambda functions and the built-in functions of a local run call the same code and show the same error
// names.
//
// This package may change between releases; the JSON of its functions does not.
package simulated

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"time"
)

// Function is a function of this package as a runner calls it. Input is the JSON of the call, now its
// instant, and random ten bytes of this call alone. The result is JSON.
type Function func(input []byte, now time.Time, random [10]byte) ([]byte, error)

// functions has the tutorial's names, and SubmitJob and CheckJob, the names of the same two functions in
// the job poller sample of AWS Step Functions.
var functions = map[string]Function{
	"StartJob":     StartJob,
	"SubmitJob":    StartJob,
	"GetJobStatus": withoutRandom(GetJobStatus),
	"CheckJob":     withoutRandom(GetJobStatus),
	"echo":         withoutRandom(Echo),
}

// Lookup returns the built-in function of that exact name.
func Lookup(name string) (Function, bool) {
	f, ok := functions[name]
	return f, ok
}

// Names returns the names that [Lookup] knows, sorted by their bytes.
func Names() []string {
	return slices.Sorted(maps.Keys(functions))
}

func withoutRandom(f func([]byte, time.Time) ([]byte, error)) Function {
	return func(input []byte, now time.Time, _ [10]byte) ([]byte, error) { return f(input, now) }
}

// StartJob starts a job at the instant now and returns {"job_id":"<UUIDv7>"}. The id has now in
// milliseconds and, except for its version and variant bits, random.
//
// The input is any JSON object, whose members are ignored; an empty input and null count as {}. The
// error is [InvalidArgument] for any other input, and for an instant outside the range of a UUIDv7.
func StartJob(input []byte, now time.Time, random [10]byte) ([]byte, error) {
	if _, err := members(input); err != nil {
		return nil, err
	}
	id, err := newJobID(now, random)
	if err != nil {
		return nil, err
	}
	return json.Marshal(struct {
		JobID string `json:"job_id"`
	}{id})
}

// Echo returns its input, byte for byte and unchecked, in the same memory. For an input of white space
// alone, which is not JSON, it returns {}, as Lambda passes to a function that is invoked without a
// payload.
//
// The input {"since":S,"ready_after":N} simulates something that is not ready at once: the error is
// [NotReady] until N seconds after the instant S.
func Echo(input []byte, now time.Time) ([]byte, error) {
	if isEmpty(input) {
		return []byte("{}"), nil
	}
	if ready := readyAt(input); now.Before(ready) {
		return nil, NotReady{Ready: ready}
	}
	return input, nil
}

// readyAt returns from when on echo works, zero for always.
func readyAt(input []byte) time.Time {
	var asked struct {
		Since time.Time `json:"since"`
		After float64   `json:"ready_after"`
	}
	if json.Unmarshal(input, &asked) != nil || asked.Since.IsZero() {
		return time.Time{}
	}
	return asked.Since.Add(time.Duration(asked.After * float64(time.Second)))
}

// isEmpty reports whether input has nothing but JSON's white space.
func isEmpty(input []byte) bool {
	return len(bytes.Trim(input, " \t\r\n")) == 0
}

// JobNotFound is the error for a job_id of no simulated job. Its type name is its public name, Lambda's
// errorType.
type JobNotFound struct { //nolint:errname // callers see the type name as errorType
	Found string // type and text of job_id, cut to a readable length, or "missing"
}

// Error says what job_id is, and which functions return a valid one.
func (e JobNotFound) Error() string {
	return "job_id is " + e.Found + ": want the UUIDv7 that StartJob or SubmitJob returned"
}

// InvalidArgument is the error for a member of the input with a wrong type or size. Its type name is its
// public name, Lambda's errorType.
type InvalidArgument struct { //nolint:errname // callers see the type name as errorType
	Field   string // the member's name, or "input" for all of it
	Found   string // type and text of the value, cut to a readable length
	Allowed string
}

// Error says what the member is, and what is allowed.
func (e InvalidArgument) Error() string {
	return e.Field + " is " + e.Found + ": want " + e.Allowed
}

// NotReady is the error for a call that comes too early. Its type name is its public name, Lambda's
// errorType.
type NotReady struct { //nolint:errname // callers see the type name as errorType
	Ready time.Time
}

// Error says when to call again.
func (e NotReady) Error() string {
	return "nothing is ready before " + e.Ready.UTC().Format(time.RFC3339Nano) + ": try again"
}

// ErrorName returns the name that Lambda shows as errorType for err, so that a local run shows the same:
// the name of its Go type, or of the type that it points to. Like Lambda it does not unwrap the error.
// It returns "" for nil.
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
