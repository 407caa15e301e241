package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// The end of a job for which nothing waits is removed when it has expired, unless a later end came.
// With a waiter it stays.
func TestEndsOfJobsExpire(t *testing.T) {
	t.Parallel()
	s, at := &store.Memory{}, time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)
	expires := at.Add(time.Hour)
	note := func(name string, end, expires time.Time) {
		t.Helper()
		if _, err := s.Note(t.Context(), jobs.Key{Name: name}, jobs.Sighting{At: end}, expires); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"alone", "again", "awaited"} {
		note(name, at, expires)
	}
	note("again", at.Add(time.Minute), expires.Add(time.Hour))
	waiter := resume.Waiter{Handle: "waiter"}
	if _, err := s.Bind(t.Context(), jobs.Key{Name: "awaited"}, waiter, expires); err != nil {
		t.Fatal(err)
	}
	// isKept reports whether an end is stored, as a waiter learns it.
	isKept := func(name string) bool {
		t.Helper()
		record, err := s.Bind(t.Context(), jobs.Key{Name: name}, resume.Waiter{Handle: "other"}, expires)
		if err == nil {
			err = s.Release(t.Context(), jobs.Key{Name: name}, []string{"other"})
		}
		if err != nil {
			t.Fatal(err)
		}
		return record.End != nil
	}
	for _, tt := range []struct {
		after time.Duration
		kept  map[string]bool
	}{
		{time.Hour - time.Second, map[string]bool{"alone": true, "again": true, "awaited": true}},
		{time.Hour + time.Second, map[string]bool{"alone": false, "again": true, "awaited": true}},
		{2*time.Hour + time.Second, map[string]bool{"alone": false, "again": false, "awaited": true}},
	} {
		if err := s.Tidy(t.Context(), at.Add(tt.after)); err != nil {
			t.Fatal(err)
		}
		for name, want := range tt.kept {
			if got := isKept(name); got != want {
				t.Errorf("after %s the end of %s is kept: %t, want %t", tt.after, name, got, want)
			}
		}
	}
	if err := s.Release(t.Context(), jobs.Key{Name: "awaited"}, []string{waiter.Handle}); err != nil {
		t.Fatal(err)
	}
	if err := s.Tidy(t.Context(), at.Add(26*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if isKept("awaited") {
		t.Error("the end of a job stays after its waiters were released")
	}
}

// The record of a job that was awaited is removed a day after nothing waits for it, whether the
// token was closed, expired, or belongs to an execution that is gone, with an event and without. A
// job that is still to be stopped is kept until the token expires.
func TestRecordsOfJobsExpire(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)
	const life = 30
	for name, tt := range map[string]struct {
		event   bool
		closed  int // on which day, 0 for never
		stops   bool
		removed int // after which day
	}{
		"closed by an event":               {event: true, closed: 3, removed: 5},
		"closed without an event":          {closed: 3, removed: 5},
		"never closed":                     {removed: life + 2},
		"never closed, with an event":      {event: true, removed: life + 2},
		"closed by a stop, job to be told": {closed: 3, stops: true, removed: life + 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, key := &store.Memory{}, jobs.Key{Kind: "batch-job", Name: "job"}
			handle := s.Keys().Handle(token.ID{Execution: [12]byte{1}, Expires: begin.Add(life * 24 * time.Hour)})
			_, err := s.Bind(t.Context(), key, resume.Waiter{Handle: handle, StopJob: tt.stops}, begin.Add(life*24*time.Hour))
			isKept := func() bool {
				record, err := s.JobRecord(t.Context(), key)
				if err != nil {
					t.Fatal(err)
				}
				return len(record.Waiters) > 0 || record.End != nil
			}
			last := 0
			for day := 0; day < 2*life && err == nil; day++ {
				now := begin.Add(time.Duration(day) * 24 * time.Hour)
				if day == tt.closed && day > 0 {
					closing := token.CloseOp{Outcome: token.Failure("Failed", ""), By: token.ClosedByStop, At: now}
					_, err = s.Close(t.Context(), handle, closing)
				}
				if day == tt.closed && tt.event && err == nil {
					_, err = s.Note(t.Context(), key, jobs.Sighting{At: now}, now.Add(24*time.Hour))
				}
				for hour := range 24 {
					err = errors.Join(err, s.Tidy(t.Context(), now.Add(time.Duration(hour)*time.Hour)))
				}
				if isKept() {
					last = day + 1
				}
			}
			if err != nil || last > tt.removed || last < max(tt.closed, 1) || tt.closed == 0 && last < life {
				t.Errorf("the record is there until day %d, want %d; error %v", last, tt.removed, err)
			}
			if polls, err := s.Waiting(t.Context(), resume.Poll{}, 10); err != nil || len(polls) > 0 {
				t.Errorf("%d polls, error %v", len(polls), err)
			}
		})
	}
}
