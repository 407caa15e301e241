package resumetest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/value"
)

// Expiring is a [resume.Rendezvous] that deletes what it knows of jobs.
type Expiring interface {
	// Expires is until when the store keeps what it knows of the job, in whole
	// seconds or finer; zero where it knows nothing.
	Expires(t *testing.T, key jobs.Key) time.Time
}

// Rendezvous is the suite of [resume.Rendezvous]. Instants of ends and waiters
// come back to the nanosecond, outputs byte for byte; only the instant until
// which all is kept may be rounded up to a second.
func Rendezvous(t *testing.T, open func(t *testing.T) resume.Rendezvous) {
	t.Helper()
	for name, test := range map[string]func(*rendezvousFixture){
		"the first waiter finds nothing":                            (*rendezvousFixture).alone,
		"the event first, then the waiter":                          (*rendezvousFixture).eventFirst,
		"the waiter first, then the event":                          (*rendezvousFixture).waiterFirst,
		"every field comes back as it was given":                    (*rendezvousFixture).roundTrip,
		"the end only moves forward":                                (*rendezvousFixture).forward,
		"of two ends of one instant the later note stays":           (*rendezvousFixture).sameInstant,
		"the same waiter again is one waiter":                       (*rendezvousFixture).again,
		"the same end again changes nothing":                        (*rendezvousFixture).endAgain,
		"a released waiter is gone and the others stay":             (*rendezvousFixture).release,
		"what is stored is read, and nothing of another job":        (*rendezvousFixture).read,
		"a release leaves the end":                                  (*rendezvousFixture).releaseKeepsEnd,
		"releasing the waiters of an unknown job stores nothing":    (*rendezvousFixture).releaseUnknown,
		"50 waiters come back in the order of their handles":        (*rendezvousFixture).many,
		"jobs have records of their own":                            (*rendezvousFixture).keys,
		"an event alone is kept until its expiry":                   (*rendezvousFixture).parked,
		"a waiter extends the expiry and an event does not":         (*rendezvousFixture).expiryOfWaiter,
		"the longest expiry of the waiters counts":                  (*rendezvousFixture).longestExpiry,
		"64 concurrent binders all wait":                            (*rendezvousFixture).binders,
		"of 64 concurrent ends the latest stays":                    (*rendezvousFixture).noters,
		"of 64 concurrent binders and an event no waiter is missed": (*rendezvousFixture).raceOfBoth,
		"concurrent releases and binders lose no waiter":            (*rendezvousFixture).raceOfReleases,
		"a cancelled context is an error":                           (*rendezvousFixture).cancelled,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(&rendezvousFixture{t, open(t)})
		})
	}
}

// rendezvousFixture is a case of the suite: a store, and the test that it reports to.
type rendezvousFixture struct {
	*testing.T
	store resume.Rendezvous
}

var (
	someJob  = jobs.Key{Kind: "batch-job", Account: "123456789012", Region: "eu-central-1", Name: "arn:aws:batch:eu-central-1:123456789012:job/a"}
	otherJob = jobs.Key{Kind: "batch-job", Account: "123456789012", Region: "eu-central-1", Name: "arn:aws:batch:eu-central-1:123456789012:job/b"}
)

const day = 24 * time.Hour

func waiterOf(i int) resume.Waiter {
	return resume.Waiter{
		Handle: fmt.Sprintf("EQEBwaiter_-%02d", i), Run: jobs.Run{BeginText: fmt.Sprint("run ", i), Since: epoch.Add(time.Duration(i))},
		JobID: fmt.Sprint("job ", i),
	}
}

// endAt is an end that differs from instant to instant.
func endAt(after time.Duration) *jobs.Sighting {
	return &jobs.Sighting{Status: jobs.StatusSuccess, At: epoch.Add(after), Output: json.RawMessage(fmt.Sprintf(`{"after":"%s"}`, after))}
}

func (m *rendezvousFixture) bind(key jobs.Key, waiter resume.Waiter, expires time.Time) resume.JobRecord {
	m.Helper()
	met, err := m.store.Bind(m.Context(), key, waiter, expires)
	if err != nil {
		m.Fatal(err)
	}
	return met
}

func (m *rendezvousFixture) note(key jobs.Key, end *jobs.Sighting, expires time.Time) resume.JobRecord {
	m.Helper()
	met, err := m.store.Note(m.Context(), key, *end, expires)
	if err != nil {
		m.Fatal(err)
	}
	return met
}

func (m *rendezvousFixture) mustRelease(key jobs.Key, handles ...string) {
	m.Helper()
	if err := m.store.Release(m.Context(), key, handles); err != nil {
		m.Fatal(err)
	}
}

func (m *rendezvousFixture) want(got resume.JobRecord, end *jobs.Sighting, waiters ...resume.Waiter) {
	m.Helper()
	if !sameEnd(got.End, end) {
		m.Errorf("the end is %+v, want %+v", got.End, end)
	}
	if !slices.EqualFunc(got.Waiters, waiters, sameWaiter) {
		m.Errorf("the waiters are %+v, want %+v", got.Waiters, waiters)
	}
}

// wantExpires: a store that counts in seconds rounds up. The zero instant is that of an unknown
// job.
func (m *rendezvousFixture) wantExpires(key jobs.Key, want time.Time) {
	m.Helper()
	store, expires := m.store.(Expiring)
	if !expires {
		return
	}
	got := store.Expires(m.T, key)
	if got.Before(want) || !got.Before(want.Add(time.Second)) {
		m.Errorf("it is kept until %s, want %s", got, want)
	}
}

func sameWaiter(a, b resume.Waiter) bool {
	return a.Handle == b.Handle && a.JobID == b.JobID && a.Run.BeginText == b.Run.BeginText && a.Run.Since.Equal(b.Run.Since)
}

func sameEnd(a, b *jobs.Sighting) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Status == b.Status && a.At.Equal(b.At) && a.BeginText == b.BeginText && a.Began.Equal(b.Began) && a.Began.IsZero() == b.Began.IsZero() &&
		compact(a.Output) == compact(b.Output) && a.Error == b.Error && a.Cause == b.Cause
}

// compact returns an output as it is compared: stores need not keep its white space and its
// escapes.
func compact(output json.RawMessage) string {
	v, err := value.ParseJSON(output)
	if err != nil {
		return string(output)
	}
	return v.JSON()
}

func (m *rendezvousFixture) alone() {
	m.want(m.bind(someJob, waiterOf(1), epoch.Add(day)), nil, waiterOf(1))
	m.want(m.note(otherJob, endAt(0), epoch.Add(day)), endAt(0))
}

func (m *rendezvousFixture) read() {
	read := func(key jobs.Key) resume.JobRecord {
		record, err := m.store.JobRecord(m.Context(), key)
		if err != nil {
			m.Fatal(err)
		}
		return record
	}
	m.want(read(someJob), nil)
	m.bind(someJob, waiterOf(1), epoch.Add(day))
	m.bind(someJob, waiterOf(0), epoch.Add(day))
	m.want(read(someJob), nil, waiterOf(0), waiterOf(1))
	m.note(someJob, endAt(0), epoch.Add(day))
	m.mustRelease(someJob, waiterOf(1).Handle)
	m.want(read(someJob), endAt(0), waiterOf(0))
	m.want(read(otherJob), nil)
}

func (m *rendezvousFixture) eventFirst() {
	m.want(m.note(someJob, endAt(0), epoch.Add(day)), endAt(0))
	m.want(m.bind(someJob, waiterOf(1), epoch.Add(day)), endAt(0), waiterOf(1))
}

func (m *rendezvousFixture) waiterFirst() {
	m.want(m.bind(someJob, waiterOf(1), epoch.Add(day)), nil, waiterOf(1))
	m.want(m.note(someJob, endAt(0), epoch.Add(day)), endAt(0), waiterOf(1))
}

func (m *rendezvousFixture) roundTrip() {
	waiters := []resume.Waiter{
		{Handle: "EQEB-0"},
		{Handle: "EQEB-1", Run: jobs.Run{BeginText: "a: \"run\" é/\n\x00", Since: epoch.Add(time.Nanosecond)}, JobID: "a: \"job\" é/\n\x00"},
	}
	for i, end := range []*jobs.Sighting{
		{Status: jobs.StatusFailed, At: epoch, Error: "Job.Failed", Cause: "it is \"broken\", \x00 é\n"},
		{
			Status: jobs.StatusSuccess, At: epoch.Add(time.Nanosecond), BeginText: "a: \"run\" é", Began: epoch.Add(-time.Nanosecond),
			Output: json.RawMessage(`{"b": 1e0, "a" : "<\u0041>é", "large":123456789012345678901234567890}`),
		},
		{Status: jobs.StatusRunning, At: epoch.Add(time.Hour)},
	} {
		waiter := waiters[i%len(waiters)]
		m.note(someJob, end, epoch.Add(day))
		m.want(m.bind(someJob, waiter, epoch.Add(day)), end, waiter)
		m.want(m.note(someJob, end, epoch.Add(day)), end, waiter)
		m.mustRelease(someJob, waiter.Handle)
	}
}

func (m *rendezvousFixture) forward() {
	latest := endAt(0)
	for _, after := range []time.Duration{0, -time.Second, time.Nanosecond, 0, time.Hour, time.Minute, -time.Nanosecond} {
		end := endAt(after)
		if end.At.After(latest.At) {
			latest = end
		}
		m.want(m.note(someJob, end, epoch.Add(day)), latest)
	}
	m.want(m.bind(someJob, waiterOf(1), epoch.Add(day)), latest, waiterOf(1))
	m.want(m.note(someJob, endAt(0), epoch.Add(day)), latest, waiterOf(1)) // who comes late still hears who waits
}

func (m *rendezvousFixture) sameInstant() {
	stopped := endAt(0)
	stopped.Status, stopped.Error = jobs.StatusFailed, "Job.Stopped"
	m.note(someJob, endAt(0), epoch.Add(day))
	m.want(m.note(someJob, stopped, epoch.Add(day)), stopped)
	m.want(m.bind(someJob, waiterOf(1), epoch.Add(day)), stopped, waiterOf(1))
}

func (m *rendezvousFixture) again() {
	waiter := waiterOf(1)
	m.bind(someJob, waiter, epoch.Add(day))
	m.want(m.bind(someJob, waiter, epoch.Add(day)), nil, waiter)
	waiter.Run = jobs.Run{BeginText: "known now", Since: epoch.Add(time.Minute)}
	m.want(m.bind(someJob, waiter, epoch.Add(day)), nil, waiter)
	m.want(m.note(someJob, endAt(0), epoch.Add(day)), endAt(0), waiter)
}

func (m *rendezvousFixture) endAgain() {
	m.bind(someJob, waiterOf(1), epoch.Add(day))
	for range 3 {
		m.want(m.note(someJob, endAt(0), epoch.Add(day)), endAt(0), waiterOf(1))
	}
}

func (m *rendezvousFixture) release() {
	for i := range 4 {
		m.bind(someJob, waiterOf(i), epoch.Add(day))
	}
	m.mustRelease(someJob, waiterOf(0).Handle, waiterOf(2).Handle, "EQEBnobody")
	m.want(m.note(someJob, endAt(0), epoch.Add(day)), endAt(0), waiterOf(1), waiterOf(3))
	m.mustRelease(someJob, waiterOf(0).Handle)
	m.mustRelease(someJob)
	m.mustRelease(someJob, waiterOf(1).Handle, waiterOf(3).Handle)
	m.want(m.bind(someJob, waiterOf(2), epoch.Add(day)), endAt(0), waiterOf(2))
}

func (m *rendezvousFixture) releaseKeepsEnd() {
	m.note(someJob, endAt(0), epoch.Add(day))
	m.bind(someJob, waiterOf(1), epoch.Add(2*day))
	m.mustRelease(someJob, waiterOf(1).Handle)
	m.wantExpires(someJob, epoch.Add(2*day))
	m.want(m.bind(someJob, waiterOf(2), epoch.Add(day)), endAt(0), waiterOf(2))
}

func (m *rendezvousFixture) releaseUnknown() {
	m.mustRelease(someJob, waiterOf(1).Handle)
	m.wantExpires(someJob, time.Time{})
	m.want(m.note(someJob, endAt(0), epoch.Add(day)), endAt(0))
	m.wantExpires(someJob, epoch.Add(day))
}

func (m *rendezvousFixture) many() {
	const many = 50
	var waiters []resume.Waiter
	for i := range many {
		waiters = append(waiters, waiterOf(i))
		m.bind(someJob, waiterOf(many-1-i), epoch.Add(day))
	}
	m.want(m.note(someJob, endAt(0), epoch.Add(day)), endAt(0), waiters...)
	var handles []string
	for _, waiter := range waiters[1:] {
		handles = append(handles, waiter.Handle)
	}
	m.mustRelease(someJob, handles...)
	m.want(m.note(someJob, endAt(time.Second), epoch.Add(day)), endAt(time.Second), waiters[0])
}

func (m *rendezvousFixture) keys() {
	keys := []jobs.Key{someJob, otherJob}
	for _, change := range []func(*jobs.Key){
		func(k *jobs.Key) { k.Kind = "dms-task" },
		func(k *jobs.Key) { k.Account = "210987654321" },
		func(k *jobs.Key) { k.Region = "us-east-1" },
		func(k *jobs.Key) { k.Account, k.Region = "", "" },
		func(k *jobs.Key) { k.Name = "a name / with: spaces, \"quotes\", #, %2F, é and 日本" },
		func(k *jobs.Key) { k.Name = "a name / with: spaces, \"quotes\", #, /, é and 日本" },
		func(k *jobs.Key) { k.Region, k.Name = "x", "y:z" },
		func(k *jobs.Key) { k.Region, k.Name = "x:y", "z" },
		func(k *jobs.Key) { k.Region, k.Name = "x\x00y", "z" },
		func(k *jobs.Key) { k.Name += "/" },
		func(k *jobs.Key) { k.Name = "ARN:aws:batch:eu-central-1:123456789012:job/a" },
	} {
		key := someJob
		change(&key)
		keys = append(keys, key)
	}
	for i, key := range keys {
		m.want(m.bind(key, waiterOf(i), epoch.Add(day)), nil, waiterOf(i))
	}
	for i, key := range keys {
		m.want(m.note(key, endAt(time.Duration(i)), epoch.Add(day)), endAt(time.Duration(i)), waiterOf(i))
	}
}

func (m *rendezvousFixture) parked() {
	m.note(someJob, endAt(0), epoch.Add(day))
	m.wantExpires(someJob, epoch.Add(day))
	m.note(someJob, endAt(time.Second), epoch.Add(2*day))
	m.wantExpires(someJob, epoch.Add(day))
}

func (m *rendezvousFixture) expiryOfWaiter() {
	m.note(someJob, endAt(0), epoch.Add(day))
	m.bind(someJob, waiterOf(1), epoch.Add(90*day))
	m.wantExpires(someJob, epoch.Add(90*day))
	m.note(someJob, endAt(time.Second), epoch.Add(2*day))
	m.wantExpires(someJob, epoch.Add(90*day))

	m.bind(otherJob, waiterOf(1), epoch.Add(90*day))
	m.note(otherJob, endAt(time.Second), epoch.Add(2*day))
	m.wantExpires(otherJob, epoch.Add(90*day))
}

func (m *rendezvousFixture) longestExpiry() {
	for i, days := range []int{3, 5, 1} {
		m.bind(someJob, waiterOf(i), epoch.AddDate(0, 0, days))
	}
	m.wantExpires(someJob, epoch.Add(5*day))
	m.want(m.note(someJob, endAt(0), epoch.Add(day)), endAt(0), waiterOf(0), waiterOf(1), waiterOf(2))
}

// race runs f(0) to f(n-1) at once, which must not fail.
func (m *rendezvousFixture) race(n int, f func(i int) error) {
	m.Helper()
	errs := make([]error, n)
	together(n, func(i int) { errs[i] = f(i) })
	for i, err := range errs {
		if err != nil {
			m.Errorf("racer %d: %v", i, err)
		}
	}
}

func (m *rendezvousFixture) binders() {
	var all []resume.Waiter
	for i := range racers {
		all = append(all, waiterOf(i))
	}
	var met [racers]resume.JobRecord
	m.race(racers, func(i int) (err error) {
		met[i], err = m.store.Bind(m.Context(), someJob, waiterOf(i), epoch.Add(day))
		return err
	})
	m.want(m.note(someJob, endAt(0), epoch.Add(day)), endAt(0), all...)
	seen := map[int]bool{} // each step saw one waiter more than the one before
	for i := range racers {
		seen[len(met[i].Waiters)] = true
		if !slices.ContainsFunc(met[i].Waiters, func(w resume.Waiter) bool { return sameWaiter(w, waiterOf(i)) }) {
			m.Errorf("racer %d did not meet itself: %+v", i, met[i])
		}
	}
	if len(seen) != racers {
		m.Errorf("the racers met %d different crowds, want %d", len(seen), racers)
	}
}

func (m *rendezvousFixture) noters() {
	m.bind(someJob, waiterOf(0), epoch.Add(day))
	m.race(racers, func(i int) error {
		met, err := m.store.Note(m.Context(), someJob, *endAt(time.Duration(i)), epoch.Add(day))
		if err == nil && (met.End == nil || met.End.At.Before(epoch.Add(time.Duration(i))) || len(met.Waiters) != 1) {
			m.Errorf("racer %d met %+v", i, met)
		}
		return err
	})
	m.want(m.bind(someJob, waiterOf(0), epoch.Add(day)), endAt(racers-1), waiterOf(0))
}

// raceOfBoth: of a binder and an event at least one sees both.
func (m *rendezvousFixture) raceOfBoth() {
	var told resume.JobRecord
	var met [racers]resume.JobRecord
	m.race(racers+1, func(i int) (err error) {
		if i == racers {
			told, err = m.store.Note(m.Context(), someJob, *endAt(0), epoch.Add(day))
		} else {
			met[i], err = m.store.Bind(m.Context(), someJob, waiterOf(i), epoch.Add(day))
		}
		return err
	})
	for i := range racers {
		byEvent := slices.ContainsFunc(told.Waiters, func(w resume.Waiter) bool { return sameWaiter(w, waiterOf(i)) })
		if byBinder := sameEnd(met[i].End, endAt(0)); byEvent == byBinder {
			m.Errorf("waiter %d: seen by the event %t, and saw the event %t; want one of them", i, byEvent, byBinder)
		}
	}
}

func (m *rendezvousFixture) raceOfReleases() {
	m.bind(someJob, waiterOf(racers), epoch.Add(day))
	m.race(2*racers, func(i int) (err error) {
		if i < racers {
			_, err = m.store.Bind(m.Context(), someJob, waiterOf(i), epoch.Add(day))
			return err
		}
		return m.store.Release(m.Context(), someJob, []string{waiterOf(racers).Handle})
	})
	if met := m.note(someJob, endAt(0), epoch.Add(day)); len(met.Waiters) != racers {
		m.Errorf("%d wait, want %d", len(met.Waiters), racers)
	}
}

func (m *rendezvousFixture) cancelled() {
	ctx, cancel := context.WithCancel(m.Context())
	cancel()
	if _, err := m.store.Bind(ctx, someJob, waiterOf(1), epoch.Add(day)); err == nil {
		m.Error("bind: no error")
	}
	if _, err := m.store.Note(ctx, someJob, *endAt(0), epoch.Add(day)); err == nil {
		m.Error("note: no error")
	}
	if _, err := m.store.JobRecord(ctx, someJob); err == nil {
		m.Error("read: no error")
	}
	if err := m.store.Release(ctx, someJob, []string{waiterOf(1).Handle}); err == nil {
		m.Error("release: no error")
	}
}
