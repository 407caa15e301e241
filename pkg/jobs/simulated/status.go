package simulated

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
)

const (
	defaultDelay = 60 // seconds, the tutorial's

	// maxCount is the largest integer that is exact in every reader of JSON, including JavaScript.
	maxCount = 1<<53 - 1
)

// GetJobStatus returns {"job_id":J,"job_status":"success"|"running","try_count":N+1} for the input
// {"job_id":J,"delay":D,"try_count":N}. Other members are ignored. D is in seconds, any JSON
// number, 60 by default; N is an integer, 0 by default.
//
//   - The status is success if floor(now) - floor(start) >= D in whole seconds of Unix time. Start
//     is the time in J. A start later than now (the clock of another machine) counts as now, so a
//     job with D <= 0 succeeds at once.
//   - The error is JobNotFound if J is missing, not a string, or not a UUIDv7.
//   - The error is InvalidArgument if the input is not an object, if D or N has another type, or if
//     N+1 is not exact in every reader of JSON.
func GetJobStatus(input []byte, now time.Time) ([]byte, error) {
	m, err := jobs.ObjectMembers("input", input)
	if err != nil {
		return nil, err
	}
	s, err := statusAt(now, func(member string) json.RawMessage { return m[member] })
	if err != nil {
		return nil, err
	}
	return json.Marshal(s)
}

// status is the result of [GetJobStatus].
type status struct {
	JobID    string `json:"job_id"`
	Status   string `json:"job_status"`
	TryCount int64  `json:"try_count"`
}

// members returns the JSON of a member of the input, nil if there is none.
type members func(name string) json.RawMessage

func statusAt(now time.Time, m members) (status, error) {
	id, start, err := jobOf(m("job_id"))
	if err != nil {
		return status{}, err
	}
	delay, err := delayOf(m("delay"))
	if err != nil {
		return status{}, err
	}
	count, err := tryCountOf(m("try_count"))
	if err != nil {
		return status{}, err
	}
	s := status{id, "running", count + 1}
	// This is exact: the seconds are far below 2^53, and a delay above the range of float64 is
	// infinite.
	if float64(max(0, now.Unix()-start.Unix())) >= delay {
		s.Status = "success"
	}
	return s, nil
}

func jobOf(raw json.RawMessage) (string, time.Time, error) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", time.Time{}, notFound(jobs.Found(raw))
	}
	id := string(raw[1 : len(raw)-1])
	if strings.Contains(id, `\`) && json.Unmarshal(raw, &id) != nil {
		return "", time.Time{}, notFound(jobs.Found(raw))
	}
	start, ok := startOf(id)
	if !ok {
		return "", time.Time{}, notFound(jobs.Found(raw))
	}
	return id, start, nil
}

func delayOf(raw json.RawMessage) (float64, error) {
	if len(raw) == 0 {
		return defaultDelay, nil
	}
	delay, ok := number(raw)
	if !ok {
		allowed := fmt.Sprintf("a number of seconds such as 20 or 20.5 (leave it out for %d)", defaultDelay)
		return 0, invalid("delay", jobs.Found(raw), allowed)
	}
	return delay, nil
}

func tryCountOf(raw json.RawMessage) (int64, error) {
	if len(raw) == 0 {
		return 0, nil
	}
	count, ok := number(raw)
	if !ok || count != math.Trunc(count) || count < -maxCount || count > maxCount-1 {
		allowed := fmt.Sprintf("an integer from %d to %d (leave it out for 0)", -maxCount, maxCount-1)
		return 0, invalid("try_count", jobs.Found(raw), allowed)
	}
	return int64(count), nil
}

// number reads a JSON number. It returns false for any other JSON value. A number that is too large
// is infinite.
func number(raw json.RawMessage) (float64, bool) {
	if raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return 0, false
	}
	f, _ := strconv.ParseFloat(string(raw), 64) // the grammar has been checked: only ErrRange is left, with ±Inf
	return f, true
}
