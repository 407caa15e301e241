// Package simulated is the tutorial's job (kind `simulated`): a job that does nothing and succeeds when
// its delay has passed. A job is its job_id, a UUIDv7 with the instant of the start in its 48-bit time,
// so any process can tell the job's status, and nothing is stored.
//
// The package is pure: instants and random bytes come in as values, results and errors go out. The
// Lambda functions and the built-in functions of a local run call the same code. Errors are
// [*jobs.RequestError].
//
// This package may change between releases; the JSON of its functions does not.
package simulated

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
)

// Function is a function of this package as a runner calls it. Input is the JSON of the call, now its
// instant, and random ten bytes of this call alone. The result is JSON.
type Function func(input []byte, now time.Time, random [10]byte) ([]byte, error)

// functions has the tutorial's names, and SubmitJob and CheckJob, the names of the same two functions in
// the job poller sample of AWS Step Functions.
var functions = map[string]Function{
	"StartJob": StartJob, "SubmitJob": StartJob, "GetJobStatus": status, "CheckJob": status, "echo": echo,
}

func status(input []byte, now time.Time, _ [10]byte) ([]byte, error) { return GetJobStatus(input, now) }

func echo(input []byte, now time.Time, _ [10]byte) ([]byte, error) { return Echo(input, now) }

// Lookup returns the built-in function of that exact name.
func Lookup(name string) (Function, bool) {
	f, ok := functions[name]
	return f, ok
}

// Names returns the names that [Lookup] knows, sorted by their bytes.
func Names() []string {
	return slices.Sorted(maps.Keys(functions))
}

// StartJob starts a job at the instant now and returns {"job_id":"<UUIDv7>"}. The id has now in
// milliseconds and, except for its version and variant bits, random.
//
// The input is any JSON object, whose members are ignored; an empty input and null count as {}. The
// error is InvalidArgument for any other input, and for an instant outside the range of a UUIDv7.
func StartJob(input []byte, now time.Time, random [10]byte) ([]byte, error) {
	if _, err := jobs.ObjectMembers("input", input); err != nil {
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

const errorNotReady = "NotReady"

// Echo returns its input, byte for byte and unchecked, in the same memory. For an input of white space
// alone, which is not JSON, it returns {}, as Lambda passes to a function that is invoked without a
// payload.
//
// The input {"since":S,"ready_after":N} simulates something that is not ready at once: the error is
// NotReady until N seconds after the instant S.
func Echo(input []byte, now time.Time) ([]byte, error) {
	if isEmpty(input) {
		return []byte("{}"), nil
	}
	if ready := readyAt(input); now.Before(ready) {
		return nil, &jobs.RequestError{Name: errorNotReady, What: "nothing is ready before " + ready.UTC().Format(time.RFC3339Nano) + ": try again"}
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

// invalid returns the error for a member of the input with a wrong type or size, or "input" for all of it.
func invalid(member, found, allowed string) error {
	return &jobs.RequestError{Name: jobs.ErrorInvalid, What: member + " is " + found + ": want " + allowed}
}

func notFound(found string) error {
	return &jobs.RequestError{Name: jobs.ErrorNotFound, What: "job_id is " + found + ": want the UUIDv7 that StartJob or SubmitJob returned"}
}
