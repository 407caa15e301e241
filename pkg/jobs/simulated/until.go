package simulated

import (
	"fmt"
	"math"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
)

// maxDelay is the longest delay of a job that somebody waits for, in seconds: 366 days.
const maxDelay = 366 * 24 * 60 * 60

// StartUntil starts a job that somebody waits for, after the delay of {"delay":D}, and answers its id. The id
// says when the job ends, so that nobody has to keep the delay: to [GetJobStatus], asked without one, it is a job
// that was started so much earlier or later.
func StartUntil(params []byte, now time.Time, random [10]byte) (string, error) {
	m, err := members(params)
	if err != nil {
		return "", err
	}
	delay, err := delayOf(m)
	if err != nil {
		return "", err
	}
	if delay > maxDelay {
		return "", InvalidArgument{Field: "delay", Found: jobs.Found(m["delay"]), Allowed: fmt.Sprintf("at most %d seconds", maxDelay)}
	}
	ends := now.Truncate(time.Second).Add(time.Duration(math.Ceil(max(delay, 0))) * time.Second)
	return newJobID(ends.Add(-defaultDelay*time.Second), random)
}

// End is when the job with that id succeeds, if it was started by [StartUntil]: from then on [GetJobStatus], asked
// without a delay, says so. Any other text is a [JobNotFound].
func End(id string) (time.Time, error) {
	start, ok := startOf(id)
	if !ok {
		return time.Time{}, JobNotFound{Found: fmt.Sprintf("string %q", jobs.Shortened(id))}
	}
	return start.Truncate(time.Second).Add(defaultDelay * time.Second), nil
}
