package local_test

import (
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/resume"
)

// The end of a job for which nothing waits is removed when it has expired, unless a later end came. With a waiter it stays.
func TestEndsOfJobsExpire(t *testing.T) {
	t.Parallel()
	store, at := &local.MemoryStore{}, time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)
	expires := at.Add(time.Hour)
	note := func(name string, end, expires time.Time) {
		t.Helper()
		if _, err := store.Note(t.Context(), jobs.Key{Name: name}, jobs.Sighting{At: end}, expires); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"alone", "again", "awaited"} {
		note(name, at, expires)
	}
	note("again", at.Add(time.Minute), expires.Add(time.Hour))
	waiter := resume.Waiter{Handle: "waiter"}
	if _, err := store.Bind(t.Context(), jobs.Key{Name: "awaited"}, waiter, expires); err != nil {
		t.Fatal(err)
	}
	// isKept reports whether an end is stored, as a waiter learns it.
	isKept := func(name string) bool {
		t.Helper()
		record, err := store.Bind(t.Context(), jobs.Key{Name: name}, resume.Waiter{Handle: "other"}, expires)
		if err == nil {
			err = store.Release(t.Context(), jobs.Key{Name: name}, []string{"other"})
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
		if err := store.Tidy(t.Context(), at.Add(tt.after)); err != nil {
			t.Fatal(err)
		}
		for name, want := range tt.kept {
			if got := isKept(name); got != want {
				t.Errorf("after %s the end of %s is kept: %t, want %t", tt.after, name, got, want)
			}
		}
	}
	if err := store.Release(t.Context(), jobs.Key{Name: "awaited"}, []string{waiter.Handle}); err != nil {
		t.Fatal(err)
	}
	if err := store.Tidy(t.Context(), at.Add(26*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if isKept("awaited") {
		t.Error("the end of a job stays after its waiters were released")
	}
}
