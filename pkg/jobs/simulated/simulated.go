// Package simulated is the tutorial's job (kind `simulated`): a job that does nothing and succeeds
// when its delay has passed. A job is its job_id, a UUIDv7 with the instant of the start in its
// 48-bit time, so any process can tell the job's status, and nothing is stored.
//
// The package is pure: instants and random bytes come in as values, results and errors go out. The
// Lambda functions and the built-in functions of a local run call the same code. Errors are
// [*jobs.RequestError].
//
// This package is not an API and may change between releases; the JSON of its functions does not.
package simulated

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/value"
)

// Function is a function of this package as a runner calls it, without JSON. Now is the instant of
// the call, and random ten bytes of this call alone.
type Function func(input value.Value, now time.Time, random [10]byte) (value.Value, error)

// functions has the tutorial's names, and SubmitJob and CheckJob, the names of the same two
// functions in the job poller sample of AWS Step Functions.
var functions = map[string]Function{
	"StartJob": startJob, "SubmitJob": startJob, "GetJobStatus": getJobStatus, "CheckJob": getJobStatus, "echo": echo,
}

// startJob is [StartJob].
func startJob(input value.Value, now time.Time, random [10]byte) (value.Value, error) {
	if err := checkObject(input); err != nil {
		return value.Value{}, err
	}
	id, err := newJobID(now, random)
	return value.Object(value.Member{Key: "job_id", Value: value.String(id)}), err
}

// getJobStatus is [GetJobStatus].
func getJobStatus(input value.Value, now time.Time, _ [10]byte) (value.Value, error) {
	if err := checkObject(input); err != nil {
		return value.Value{}, err
	}
	s, err := statusAt(now, func(member string) json.RawMessage {
		if v := input.Get(member); !v.IsMissing() {
			return json.RawMessage(v.JSON())
		}
		return nil
	})
	return value.Object(
		value.Member{Key: "job_id", Value: value.String(s.JobID)},
		value.Member{Key: "job_status", Value: value.String(s.Status)},
		value.Member{Key: "try_count", Value: value.Int(s.TryCount)},
	), err
}

// checkObject returns the error of a call with an input that is not an object. Null counts as {}.
func checkObject(input value.Value) error {
	if kind := input.Kind(); kind == value.KindObject || kind == value.KindNull || kind == value.KindMissing {
		return nil
	}
	_, err := jobs.ObjectMembers("input", []byte(input.JSON()))
	return err
}

// echo is [Echo].
func echo(input value.Value, now time.Time, _ [10]byte) (value.Value, error) {
	switch {
	case input.IsMissing():
		return value.Object(), nil
	case input.Get("since").IsMissing(): // as nearly always
		return input, nil
	}
	_, err := Echo([]byte(input.JSON()), now)
	return input, err
}

// Lookup returns the built-in function with exactly the name.
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
// The input is any JSON object; its members are ignored. An empty input and null count as {}. The
// error is InvalidArgument for any other input, and for an instant outside the range of a UUIDv7.
func StartJob(input []byte, now time.Time, random [10]byte) ([]byte, error) {
	if _, err := jobs.ObjectMembers("input", input); err != nil {
		return nil, err
	}
	output, err := startJob(value.Null(), now, random)
	if err != nil {
		return nil, err
	}
	return []byte(output.JSON()), nil
}

const errorNotReady = "NotReady"

// Echo returns its input, byte for byte and unchecked, in the same memory. For an input of white
// space alone, which is not JSON, it returns {}, as Lambda passes to a function that is invoked
// without a payload.
//
// The input {"since":S,"ready_after":N} simulates something that is not ready at once: the error is
// NotReady until N seconds after the instant S.
func Echo(input []byte, now time.Time) ([]byte, error) {
	if len(bytes.Trim(input, " \t\r\n")) == 0 {
		return []byte("{}"), nil
	}
	var asked struct {
		Since time.Time `json:"since"`
		After float64   `json:"ready_after"`
	}
	asks := json.Unmarshal(input, &asked) == nil && !asked.Since.IsZero()
	if ready := asked.Since.Add(time.Duration(asked.After * float64(time.Second))); asks && now.Before(ready) {
		return nil, &jobs.RequestError{Name: errorNotReady, What: "nothing is ready before " + ready.UTC().Format(time.RFC3339Nano) + ": try again"}
	}
	return input, nil
}

// invalid returns the error for a member of the input with a wrong type or size, or "input" for all
// of it.
func invalid(member, found, allowed string) error {
	return &jobs.RequestError{Name: jobs.ErrorInvalid, What: member + " is " + found + ": want " + allowed}
}

func notFound(found string) error {
	return &jobs.RequestError{Name: jobs.ErrorNotFound, What: "job_id is " + found + ": want the UUIDv7 that StartJob or SubmitJob returned"}
}
