package enginetest

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// Records is [engine.TokenStore] with heartbeats, as package resume needs them.
type Records interface {
	engine.TokenStore
	Beat(ctx context.Context, handle string, at time.Time) (token.Record, error)
}

// Outcomes is the suite of [engine.TokenStore] and of heartbeats: of closings,
// of beginnings and of answers, one after the other and at once. Each case gets
// an empty store.
func Outcomes(t *testing.T, open func(t *testing.T) Records) {
	t.Helper()
	runCases(t, open, []testCase[Records]{
		{"an unknown token is open", outcomesUnknown},
		{"an outcome comes back as it was recorded", outcomesRoundTrip},
		{"the first outcome stays", outcomesFirst},
		{"a repeated close returns the same record", outcomesRepeated},
		{"of 64 closings at once one wins and all are told which", outcomesRace},
		{"a heartbeat is noted and never goes back", outcomesBeat},
		{"a heartbeat does not touch a closed token", outcomesBeatClosed},
		{"a closing for a missed heartbeat is refused by a newer one", outcomesUnlessBeat},
		{"a heartbeat and a closing for a missed one at once agree", outcomesBeatRace},
		{"the first to begin stays", outcomesBegin},
		{"a call with a reply or an outcome cannot be begun", outcomesBeginLate},
		{"of 64 who begin at once one does and all are told who", outcomesBeginRace},
		{"the first answer stays and leaves the token open", outcomesAnswer},
		{"an answer to a closed token is not kept", outcomesAnswerClosed},
		{"a submission that was answered does not fail", outcomesAnswered},
		{"of an answer and a closing at once both are told the same", outcomesAnswerRace},
		{"what was begun and answered stays when the token closes", outcomesAllParts},
		{"tokens have records of their own", outcomesHandles},
		{"a cancelled context is an error and changes nothing", outcomesCancelled},
	})
}

const handle = "AQEaaaaaaaaaaaaaaaaaaaaaaaaaaa"

func closing(outcome token.Outcome, by token.Closer) token.CloseOp {
	return token.CloseOp{Outcome: outcome, By: by, At: epoch}
}

func closeToken(t *testing.T, r Records, c token.CloseOp) token.Record {
	t.Helper()
	record, err := r.Close(t.Context(), handle, c)
	if err != nil {
		t.Fatalf("close: %v", err)
	}
	return record
}

func beat(t *testing.T, r Records, at time.Time) token.Record {
	t.Helper()
	record, err := r.Beat(t.Context(), handle, at)
	if err != nil {
		t.Fatalf("beat: %v", err)
	}
	return record
}

func sameRecord(a, b token.Record) bool { return reflect.DeepEqual(a.Encode(), b.Encode()) }

func wantRecord(t *testing.T, r Records, want token.Record) {
	t.Helper()
	got, err := r.Record(t.Context(), handle)
	if err != nil || !sameRecord(got, want) {
		t.Errorf("the record is %+v, error %v; want %+v", got, err, want)
	}
}

func outcomesUnknown(c on[Records]) { wantRecord(c.t, c.it, token.Record{}) }

func outcomesRoundTrip(c on[Records]) {
	t, r := c.t, c.it
	output := object(t, `{"text":"a \"b\" \u00e9 \n","number":12345678901234567890.5,"list":[1,{},null,true]}`)
	got := closeToken(t, r, closing(token.Success(output), token.ClosedByHand))
	want := token.Record{Outcome: &token.Outcome{Output: output}, ClosedBy: token.ClosedByHand, ClosedAt: epoch}
	if !sameRecord(got, want) {
		t.Errorf("the answer is %+v, want %+v", got, want)
	}
	wantRecord(t, r, want)
}

func outcomesFirst(c on[Records]) {
	t, r := c.t, c.it
	first := closeToken(t, r, closing(token.Failure("Some.Error", "some cause"), token.ClosedByDeadline))
	if first.Open() || first.Outcome.Error != "Some.Error" || first.Outcome.Cause != "some cause" || first.ClosedBy != token.ClosedByDeadline {
		t.Errorf("the record is %+v", first)
	}
	if second := closeToken(t, r, closing(success, token.ClosedByHand)); !sameRecord(second, first) {
		t.Errorf("the second closing answers %+v, want %+v", second, first)
	}
	wantRecord(t, r, first)
}

func outcomesRepeated(c on[Records]) {
	t, r := c.t, c.it
	first := closeToken(t, r, closing(success, token.ClosedByTask))
	for range 3 {
		if again := closeToken(t, r, closing(success, token.ClosedByTask)); !sameRecord(again, first) {
			t.Errorf("the record is %+v, want %+v", again, first)
		}
	}
}

func outcomesRace(c on[Records]) {
	t, r := c.t, c.it
	const racers = 64
	var got [racers]token.Record
	var errs [racers]error
	together(racers, func(i int) {
		outcome := token.Success(value.Object(value.Member{Key: "racer", Value: value.Int(int64(i))}))
		got[i], errs[i] = r.Close(t.Context(), handle, closing(outcome, token.ClosedByHand))
	})
	for i := range racers {
		if errs[i] != nil || got[i].Open() || !sameRecord(got[i], got[0]) {
			t.Errorf("racer %d is told %+v, error %v; racer 0 %+v", i, got[i], errs[i], got[0])
		}
	}
	wantRecord(t, r, got[0])
}

func outcomesBeat(c on[Records]) {
	t, r := c.t, c.it
	later := epoch.Add(time.Minute)
	if got := beat(t, r, later); !got.Open() || !got.LastBeat.Equal(later) {
		t.Errorf("the record is %+v", got)
	}
	if got := beat(t, r, epoch); !got.LastBeat.Equal(later) {
		t.Errorf("an older heartbeat made it %+v", got)
	}
	wantRecord(t, r, token.Record{LastBeat: later})
}

func outcomesBeatClosed(c on[Records]) {
	t, r := c.t, c.it
	beat(t, r, epoch)
	closed := closeToken(t, r, closing(success, token.ClosedByHand))
	if !closed.LastBeat.Equal(epoch) {
		t.Errorf("the closed record forgot the heartbeat: %+v", closed)
	}
	if got := beat(t, r, epoch.Add(time.Minute)); !sameRecord(got, closed) {
		t.Errorf("the record is %+v, want %+v", got, closed)
	}
	wantRecord(t, r, closed)
}

func outcomesUnlessBeat(c on[Records]) {
	t, r := c.t, c.it
	beat(t, r, epoch.Add(time.Second))
	missed := closing(token.Failure("FnF.TaskTimeout", "no heartbeat"), token.ClosedByHeartbeat)
	missed.UnlessBeatAfter = epoch
	if got := closeToken(t, r, missed); !got.Open() || !got.LastBeat.Equal(epoch.Add(time.Second)) {
		t.Errorf("the record is %+v, want an open one with the newer heartbeat", got)
	}
	missed.UnlessBeatAfter = epoch.Add(time.Second) // a heartbeat in that very instant was seen
	if got := closeToken(t, r, missed); got.Open() || got.ClosedBy != token.ClosedByHeartbeat {
		t.Errorf("the record is %+v, want one closed for the missed heartbeat", got)
	}
}

// outcomesBeatRace: either the heartbeat came first and both say open, or the
// closing did and both say closed.
func outcomesBeatRace(c on[Records]) {
	t, r := c.t, c.it
	for round := range 20 {
		name := fmt.Sprintf("%s%d", handle, round)
		missed := closing(token.Failure("FnF.TaskTimeout", "no heartbeat"), token.ClosedByHeartbeat)
		missed.UnlessBeatAfter = epoch
		var got [2]token.Record
		var errs [2]error
		together(2, func(i int) {
			if i == 0 {
				got[0], errs[0] = r.Beat(t.Context(), name, epoch.Add(time.Second))
				return
			}
			got[1], errs[1] = r.Close(t.Context(), name, missed)
		})
		if errs[0] != nil || errs[1] != nil || !sameRecord(got[0], got[1]) {
			t.Errorf("the heartbeat is told %+v, error %v; the closing %+v, error %v", got[0], errs[0], got[1], errs[1])
		}
	}
}

func begin(t *testing.T, r Records, by string, at time.Time) token.Record {
	t.Helper()
	record, err := r.Begin(t.Context(), handle, token.BeginOp{By: by, At: at, In: 7})
	if err != nil {
		t.Fatalf("begin: %v", err)
	}
	return record
}

func keepAnswer(t *testing.T, r Records, answer value.Value) token.Record {
	t.Helper()
	record, err := r.Reply(t.Context(), handle, token.ReplyOp{Reply: answer})
	if err != nil {
		t.Fatalf("answer: %v", err)
	}
	return record
}

func outcomesBegin(c on[Records]) {
	t, r := c.t, c.it
	beat(t, r, epoch)
	want := token.Record{LastBeat: epoch, BegunBy: "first", BegunAt: epoch.Add(1), BegunIn: 7}
	for i, by := range []string{"first", "second", "first"} {
		if got := begin(t, r, by, epoch.Add(time.Duration(1+i))); !sameRecord(got, want) {
			t.Errorf("the record is %+v, want %+v", got, want)
		}
	}
	wantRecord(t, r, want)
}

func outcomesBeginLate(c on[Records]) {
	t, r := c.t, c.it
	if got := keepAnswer(t, r, value.Object()); !sameRecord(begin(t, r, "late", epoch), got) {
		t.Error("a call was begun that is answered")
	}
	if got := closeToken(t, r, closing(success, token.ClosedByHand)); !sameRecord(begin(t, r, "late", epoch), got) {
		t.Error("a call was begun whose token is closed")
	}
}

func outcomesBeginRace(c on[Records]) {
	t, r := c.t, c.it
	const racers = 64
	var got [racers]token.Record
	var errs [racers]error
	together(racers, func(i int) {
		got[i], errs[i] = r.Begin(t.Context(), handle, token.BeginOp{By: fmt.Sprintf("racer %d", i), At: epoch})
	})
	for i := range racers {
		if errs[i] != nil || got[i].BegunBy == "" || got[i].BegunBy != got[0].BegunBy {
			t.Errorf("racer %d is told %+v, error %v; racer 0 %+v", i, got[i], errs[i], got[0])
		}
	}
	wantRecord(t, r, got[0])
}

func outcomesAnswer(c on[Records]) {
	t, r := c.t, c.it
	first := object(t, `{"text":"a \"b\" \u00e9 \n","list":[1,{},null,true]}`)
	want := token.Record{Reply: &first}
	for _, answer := range []value.Value{first, value.Object(), value.Missing()} {
		if got := keepAnswer(t, r, answer); !got.Open() || !sameRecord(got, want) {
			t.Errorf("the record is %+v, want %+v", got, want)
		}
	}
	wantRecord(t, r, want)
}

func outcomesAnswerClosed(c on[Records]) {
	t, r := c.t, c.it
	closed := closeToken(t, r, closing(success, token.ClosedByHand))
	if got := keepAnswer(t, r, value.Object()); !sameRecord(got, closed) {
		t.Errorf("the record is %+v, want %+v", got, closed)
	}
	wantRecord(t, r, closed)
}

// outcomesAnswered: another call for the same submission may fail later.
func outcomesAnswered(c on[Records]) {
	t, r := c.t, c.it
	answered := keepAnswer(t, r, value.Object())
	if got := closeToken(t, r, closing(token.Failure("Refused", ""), token.ClosedBySubmit)); !sameRecord(got, answered) {
		t.Errorf("the record is %+v, want %+v", got, answered)
	}
	wantRecord(t, r, answered)
	if got := closeToken(t, r, closing(success, token.ClosedByHand)); got.Open() {
		t.Error("the holder of the token cannot close it")
	}
}

// outcomesAnswerRace: the reply came first, or it is not stored.
func outcomesAnswerRace(c on[Records]) {
	t, r := c.t, c.it
	for round := range 20 {
		name := fmt.Sprintf("%s%d", handle, round)
		var got [2]token.Record
		var errs [2]error
		together(2, func(i int) {
			if i == 0 {
				got[0], errs[0] = r.Reply(t.Context(), name, token.ReplyOp{Reply: value.Object()})
				return
			}
			got[1], errs[1] = r.Close(t.Context(), name, closing(success, token.ClosedByHand))
		})
		if errs[0] != nil || errs[1] != nil || got[1].Open() || (got[0].Reply == nil) != (got[1].Reply == nil) || got[0].Open() && got[0].Reply == nil {
			t.Errorf("the answer is told %+v, error %v; the closing %+v, error %v", got[0], errs[0], got[1], errs[1])
		}
	}
}

func outcomesAllParts(c on[Records]) {
	t, r := c.t, c.it
	begin(t, r, "mark", epoch)
	keepAnswer(t, r, value.Missing())
	got := closeToken(t, r, closing(success, token.ClosedByHand))
	if got.Open() || got.BegunBy != "mark" || got.Reply == nil || !got.Reply.IsMissing() {
		t.Errorf("the record is %+v", got)
	}
	wantRecord(t, r, got)
}

func outcomesHandles(c on[Records]) {
	t, r := c.t, c.it
	closeToken(t, r, closing(success, token.ClosedByHand))
	for _, other := range []string{handle + "a", handle[1:], "", "stop " + handle} {
		if got, err := r.Record(t.Context(), other); err != nil || !got.Open() {
			t.Errorf("the record of %q is %+v, error %v", other, got, err)
		}
	}
}

func outcomesCancelled(c on[Records]) {
	t, r := c.t, c.it
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Record(ctx, handle); err == nil {
		t.Error("record: no error")
	}
	if _, err := r.Close(ctx, handle, closing(success, token.ClosedByHand)); err == nil {
		t.Error("close: no error")
	}
	if _, err := r.Begin(ctx, handle, token.BeginOp{By: "mark", At: epoch}); err == nil {
		t.Error("begin: no error")
	}
	if _, err := r.Reply(ctx, handle, token.ReplyOp{Reply: value.Object()}); err == nil {
		t.Error("answer: no error")
	}
	if _, err := r.Beat(ctx, handle, epoch); err == nil {
		t.Error("beat: no error")
	}
	wantRecord(t, r, token.Record{})
}
