package resumetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
)

// UnmatchedStore is a [resume.Rendezvous] that lists the events that match no wait.
type UnmatchedStore interface {
	resume.Rendezvous
	resume.UnmatchedEvents
}

// UnmatchedEvents is the suite of [resume.UnmatchedEvents].
func UnmatchedEvents(t *testing.T, open func(t *testing.T) UnmatchedStore) {
	t.Helper()
	for name, test := range map[string]func(*unmatchedFixture){
		"an empty store lists nothing":                                  (*unmatchedFixture).nothing,
		"an event without a waiter is listed as it was stored":          (*unmatchedFixture).listed,
		"the same event again is listed once":                           (*unmatchedFixture).twice,
		"an event of a waiter is not listed":                            (*unmatchedFixture).matched,
		"a waiter that comes later takes the event off the list":        (*unmatchedFixture).matchedLater,
		"an event after all waiters were released is listed":            (*unmatchedFixture).released,
		"the latest end of a job is listed, at its place":               (*unmatchedFixture).latest,
		"an external wait and an end of a waiter are not in the list":   (*unmatchedFixture).alone,
		"pages have each event once, the latest end first":              (*unmatchedFixture).pages,
		"a page goes on where the page before ended":                    (*unmatchedFixture).changedBetween,
		"any other text than next is an error":                          (*unmatchedFixture).badPage,
		"of concurrent events and binders no event with a waiter stays": (*unmatchedFixture).race,
		"a cancelled context is an error":                               (*unmatchedFixture).cancelledList,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := open(t)
			test(&unmatchedFixture{rendezvousFixture{t, store}, store})
		})
	}
}

// unmatchedFixture is a case of the suite.
type unmatchedFixture struct {
	rendezvousFixture

	list resume.UnmatchedEvents
}

// page returns a page as texts of its events.
func (u *unmatchedFixture) page(after string, limit int) (events []string, next string) {
	u.Helper()
	page, next, err := u.list.Unmatched(u.Context(), after, limit)
	if err != nil {
		u.Fatal(err)
	}
	for _, e := range page {
		events = append(events, unmatchedText(e.Key, e.End))
	}
	return events, next
}

func unmatchedText(key jobs.Key, end jobs.Sighting) string {
	return fmt.Sprint(key, " ", end.Status, " ", end.At.UTC(), " ", compact(end.Output), end.Error, end.Cause)
}

// wantEvents compares all pages with events of these jobs.
func (u *unmatchedFixture) wantEvents(want ...string) {
	u.Helper()
	const limit = 100
	got, next := u.page("", limit)
	if !slices.Equal(got, want) || next != "" {
		u.Errorf("listed %q, next %q; want %q", got, next, want)
	}
}

func (u *unmatchedFixture) nothing() { u.wantEvents() }

func (u *unmatchedFixture) listed() {
	key := jobs.Key{Kind: "a:kind", Account: "%3A", Region: "", Name: "a name / with: spaces, %2F, é and 日本"}
	failed := &jobs.Sighting{Status: jobs.StatusFailed, At: epoch.Add(1), Error: "Job.Failed", Cause: "it is \"broken\""}
	u.note(someJob, endAt(0), epoch.Add(day))
	u.note(key, failed, epoch.Add(day))
	u.wantEvents(unmatchedText(key, *failed), unmatchedText(someJob, *endAt(0)))
}

func (u *unmatchedFixture) twice() {
	for i := range 3 {
		u.note(someJob, endAt(0), epoch.Add(day+time.Duration(i)*time.Hour))
	}
	u.wantEvents(unmatchedText(someJob, *endAt(0)))
}

func (u *unmatchedFixture) matched() {
	u.bind(someJob, waiterOf(1), epoch.Add(day))
	u.note(someJob, endAt(0), epoch.Add(day))
	u.wantEvents()
}

func (u *unmatchedFixture) matchedLater() {
	u.note(someJob, endAt(0), epoch.Add(day))
	u.note(otherJob, endAt(0), epoch.Add(day))
	u.bind(someJob, waiterOf(1), epoch.Add(2*day))
	u.wantEvents(unmatchedText(otherJob, *endAt(0)))
	u.note(someJob, endAt(time.Second), epoch.Add(day))
	u.bind(otherJob, waiterOf(2), epoch.Add(time.Hour)) // earlier than the event expires
	u.wantEvents()
}

func (u *unmatchedFixture) released() {
	u.bind(someJob, waiterOf(1), epoch.Add(day))
	u.note(someJob, endAt(0), epoch.Add(day))
	u.mustRelease(someJob, waiterOf(1).Handle)
	u.note(someJob, endAt(time.Second), epoch.Add(day))
	u.wantEvents(unmatchedText(someJob, *endAt(time.Second)))
}

func (u *unmatchedFixture) latest() {
	u.note(someJob, endAt(0), epoch.Add(day))
	u.note(otherJob, endAt(time.Minute), epoch.Add(day))
	u.note(someJob, endAt(time.Hour), epoch.Add(day))
	u.note(otherJob, endAt(time.Second), epoch.Add(day)) // is late
	u.wantEvents(unmatchedText(someJob, *endAt(time.Hour)), unmatchedText(otherJob, *endAt(time.Minute)))
}

func (u *unmatchedFixture) alone() {
	if waits, ok := u.list.(resume.ExternalWaits); ok {
		wait := resume.ExternalWait{Recipient: resume.RecipientDurable, Opened: epoch, Deadline: epoch.Add(day), Expires: epoch.Add(day)}
		if _, err := waits.Open(u.Context(), waiterOf(1).Handle, wait); err != nil {
			u.Fatal(err)
		}
		u.note(someJob, endAt(0), epoch.Add(day))
		if open, err := waits.List(u.Context(), "", 100); err != nil || len(open) != 1 {
			u.Errorf("%d external waits are listed, error %v; want 1", len(open), err)
		}
		u.bind(someJob, waiterOf(2), epoch.Add(day))
	}
	u.note(otherJob, endAt(0), epoch.Add(day))
	u.wantEvents(unmatchedText(otherJob, *endAt(0)))
}

// many stores so many events and returns their texts, the latest end first.
func (u *unmatchedFixture) manyEvents(n int) (want []string) {
	for i := range n {
		key, end := someJob, endAt(time.Duration(i)*time.Second)
		key.Name += fmt.Sprint(i)
		u.note(key, end, epoch.Add(day))
		want = append(want, unmatchedText(key, *end))
	}
	slices.Reverse(want)
	return want
}

func (u *unmatchedFixture) pages() {
	want := u.manyEvents(25)
	for _, limit := range []int{1, 4, 5, 25, 26} {
		var got []string
		for after := ""; ; {
			page, next := u.page(after, limit)
			if len(page) > limit {
				u.Errorf("a page of %d has %d events", limit, len(page))
			}
			got = append(got, page...)
			if after = next; next == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			u.Errorf("in pages of %d: %q, want %q", limit, got, want)
		}
	}
}

func (u *unmatchedFixture) changedBetween() {
	want := u.manyEvents(6)
	first, next := u.page("", 3)
	u.note(otherJob, endAt(time.Hour), epoch.Add(day)) // is before the first page
	last := someJob
	last.Name += "2"
	u.bind(last, waiterOf(1), epoch.Add(day)) // and its event ended the first page's successor
	second, next := u.page(next, 3)
	if !slices.Equal(first, want[:3]) || !slices.Equal(second, want[4:]) || next != "" {
		u.Errorf("pages %q and %q, next %q; want those of %q without the fourth", first, second, next, want)
	}
}

func (u *unmatchedFixture) badPage() {
	for _, after := range []string{"x", "no page", "AA", "00", "é"} {
		if _, _, err := u.list.Unmatched(u.Context(), after, 1); !errors.Is(err, resume.ErrPage) {
			u.Errorf("page %q: error %v", after, err)
		}
	}
}

// race: each job has an event; half of the jobs get a waiter at the same moment.
func (u *unmatchedFixture) race() {
	key := func(i int) jobs.Key {
		job := someJob
		job.Name += fmt.Sprint(i)
		return job
	}
	u.rendezvousFixture.race(racers+racers/2, func(i int) (err error) {
		if i < racers {
			_, err = u.store.Note(u.Context(), key(i), *endAt(time.Duration(i)), epoch.Add(day))
		} else {
			_, err = u.store.Bind(u.Context(), key(i-racers), waiterOf(i), epoch.Add(day))
		}
		return err
	})
	var want []string
	for i := racers - 1; i >= racers/2; i-- {
		want = append(want, unmatchedText(key(i), *endAt(time.Duration(i))))
	}
	u.wantEvents(want...)
}

func (u *unmatchedFixture) cancelledList() {
	ctx, cancel := context.WithCancel(u.Context())
	cancel()
	if _, _, err := u.list.Unmatched(ctx, "", 1); err == nil {
		u.Error("no error")
	}
}
