// Package simulated is the tutorial's job (kind `simulated`): a job that does nothing and succeeds when its
// delay has passed. It may change from release to release; the JSON that its functions speak does not.
//
// A job is its job_id. The id is a UUIDv7, whose 48-bit time is the instant of the start, so that any process
// can tell the job's status and nothing is stored.
//
// The package is pure: instants and random bytes come in as values, answers and errors go out. The Lambda
// functions and the built-in functions of a local run call the same code and show the same error names.
package simulated

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// Function is one function of this package as a runner calls it: input is the JSON of the call, now its instant,
// random ten bytes that no other call gets. The answer is JSON. A Function ignores what it does not need.
type Function func(input []byte, now time.Time, random [10]byte) ([]byte, error)

// functions holds the tutorial's names, and SubmitJob and CheckJob, which the job poller sample of AWS
// Step Functions gives to the same two functions.
var functions = map[string]Function{
	"StartJob":     StartJob,
	"SubmitJob":    StartJob,
	"GetJobStatus": withoutRandom(GetJobStatus),
	"CheckJob":     withoutRandom(GetJobStatus),
	"echo":         withoutRandom(Echo),
}

// Lookup answers the built-in function of that exact name, and false if there is none.
func Lookup(name string) (Function, bool) {
	f, ok := functions[name]
	return f, ok
}

// Names answers the names that [Lookup] knows, sorted by their bytes.
func Names() []string {
	return slices.Sorted(maps.Keys(functions))
}

func withoutRandom(f func([]byte, time.Time) ([]byte, error)) Function {
	return func(input []byte, now time.Time, _ [10]byte) ([]byte, error) { return f(input, now) }
}

// StartJob starts a job at the instant now and answers {"job_id":"<UUIDv7>"}. The id holds now in milliseconds
// and, but for its version and variant bits, random.
//
// Any JSON object is accepted as input and its members are ignored; an empty input and null count as {}.
// Anything else, and an instant that no UUIDv7 can hold, is an [InvalidArgument].
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

// Echo answers its input, byte for byte and unchecked: the answer is the same memory. An input that is empty or
// white space alone is no JSON, which no caller could read back; it is answered with {}, which is also what
// Lambda hands to a function that is invoked without a payload.
//
// For {"since":S,"ready_after":N}, S being an instant, it is something that takes a while until it works: less than
// N seconds after S the answer is the error [NotReady].
func Echo(input []byte, now time.Time) ([]byte, error) {
	if isEmpty(input) {
		return []byte("{}"), nil
	}
	if ready := readyAt(input); now.Before(ready) {
		return nil, NotReady{Ready: ready}
	}
	return input, nil
}

// readyAt is from when on echo works, zero for always.
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
