package resumetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// Outcomes is the suite of [resume.TokenStore].
func Outcomes(t *testing.T, open func(t *testing.T) resume.TokenStore) {
	t.Helper()
	for name, test := range map[string]func(on){
		"a token without a record is open":                                    outcomesUnknown,
		"an outcome comes back as it was given":                               outcomesRoundTrip,
		"the first outcome stays":                                             outcomesFirst,
		"a heartbeat comes back and only moves forward":                       outcomesBeat,
		"a heartbeat after the end changes nothing":                           outcomesBeatAfterEnd,
		"a newer heartbeat keeps the token open":                              outcomesUnlessBeat,
		"a poll is stored, and a later one replaces it":                       outcomesPoll,
		"tokens have records of their own":                                    outcomesHandles,
		"of 64 concurrent closers one wins and all learn the outcome":         outcomesRace,
		"of 64 concurrent heartbeats and a closer the newest heartbeat stays": outcomesBeatRace,
		"a cancelled context is an error":                                     outcomesCancelled,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(on{t, open(t)})
		})
	}
}

const some, other = "EQEBsomeHandle_-0", "EQEBsomeHandle_-1"

func closing(outcome token.Outcome, after time.Duration) token.CloseOp {
	return token.CloseOp{Outcome: outcome, By: token.ClosedByHand, At: epoch.Add(after)}
}

func mustClose(t *testing.T, store resume.TokenStore, handle string, closing token.CloseOp) token.Record {
	t.Helper()
	r, err := store.Close(t.Context(), handle, closing)
	if err != nil {
		t.Fatal(err)
	}
	wantRecord(t, store, handle, r)
	return r
}

func mustBeat(t *testing.T, store resume.TokenStore, handle string, at time.Time) token.Record {
	t.Helper()
	r, err := store.Beat(t.Context(), handle, at)
	if err != nil {
		t.Fatal(err)
	}
	wantRecord(t, store, handle, r)
	return r
}

func wantRecord(t *testing.T, store resume.TokenStore, handle string, want token.Record) {
	t.Helper()
	got, err := store.Record(t.Context(), handle)
	if err != nil || !sameRecord(got, want) {
		t.Errorf("the record is %+v, error %v; want %+v", got, err, want)
	}
}

func outcomesUnknown(c on) {
	t, store := c.t, c.store
	wantRecord(t, store, some, token.Record{})
	wantRecord(t, store, some, token.Record{}) // looking has no effect
}

func outcomesRoundTrip(c on) {
	t, store := c.t, c.store
	for i, given := range []token.CloseOp{closing(success, 0), closing(failure, time.Nanosecond), {Outcome: failure, By: token.ClosedByStop, At: epoch}} {
		handle := fmt.Sprintf("%s-%d", some, i)
		if got, want := mustClose(t, store, handle, given), given.Apply(token.Record{}); !sameRecord(got, want) {
			t.Errorf("the record is %+v, want %+v", got, want)
		}
	}
}

func outcomesFirst(c on) {
	t, store := c.t, c.store
	first := mustClose(t, store, some, closing(success, 0))
	for _, late := range []token.Outcome{success, another, failure} {
		if r := mustClose(t, store, some, closing(late, time.Second)); !sameRecord(r, first) {
			t.Errorf("after a closing with %+v: %+v, want %+v", late, r, first)
		}
	}
}

func outcomesBeat(c on) {
	t, store := c.t, c.store
	latest := epoch
	for _, after := range []time.Duration{0, -time.Second, 0, time.Nanosecond, time.Hour, time.Minute} {
		at := epoch.Add(after)
		if at.After(latest) {
			latest = at
		}
		if r := mustBeat(t, store, some, at); !r.Open() || !r.LastBeat.Equal(latest) {
			t.Errorf("after a heartbeat at %s: %+v, want %s", at, r, latest)
		}
	}
	if r := mustClose(t, store, some, closing(success, 0)); r.Open() || !r.LastBeat.Equal(latest) {
		t.Errorf("closed after heartbeats: %+v", r)
	}
}

func outcomesBeatAfterEnd(c on) {
	t, store := c.t, c.store
	want := mustClose(t, store, some, closing(failure, 0))
	if r := mustBeat(t, store, some, epoch.Add(time.Second)); !sameRecord(r, want) {
		t.Errorf("the record is %+v, want %+v", r, want)
	}
}

func outcomesUnlessBeat(c on) {
	t, store := c.t, c.store
	missed := closing(failure, time.Minute)
	missed.UnlessBeatAfter = epoch
	mustBeat(t, store, some, epoch.Add(time.Nanosecond))
	if r := mustClose(t, store, some, missed); !r.Open() || !r.LastBeat.Equal(epoch.Add(time.Nanosecond)) {
		t.Errorf("after a newer heartbeat: %+v", r)
	}
	missed.UnlessBeatAfter = epoch.Add(time.Nanosecond)
	if r := mustClose(t, store, some, missed); r.Open() {
		t.Errorf("after no newer heartbeat: %+v", r)
	}
	missed.UnlessBeatAfter = epoch
	if r := mustClose(t, store, other, missed); r.Open() {
		t.Errorf("after no heartbeat: %+v", r)
	}
}

func outcomesPoll(c on) {
	t, store := c.t, c.store
	mustBeat(t, store, some, epoch)
	want := token.Record{LastBeat: epoch}
	for _, polling := range []token.PollOp{{Job: "arn:job/1", Number: 2}, {Job: "arn:job/1", Number: 300}, {Job: "another", Number: 2}} {
		want = polling.Apply(want)
		if r, err := store.Poll(t.Context(), some, polling); err != nil || !sameRecord(r, want) {
			t.Errorf("after poll %+v: %+v, error %v; want %+v", polling, r, err, want)
		}
		wantRecord(t, store, some, want)
	}
	closed := mustClose(t, store, some, closing(success, 0))
	if r, err := store.Poll(t.Context(), some, token.PollOp{Job: "another", Number: 3}); err != nil || !sameRecord(r, closed) {
		t.Errorf("a poll after the end: %+v, error %v; want %+v", r, err, closed)
	}
}

func outcomesHandles(c on) {
	t, store := c.t, c.store
	mustClose(t, store, some, closing(success, 0))
	wantRecord(t, store, other, token.Record{})
	mustBeat(t, store, other, epoch)
	if r := mustClose(t, store, other, closing(failure, 0)); r.Open() || !token.Same(*r.Outcome, failure) {
		t.Errorf("the other token: %+v", r)
	}
}

const racers = 64

// outcomeOf differs from racer to racer.
func outcomeOf(racer int) token.Outcome {
	return token.Success(object("racer", fmt.Sprint(racer)))
}

func outcomesRace(c on) {
	t, store := c.t, c.store
	var told [racers]token.Record
	var errs [racers]error
	together(racers, func(i int) {
		told[i], errs[i] = store.Close(t.Context(), some, closing(outcomeOf(i), time.Duration(i)))
	})
	held, err := store.Record(t.Context(), some)
	if err != nil || held.Open() {
		t.Fatalf("after the race: %+v, error %v", held, err)
	}
	winners := 0
	for i := range racers {
		if errs[i] != nil || !sameRecord(told[i], held) {
			t.Errorf("racer %d was told %+v, error %v; the token holds %+v", i, told[i], errs[i], held)
		}
		if token.Same(*held.Outcome, outcomeOf(i)) {
			winners++
		}
	}
	if winners != 1 {
		t.Errorf("%d winners", winners)
	}
}

func outcomesBeatRace(c on) {
	t, store := c.t, c.store
	limit := epoch.Add(racers / 2)
	closed := token.CloseOp{Outcome: failure, By: token.ClosedByHeartbeat, At: epoch, UnlessBeatAfter: limit}
	var answer token.Record
	together(racers+1, func(i int) {
		var err error
		if i == racers {
			answer, err = store.Close(t.Context(), some, closed)
		} else {
			_, err = store.Beat(t.Context(), some, epoch.Add(time.Duration(i)))
		}
		if err != nil {
			t.Error(err)
		}
	})
	held, err := store.Record(t.Context(), some)
	switch {
	case err != nil:
		t.Fatal(err)
	case answer.Open() != held.Open():
		t.Errorf("the closer was told %+v and the token holds %+v", answer, held)
	case held.Open() && !held.LastBeat.Equal(epoch.Add(racers-1)):
		t.Errorf("the last heartbeat is %s", held.LastBeat)
	case !held.Open() && held.LastBeat.After(limit):
		t.Errorf("it was closed although a heartbeat came at %s", held.LastBeat)
	}
}

func outcomesCancelled(c on) {
	t, store := c.t, c.store
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := store.Record(ctx, some); err == nil {
		t.Error("record: no error")
	}
	if _, err := store.Close(ctx, some, closing(success, 0)); err == nil {
		t.Error("close: no error")
	}
	if _, err := store.Beat(ctx, some, epoch); err == nil {
		t.Error("heartbeat: no error")
	}
	if _, err := store.Poll(ctx, some, token.PollOp{Job: "job", Number: 2}); err == nil {
		t.Error("poll: no error")
	}
}
