package token_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/token"
)

var (
	done   = token.Success(expr.Object(expr.Member{Key: "status", Value: expr.String("ok")}))
	failed = token.Failure("Broken", "it is broken")
)

func closing(outcome token.Outcome, after time.Duration) token.Closing {
	return token.Closing{Outcome: outcome, By: token.ClosedByHand, At: now.Add(after)}
}

func TestTheFirstOutcomeStays(t *testing.T) {
	t.Parallel()
	r := closing(done, 0).Apply(token.Record{LastBeat: now})
	if r.Open() || !token.Same(*r.Outcome, done) || r.ClosedBy != token.ClosedByHand || !r.ClosedAt.Equal(now) || !r.LastBeat.Equal(now) {
		t.Errorf("after the closing: %+v", r)
	}
	second := closing(failed, time.Second)
	second.By = token.ClosedByDeadline
	if again := second.Apply(r); !reflect.DeepEqual(again, r) {
		t.Errorf("after the second closing: %+v, want %+v", again, r)
	}
}

func TestAClosingLeavesTheRecordThatItIsAppliedTo(t *testing.T) {
	t.Parallel()
	c, open := closing(done, 0), token.Record{}
	r := c.Apply(open)
	c.Outcome = failed
	if !open.Open() || !token.Same(*r.Outcome, done) {
		t.Errorf("the record is %+v, the one before %+v", r, open)
	}
}

func TestANewerHeartbeatKeepsTheTokenOpen(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		limit, beat time.Time
		closes      bool
	}{
		"no limit":               {time.Time{}, now.Add(time.Hour), true},
		"no heartbeat":           {now, time.Time{}, true},
		"an older heartbeat":     {now, now.Add(-time.Nanosecond), true},
		"one at the limit":       {now, now, true},
		"one a nanosecond newer": {now, now.Add(time.Nanosecond), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := closing(failed, time.Hour)
			c.UnlessBeatAfter = tt.limit
			if r := c.Apply(token.Record{LastBeat: tt.beat}); r.Open() == tt.closes || !r.LastBeat.Equal(tt.beat) {
				t.Errorf("open is %t, the last heartbeat %s", r.Open(), r.LastBeat)
			}
		})
	}
}

func TestAHeartbeatOnlyMovesForwardAndNotAfterTheEnd(t *testing.T) {
	t.Parallel()
	r := token.Record{}.Beat(now)
	if !r.LastBeat.Equal(now) {
		t.Errorf("the first heartbeat is %s", r.LastBeat)
	}
	if older := r.Beat(now.Add(-time.Second)); !older.LastBeat.Equal(now) {
		t.Errorf("after an older one: %s", older.LastBeat)
	}
	if newer := r.Beat(now.Add(time.Second)); !newer.LastBeat.Equal(now.Add(time.Second)) {
		t.Errorf("after a newer one: %s", newer.LastBeat)
	}
	closed := closing(done, 0).Apply(r)
	if late := closed.Beat(now.Add(time.Second)); !reflect.DeepEqual(late, closed) {
		t.Errorf("after one that came after the end: %+v", late)
	}
}

func TestSame(t *testing.T) {
	t.Parallel()
	other := token.Success(expr.Object())
	for name, tt := range map[string]struct {
		a, b token.Outcome
		want bool
	}{
		"successes":                 {done, token.Success(expr.Object(expr.Member{Key: "status", Value: expr.String("ok")})), true},
		"successes that differ":     {done, other, false},
		"failures":                  {failed, token.Failure("Broken", "it is broken"), true},
		"failures by error":         {failed, token.Failure("Other", "it is broken"), false},
		"failures by cause":         {failed, token.Failure("Broken", "why"), false},
		"a failure and a success":   {failed, done, false},
		"what a failure carries":    {failed, token.Outcome{Error: "Broken", Cause: "it is broken", Output: expr.Object()}, true},
		"a success without a value": {token.Success(expr.Missing()), token.Success(expr.Null()), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if token.Same(tt.a, tt.b) != tt.want || token.Same(tt.b, tt.a) != tt.want {
				t.Errorf("the same is %t one way and %t the other, want %t", token.Same(tt.a, tt.b), token.Same(tt.b, tt.a), tt.want)
			}
		})
	}
}

// records are those that a store may be given.
func records() map[string]token.Record {
	beaten := token.Record{}.Beat(now.Add(123456789))
	return map[string]token.Record{
		"nothing known":        {},
		"a heartbeat":          beaten,
		"a success":            closing(done, 0).Apply(token.Record{}),
		"a success, beaten":    closing(done, time.Nanosecond).Apply(beaten),
		"a failure":            closing(failed, 0).Apply(beaten),
		"a success of nothing": closing(token.Success(expr.Missing()), 0).Apply(token.Record{}),
	}
}

func TestARecordSurvivesBeingStored(t *testing.T) {
	t.Parallel()
	for name, r := range records() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := token.DecodeRecord(r.Encode())
			if err != nil || got.Open() != r.Open() || !got.LastBeat.Equal(r.LastBeat) || got.ClosedBy != r.ClosedBy || !got.ClosedAt.Equal(r.ClosedAt) {
				t.Fatalf("it is %+v, error %v; want %+v", got, err, r)
			}
			if !r.Open() && !token.Same(*got.Outcome, *r.Outcome) {
				t.Errorf("the outcome is %+v, want %+v", *got.Outcome, *r.Outcome)
			}
		})
	}
}

func TestADamagedRecordIsAnError(t *testing.T) {
	t.Parallel()
	for name, r := range records() {
		whole := r.Encode()
		for size := range whole {
			if _, err := token.DecodeRecord(whole[:size]); !errors.Is(err, token.ErrDamaged) {
				t.Errorf("%s: the first %d of %d bytes: error %v", name, size, len(whole), err)
			}
		}
		if _, err := token.DecodeRecord(append(whole, 0)); !errors.Is(err, token.ErrDamaged) {
			t.Errorf("%s: with a byte more: error %v", name, err)
		}
		newer := append([]byte{whole[0] + 1}, whole[1:]...)
		if _, err := token.DecodeRecord(newer); !errors.Is(err, token.ErrDamaged) {
			t.Errorf("%s: of a newer release: error %v", name, err)
		}
	}
	// What says whether there is an outcome is the last byte of an open record.
	strange := token.Record{}.Encode()
	strange[len(strange)-1] = 2
	if r, err := token.DecodeRecord(strange); !errors.Is(err, token.ErrDamaged) {
		t.Errorf("neither open nor closed: %+v, error %v", r, err)
	}
}

// FuzzDecodeRecord: nothing panics, and what can be read says the same when it
// is written and read again.
func FuzzDecodeRecord(f *testing.F) {
	for _, r := range records() {
		f.Add(r.Encode())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := token.DecodeRecord(data)
		if err != nil {
			return
		}
		again, err := token.DecodeRecord(r.Encode())
		if err != nil || again.Open() != r.Open() || !again.LastBeat.Equal(r.LastBeat) || !r.Open() && !token.Same(*again.Outcome, *r.Outcome) {
			t.Errorf("%+v became %+v, error %v", r, again, err)
		}
	})
}
