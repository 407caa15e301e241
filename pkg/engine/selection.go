package engine

import (
	"math"
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/machine"
)

// Selection selects executions of an index. The zero Selection selects all.
type Selection struct {
	Flow     string           // empty means all
	Statuses []machine.Status // none means all; see [Selection.Indexed]
	// Executions start at Since or later, and earlier than Before. Zero means without a bound.
	Since, Before time.Time
}

// Indexed returns the statuses to look for, each once. An index has one status for all executions
// that have not ended, [machine.StatusRunning].
func (s Selection) Indexed() (statuses []machine.Status) {
	for _, status := range s.Statuses {
		if !status.Final() {
			status = machine.StatusRunning
		}
		if !slices.Contains(statuses, status) {
			statuses = append(statuses, status)
		}
	}
	return statuses
}

// Starts returns the first and the last instant of a start, in nanoseconds since 1970. No execution
// is selected if the first one is greater.
func (s Selection) Starts() (first, last int64) {
	first, last = math.MinInt64+1, math.MaxInt64
	if !s.Since.IsZero() {
		first = nanoseconds(s.Since)
	}
	if !s.Before.IsZero() {
		last = nanoseconds(s.Before) - 1
	}
	return first, last
}

// nanoseconds is [time.Time.UnixNano] of any year.
func nanoseconds(at time.Time) int64 {
	least, most := time.Unix(0, math.MinInt64+1), time.Unix(0, math.MaxInt64)
	if at.Before(least) {
		at = least
	}
	if at.After(most) {
		at = most
	}
	return at.UnixNano()
}
