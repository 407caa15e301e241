package machine

import (
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/fdl"
)

// waitUntil is the instant when a wait entered at now ends. The error says
// what is wrong with a value from the input.
func waitUntil(wait *fdl.Wait, input expr.Value, now time.Time) (time.Time, error) {
	switch wait.Mode {
	case fdl.WaitDuration:
		return now.Add(wait.Duration), nil
	case fdl.WaitTimestamp:
		return notTooFar(wait.Timestamp, now)
	case fdl.WaitDurationPath:
		v := wait.Path.Eval(&expr.Scope{Self: input})
		d, ok := fdl.ParseDuration(v)
		if !ok {
			return time.Time{}, fmt.Errorf("duration %s is %s; allowed: whole seconds from 0 to %d", wait.Path, shown(v), int(fdl.MaxWait/time.Second))
		}
		return now.Add(d), nil
	case fdl.WaitTimestampPath:
		v := wait.Path.Eval(&expr.Scope{Self: input})
		t, ok := fdl.ParseTimestamp(v)
		if !ok {
			return time.Time{}, fmt.Errorf("timestamp %s is %s; allowed: an instant like 2026-01-31T10:00:00Z (RFC 3339)", wait.Path, shown(v))
		}
		return notTooFar(t, now)
	}
	return time.Time{}, fmt.Errorf("wait mode %d is unknown", wait.Mode)
}

func notTooFar(t, now time.Time) (time.Time, error) {
	if t.Sub(now) > fdl.MaxWait {
		return time.Time{}, fmt.Errorf("timestamp %s lies %s ahead and the limit is %s; wait in several steps",
			t.Format(time.RFC3339), t.Sub(now).Round(time.Second), fdl.MaxWait)
	}
	return t, nil
}

// shown is a value for a message: what it is, and its text when short.
func shown(v expr.Value) string {
	const most = 40
	if v.IsMissing() || v.Size() > most {
		return v.Kind().String()
	}
	return fmt.Sprintf("%s, %s", v.Kind(), v.JSON())
}
