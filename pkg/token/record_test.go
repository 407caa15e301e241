package token_test

import (
	"encoding/hex"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

var (
	done   = token.Success(value.Object(value.Member{Key: "status", Value: value.String("ok")}))
	failed = token.Failure("Broken", "it is broken")
)

func closing(outcome token.Outcome, after time.Duration) token.CloseOp {
	return token.CloseOp{Outcome: outcome, By: token.ClosedByHand, At: now.Add(after)}
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

func TestTheFirstToBeginStays(t *testing.T) {
	t.Parallel()
	first := token.BeginOp{By: "first", At: now}
	begun := first.Apply(token.Record{LastBeat: now})
	if begun.BegunBy != "first" || !begun.BegunAt.Equal(now) || !begun.LastBeat.Equal(now) || !begun.Open() {
		t.Errorf("after the first: %+v", begun)
	}
	for name, r := range map[string]token.Record{
		"another runner":  token.BeginOp{By: "second", At: now}.Apply(begun),
		"the first again": token.BeginOp{By: "first", At: now.Add(time.Hour)}.Apply(begun),
	} {
		if !reflect.DeepEqual(r, begun) {
			t.Errorf("after %s: %+v, want %+v", name, r, begun)
		}
	}
	for name, r := range map[string]token.Record{
		"the outcome": closing(done, 0).Apply(token.Record{}),
		"the answer":  token.ReplyOp{Reply: value.Object()}.Apply(token.Record{}),
	} {
		if late := first.Apply(r); !reflect.DeepEqual(late, r) {
			t.Errorf("after %s: %+v", name, late)
		}
	}
	if closed := closing(done, 0).Apply(begun); closed.Open() || closed.BegunBy != "first" {
		t.Errorf("a call that was begun keeps the token from being closed: %+v", closed)
	}
}

func TestTheFirstAnswerStays(t *testing.T) {
	t.Parallel()
	first, second := token.ReplyOp{Reply: value.String("first")}, token.ReplyOp{Reply: value.String("second")}
	r := first.Apply(token.BeginOp{By: "mark", At: now}.Apply(token.Record{}))
	if !r.Open() || r.Reply == nil || r.Reply.Text() != "first" || r.BegunBy != "mark" {
		t.Errorf("after the first: %+v", r)
	}
	if again := second.Apply(r); !reflect.DeepEqual(again, r) {
		t.Errorf("after the second: %+v", again)
	}
	closed := closing(done, 0).Apply(token.Record{})
	if late := first.Apply(closed); !reflect.DeepEqual(late, closed) {
		t.Errorf("after the end: %+v", late)
	}
	if closed := closing(done, 0).Apply(r); closed.Open() || closed.Reply == nil {
		t.Errorf("an answer is lost when the token closes: %+v", closed)
	}
}

func TestSame(t *testing.T) {
	t.Parallel()
	other := token.Success(value.Object())
	for name, tt := range map[string]struct {
		a, b token.Outcome
		want bool
	}{
		"successes":                 {done, token.Success(value.Object(value.Member{Key: "status", Value: value.String("ok")})), true},
		"successes that differ":     {done, other, false},
		"failures":                  {failed, token.Failure("Broken", "it is broken"), true},
		"failures by error":         {failed, token.Failure("Other", "it is broken"), false},
		"failures by cause":         {failed, token.Failure("Broken", "why"), false},
		"failures by exception":     {failed, token.Thrown("Broken", "it is broken"), false},
		"a failure and a success":   {failed, done, false},
		"what a failure carries":    {failed, token.Outcome{Error: "Broken", Cause: "it is broken", Output: value.Object()}, true},
		"a success without a value": {token.Success(value.Missing()), token.Success(value.Null()), false},
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
	begun := token.BeginOp{By: "mark", At: now, In: 2}.Apply(beaten)
	answered := token.ReplyOp{Reply: value.String("asked")}.Apply(begun)
	return map[string]token.Record{
		"nothing known":        {},
		"a heartbeat":          beaten,
		"a success":            closing(done, 0).Apply(token.Record{}),
		"a success, beaten":    closing(done, time.Nanosecond).Apply(beaten),
		"a failure":            closing(failed, 0).Apply(beaten),
		"an exception":         closing(token.Thrown("Broken", "x"), 0).Apply(answered),
		"a choice":             closing(token.Outcome{Output: value.Object(), Choice: "Yes"}, 0).Apply(answered),
		"begun":                begun,
		"polled":               token.PollOp{Job: "job", Number: 3}.Apply(begun),
		"answered":             answered,
		"answered nothing":     token.ReplyOp{}.Apply(token.Record{}),
		"begun and closed":     closing(failed, 0).Apply(begun),
		"answered and closed":  closing(done, 0).Apply(answered),
		"a success of nothing": closing(token.Success(value.Missing()), 0).Apply(token.Record{}),
	}
}

func TestARecordSurvivesBeingStored(t *testing.T) {
	t.Parallel()
	for name, r := range records() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := token.DecodeRecord(r.Encode())
			if got.BegunBy != r.BegunBy || !got.BegunAt.Equal(r.BegunAt) || got.BegunIn != r.BegunIn ||
				got.PolledJob != r.PolledJob || got.Polled != r.Polled || !sameAnswer(got, r) {
				t.Errorf("it is %+v, want %+v", got, r)
			}
			if err != nil || got.Open() != r.Open() || !got.LastBeat.Equal(r.LastBeat) || got.ClosedBy != r.ClosedBy || !got.ClosedAt.Equal(r.ClosedAt) {
				t.Fatalf("it is %+v, error %v; want %+v", got, err, r)
			}
			if !r.Open() && (!token.Same(*got.Outcome, *r.Outcome) || got.Outcome.Choice != r.Outcome.Choice) {
				t.Errorf("the outcome is %+v, want %+v", *got.Outcome, *r.Outcome)
			}
		})
	}
}

func TestAPolling(t *testing.T) {
	t.Parallel()
	third := token.PollOp{Job: "job", Number: 3}
	r := third.Apply(token.Record{}.Beat(now))
	if r.PolledJob != "job" || r.Polled != 3 || !r.LastBeat.Equal(now) || !r.Open() {
		t.Errorf("the record is %+v", r)
	}
	for polling, want := range map[token.PollOp]bool{{"job", 2}: true, third: false, {"job", 4}: false, {"another", 2}: false} {
		if got := polling.OvertakenIn(r); got != want {
			t.Errorf("a poll follows %+v: %t", polling, got)
		}
	}
	closed := closing(done, 0).Apply(token.Record{})
	if r := third.Apply(closed); r != closed {
		t.Errorf("a closed token is polled: %+v", r)
	}
}

func sameAnswer(a, b token.Record) bool {
	if a.Reply == nil || b.Reply == nil {
		return a.Reply == b.Reply
	}
	return value.Equal(*a.Reply, *b.Reply)
}

// TestARecordIsStable pins the stored form.
func TestARecordIsStable(t *testing.T) {
	t.Parallel()
	closed := closing(failed, time.Nanosecond).Apply(token.Record{}.Beat(now))
	begun := token.BeginOp{By: "mark", At: now, In: 300}.Apply(token.Record{})
	for name, tt := range map[string]struct {
		record token.Record
		want   string
	}{
		"nothing known": {token.Record{}, "01000000"},
		"a failure":     {closed, "01c0a6fe90dc0300010468616e64c0a6fe90dc03010642726f6b656e0c69742069732062726f6b656e00"},
		"polled":        {token.PollOp{Job: "job", Number: 3}.Apply(token.Record{}), "01000010036a6f6206"},
		"begun":         {begun, "01000002046d61726bc0a6fe90dc0300ac02"},
		"answered":      {token.ReplyOp{Reply: value.String("asked")}.Apply(begun), "01000006046d61726bc0a6fe90dc0300ac02040561736b6564"},
	} {
		if got := hex.EncodeToString(tt.record.Encode()); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
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
		if _, err := token.DecodeRecord(newer); !errors.Is(err, token.ErrNewer) {
			t.Errorf("%s: of a newer release: error %v", name, err)
		}
	}
	// What says which parts there are is the last byte of an open record, which has no part of an
	// outcome.
	strange := token.Record{}.Encode()
	strange[len(strange)-1] = 32
	if r, err := token.DecodeRecord(strange); !errors.Is(err, token.ErrDamaged) {
		t.Errorf("with a part of no outcome: %+v, error %v", r, err)
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

// A function got the token, so another call that fails changes nothing.
func TestASubmissionThatWasAnsweredDoesNotFail(t *testing.T) {
	t.Parallel()
	answered := token.ReplyOp{Reply: value.Object()}.Apply(token.Record{})
	refused := token.CloseOp{Outcome: failed, By: token.ClosedBySubmit, At: now}
	if r := refused.Apply(answered); !reflect.DeepEqual(r, answered) {
		t.Errorf("after a call that failed: %+v", r)
	}
	if r := refused.Apply(token.Record{}); r.Open() {
		t.Error("a submission that was not answered does not fail")
	}
	if r := closing(done, 0).Apply(answered); r.Open() {
		t.Error("a callback cannot close it")
	}
}
