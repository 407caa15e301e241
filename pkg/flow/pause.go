package flow

import "time"

// MaxInterval is the longest pause between two attempts or two polls: a day.
const MaxInterval = 24 * time.Hour

// After is the pause before retry n, which counts from 1: the interval, times
// the multiplier for each retry before, and never more than the longest one.
func (r Retry) After(n int) time.Duration { return pause(r.Interval, r.MaxInterval, r.Multiplier, n) }

// After is the pause after poll n, which counts from 1, and at most [MaxInterval].
func (p Poll) After(n int) time.Duration { return pause(p.Interval, MaxInterval, p.Backoff, n) }

func pause(first, most time.Duration, factor float64, n int) time.Duration {
	d := float64(first)
	for range n - 1 {
		if d *= factor; d >= float64(most) || factor == 1 {
			break
		}
	}
	if d >= float64(most) {
		return most
	}
	return time.Duration(d)
}
