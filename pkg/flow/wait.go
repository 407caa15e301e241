package flow

import (
	"fmt"
	"regexp"
	"sync"
	"time"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/value"
)

// Until returns the end of a wait that begins now. The error describes the mistake in a value of
// the input.
func (w *Wait) Until(input value.Value, lookup *value.Lookup, now time.Time) (time.Time, error) {
	given := value.Missing()
	if w.Mode == WaitDurationPath || w.Mode == WaitTimestampPath {
		given = lookup.Complete(w.Path.Eval(&expr.Scope{Self: input, Lookup: lookup}))
	}
	switch w.Mode {
	case WaitDuration:
		return now.Add(w.Duration), nil
	case WaitTimestamp:
		return w.notTooFar(w.Timestamp, now)
	case WaitDurationPath:
		d, ok := ParseDuration(given, w.Most)
		if !ok {
			return time.Time{}, fmt.Errorf("duration %s is %s; allowed: whole seconds from 0 to %d", w.Path, value.Shown(given), int(w.Most/time.Second))
		}
		return now.Add(d), nil
	case WaitTimestampPath:
		t, ok := ParseTimestamp(given)
		if !ok {
			return time.Time{}, fmt.Errorf("timestamp %s is %s; allowed: an instant like 2026-01-31T10:00:00Z (RFC 3339)", w.Path, value.Shown(given))
		}
		return w.notTooFar(t, now)
	}
	return time.Time{}, fmt.Errorf("wait mode %d is unknown", w.Mode)
}

func (w *Wait) notTooFar(t, now time.Time) (time.Time, error) {
	if latest := now.Add(w.Most); t.After(latest) {
		return time.Time{}, fmt.Errorf("timestamp %s lies more than %s ahead, after %s; wait in several steps",
			t.UTC().Format(time.RFC3339Nano), w.Most, latest.UTC().Format(time.RFC3339Nano))
	}
	return t, nil
}

// ParseDuration returns a number of whole seconds as a duration, and false unless v is one from 0
// to most.
func ParseDuration(v value.Value, most time.Duration) (d time.Duration, ok bool) {
	seconds, ok := v.Int64()
	if !ok || seconds < 0 || seconds > int64(most/time.Second) {
		return 0, false
	}
	return time.Duration(seconds) * time.Second, true
}

// timestampForm rejects forms that time.Parse accepts: an hour of one digit, a comma before the
// fraction, and zones of more than a day.
var timestampForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[^T]+T\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)
})

// ParseTimestamp returns the instant of a text in RFC 3339, in UTC.
func ParseTimestamp(v value.Value) (t time.Time, ok bool) {
	if v.Kind() != value.KindString || !timestampForm().MatchString(v.Text()) {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339Nano, v.Text())
	return t.UTC(), err == nil
}
