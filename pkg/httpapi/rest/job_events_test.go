package rest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// replays are the keys of the jobs whose events are handled again.
type replays struct {
	keys []jobs.Key
	err  error
}

func (r *replays) handle(_ context.Context, key jobs.Key) error {
	r.keys = append(r.keys, key)
	return r.err
}

// withEvents serves the job events of the store.
func (a *api) withEvents() *replays {
	a.t.Helper()
	handled := &replays{}
	a.config.JobEvents = rest.UnmatchedEvents{Events: a.store, Record: a.store.JobRecord, Token: a.store.Record, Handle: handled.handle}
	a.serve()
	return handled
}

func jobNumber(n int) jobs.Key {
	return jobs.Key{Kind: "batch-job", Account: "123456789012", Region: "eu-west-1", Name: fmt.Sprintf("arn:aws:batch:eu-west-1:123456789012:job/%d", n)}
}

// note stores the end of a job.
func (a *api) note(n int, end jobs.Sighting) {
	a.t.Helper()
	end.At = a.now.Add(time.Duration(n) * time.Second)
	if _, err := a.store.Note(a.t.Context(), jobNumber(n), end, a.now.Add(time.Hour)); err != nil {
		a.t.Fatal(err)
	}
}

func (a *api) bind(n int) {
	a.t.Helper()
	if _, err := a.store.Bind(a.t.Context(), jobNumber(n), resume.Waiter{Handle: "handle"}, a.now.Add(time.Hour)); err != nil {
		a.t.Fatal(err)
	}
}

func TestUnmatchedJobEventsAreListedInPages(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.withEvents()
	const events = 250
	for n := range events {
		a.note(n, jobs.Sighting{Status: jobs.StatusSuccess, Output: json.RawMessage(`{}`)})
	}
	a.note(events, jobs.Sighting{Status: jobs.StatusFailed, Error: "Job.Failed", Cause: "secret"})
	a.bind(7)
	var all []rest.JobEvent
	pages := 0
	for after := ""; pages == 0 || after != ""; pages++ {
		page, err := a.JobEvents(t.Context(), after)
		if err != nil {
			t.Fatal(err)
		}
		all, after = append(all, page.Events...), page.Next
	}
	if len(all) != events || pages != 3 {
		t.Fatalf("%d events in %d pages, want %d in 3", len(all), pages, events)
	}
	key := jobNumber(events)
	want := rest.JobEvent{
		ID: "batch-job:123456789012:eu-west-1:" + key.Name, Time: a.now.Add(events * time.Second), Result: rest.EventParked,
		Kind: key.Kind, Account: key.Account, Region: key.Region, Name: key.Name, Status: "failed", Error: "Job.Failed",
	}
	if got := all[0]; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the latest is %+v, want %+v", got, want)
	}
	if slices.ContainsFunc(all, func(e rest.JobEvent) bool { return e.Key() == jobNumber(7) }) {
		t.Error("an event whose job has a waiter is listed")
	}
	_, err := a.JobEvents(t.Context(), "no page")
	wantRefused(t, err, http.StatusBadRequest, engine.CodeInvalid, "invalid page token")
}

func TestReplayOfAJobEvent(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	handled := a.withEvents()
	a.note(1, jobs.Sighting{Status: jobs.StatusSuccess})
	id := jobNumber(1).ID()
	if result, err := a.ReplayJobEvent(t.Context(), id); err != nil || result.Result != rest.EventParked || len(handled.keys) != 0 {
		t.Errorf("before a waiter is bound: %+v, error %v, handled %v", result, err, handled.keys)
	}
	a.bind(1)
	result, err := a.ReplayJobEvent(t.Context(), id)
	if err != nil || result.Result != rest.EventAccepted || !slices.Equal(handled.keys, []jobs.Key{jobNumber(1)}) {
		t.Errorf("after it was bound: %+v, error %v, handled %v", result, err, handled.keys)
	}
	closing := token.CloseOp{Outcome: token.Success(value.Object()), By: token.ClosedByHand, At: a.now}
	if _, err := a.store.Close(t.Context(), "handle", closing); err != nil {
		t.Fatal(err)
	}
	result, err = a.ReplayJobEvent(t.Context(), id)
	if err != nil || result.Result != rest.EventParked || len(handled.keys) != 2 { // the wake may be lost
		t.Errorf("after the wait ended: %+v, error %v, handled %v", result, err, handled.keys)
	}
	a.bind(2)
	for _, unknown := range []string{jobNumber(2).ID(), jobNumber(3).ID(), "7"} {
		_, err := a.ReplayJobEvent(t.Context(), unknown)
		wantRefused(t, err, http.StatusNotFound, engine.CodeNotFound, "no job event is kept")
	}
	_, err = a.ReplayJobEvent(t.Context(), "")
	wantRefused(t, err, http.StatusBadRequest, engine.CodeInvalid, "the body has no id")
	handled.err = errors.New("the queue is gone")
	_, err = a.ReplayJobEvent(t.Context(), id)
	wantRefused(t, err, http.StatusInternalServerError, engine.CodeInternal, "")
	if len(handled.keys) != 3 {
		t.Errorf("handled %v", handled.keys)
	}
}

// The name of a job is the user's.
func TestTokensInJobEventsAreMasked(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.withEvents()
	text := a.waitingToken()
	key := jobNumber(1)
	key.Name = text
	if _, err := a.store.Note(t.Context(), key, jobs.Sighting{Status: jobs.StatusSuccess, At: a.now}, a.now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	page, err := a.JobEvents(t.Context(), "")
	if err != nil || len(page.Events) != 1 || page.Events[0].Name != token.Mask(text) {
		t.Errorf("%+v, error %v", page, err)
	}
}

func TestAnAPIWithoutJobEvents(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	_, err := a.JobEvents(t.Context(), "")
	wantRefused(t, err, http.StatusNotFound, engine.CodeNotFound, "no job events")
	_, err = a.ReplayJobEvent(t.Context(), "7")
	wantRefused(t, err, http.StatusNotFound, engine.CodeNotFound, "no job events")
}
