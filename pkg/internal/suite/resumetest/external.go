package resumetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// Waits is a store of external waits and of the outcomes of their tokens.
type Waits interface {
	resume.ExternalWaits
	resume.TokenStore
}

// ExternalWaits is the suite of [resume.ExternalWaits]. Instants come back to the
// nanosecond.
func ExternalWaits(t *testing.T, open func(t *testing.T) Waits) {
	t.Helper()
	for name, test := range map[string]func(*waits){
		"an unknown wait is an error":                              (*waits).unknown,
		"the token of a step has no external wait":                 (*waits).ownToken,
		"every field comes back as it was given":                   (*waits).roundTrip,
		"the first wait under a handle stays":                      (*waits).first,
		"a wait comes with its token's record":                     (*waits).record,
		"the outcome may be any value":                             (*waits).anyValue,
		"a wait that is opened again after the end keeps the end":  (*waits).againAfterEnd,
		"the result of a delivery is recorded once":                (*waits).deliver,
		"a closed wait is listed until it was delivered":           (*waits).listed,
		"the list begins with the oldest and goes on after one":    (*waits).pages,
		"waits of the same instant are listed by their handles":    (*waits).sameInstant,
		"the list goes on after a wait that was delivered":         (*waits).pagesAfterDelivery,
		"of 64 concurrent openers one wins and all learn its wait": (*waits).race,
		"of 64 concurrent deliveries one stays":                    (*waits).raceOfDeliveries,
		"a concurrent opener and closer both succeed":              (*waits).raceWithCloser,
		"a cancelled context is an error":                          (*waits).cancelled,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(&waits{t, open(t)})
		})
	}
}

// waits is a case of the suite: a store, and the test that it reports to.
type waits struct {
	*testing.T
	store Waits
}

// waitAt is a wait that differs from instant to instant.
func waitAt(after time.Duration) resume.ExternalWait {
	id := token.ID{
		Execution: [12]byte{1, 2, 3}, Number: uint32(after), Flags: token.FlagExternal, Expires: epoch.Add(day).Truncate(time.Second), //nolint:gosec // small
	}
	keys := token.Keys{Current: token.Key{ID: 7}}
	return resume.ExternalWait{
		Handle: keys.Handle(id), Recipient: resume.RecipientStepFunctions, Sealed: fmt.Append(nil, "sealed \x00\xff ", after),
		Job: someJob, JobID: "id: \"of\" é/\n", Opened: epoch.Add(after), Deadline: epoch.Add(after).Add(time.Hour), Expires: id.Expires,
	}
}

func sameWait(a, b resume.ExternalWait) bool {
	return a.Handle == b.Handle && a.Recipient == b.Recipient && bytes.Equal(a.Sealed, b.Sealed) && a.Job == b.Job && a.JobID == b.JobID &&
		a.Opened.Equal(b.Opened) && a.Deadline.Equal(b.Deadline) && a.Expires.Equal(b.Expires) && a.Delivery == b.Delivery
}

// open opens the wait, which does not exist yet.
func (w *waits) open(wait resume.ExternalWait) {
	w.Helper()
	if got, err := w.store.Open(w.Context(), wait.Handle, wait); err != nil || !sameWait(got, wait) {
		w.Fatalf("opened as %+v, error %v; want %+v", got, err, wait)
	}
}

func (w *waits) want(want resume.ExternalWait, record token.Record) {
	w.Helper()
	got, held, err := w.store.ExternalWait(w.Context(), want.Handle)
	if err != nil || !sameWait(got, want) || !sameRecord(held, record) {
		w.Errorf("the wait is %+v with %+v, error %v; want %+v with %+v", got, held, err, want, record)
	}
}

func (w *waits) wantList(after string, limit int, want ...resume.ExternalWait) {
	w.Helper()
	got, err := w.store.List(w.Context(), after, limit)
	if err != nil || !slices.EqualFunc(got, want, sameWait) {
		w.Errorf("listed are %+v, error %v; want %+v", got, err, want)
	}
}

func (w *waits) delivered(wait resume.ExternalWait, delivery resume.Delivery) {
	w.Helper()
	if err := w.store.Deliver(w.Context(), wait.Handle, delivery); err != nil {
		w.Fatal(err)
	}
}

func (w *waits) unknown() {
	if _, _, err := w.store.ExternalWait(w.Context(), some); !errors.Is(err, resume.ErrNoWait) {
		w.Errorf("error %v, want ErrNoWait", err)
	}
	if err := w.store.Deliver(w.Context(), some, resume.DeliverySent); !errors.Is(err, resume.ErrNoWait) {
		w.Errorf("delivered: error %v, want ErrNoWait", err)
	}
	if _, _, err := w.store.ExternalWait(w.Context(), some); !errors.Is(err, resume.ErrNoWait) {
		w.Errorf("error %v, want ErrNoWait still", err)
	}
	w.wantList("", 10)
}

func (w *waits) ownToken() {
	mustClose(w.T, w.store, some, closing(success, 0))
	if _, _, err := w.store.ExternalWait(w.Context(), some); !errors.Is(err, resume.ErrNoWait) {
		w.Errorf("error %v, want ErrNoWait", err)
	}
	if err := w.store.Deliver(w.Context(), some, resume.DeliverySent); !errors.Is(err, resume.ErrNoWait) {
		w.Errorf("delivered: error %v, want ErrNoWait", err)
	}
	w.wantList("", 10)
}

func (w *waits) roundTrip() {
	callback := waitAt(2)
	callback.Recipient, callback.Job, callback.JobID = resume.RecipientDurable, jobs.Key{}, ""
	large := waitAt(3)
	large.Sealed = bytes.Repeat([]byte{0, 0xff, 0x80}, 1000)
	large.Job.Name = "a name / with: spaces, \"quotes\", #, %2F, é and 日本"
	for _, wait := range []resume.ExternalWait{waitAt(1), callback, large} {
		w.open(wait)
		w.want(wait, token.Record{})
	}
	w.wantList("", 10, waitAt(1), callback, large)
}

func (w *waits) first() {
	first, second := waitAt(1), waitAt(1)
	second.Sealed, second.JobID, second.Opened = []byte("another"), "another", epoch.Add(time.Hour)
	w.open(first)
	if got, err := w.store.Open(w.Context(), second.Handle, second); err != nil || !sameWait(got, first) {
		w.Errorf("opened as %+v, error %v; want the first one", got, err)
	}
	w.want(first, token.Record{})
	w.wantList("", 10, first)
}

func (w *waits) record() {
	wait := waitAt(1)
	w.open(wait)
	w.want(wait, mustBeat(w.T, w.store, wait.Handle, epoch))
	w.want(wait, mustClose(w.T, w.store, wait.Handle, closing(failure, time.Second)))
	w.want(wait, mustClose(w.T, w.store, wait.Handle, closing(success, time.Minute)))
}

func (w *waits) anyValue() {
	for i, output := range []value.Value{value.Null(), value.String("a \"text\" \x00 é"), value.Array(value.Bool(false)), value.Object()} {
		wait := waitAt(time.Duration(i))
		w.open(wait)
		record := mustClose(w.T, w.store, wait.Handle, closing(token.Success(output), 0))
		if record.Open() || record.Outcome.Failed() || !value.Equal(record.Outcome.Output, output) {
			w.Errorf("%s came back as %+v", output.JSON(), record.Outcome)
		}
		w.want(wait, record)
	}
}

func (w *waits) againAfterEnd() {
	wait := waitAt(1)
	w.open(wait)
	record := mustClose(w.T, w.store, wait.Handle, closing(success, 0))
	w.delivered(wait, resume.DeliverySent)
	wait.Delivery = resume.DeliverySent
	if got, err := w.store.Open(w.Context(), wait.Handle, waitAt(1)); err != nil || !sameWait(got, wait) {
		w.Errorf("opened as %+v, error %v; want the one that was delivered", got, err)
	}
	w.want(wait, record)
	w.wantList("", 10)
}

func (w *waits) deliver() {
	wait := waitAt(1)
	w.open(wait)
	record := mustClose(w.T, w.store, wait.Handle, closing(success, 0))
	wait.Delivery = resume.DeliveryGone
	for _, delivery := range []resume.Delivery{resume.DeliveryGone, resume.DeliverySent, resume.DeliveryGone} {
		w.delivered(wait, delivery)
		w.want(wait, record)
	}
}

func (w *waits) listed() {
	wait := waitAt(1)
	w.open(wait)
	w.wantList("", 10, wait)
	mustBeat(w.T, w.store, wait.Handle, epoch)
	w.wantList("", 10, wait)
	mustClose(w.T, w.store, wait.Handle, closing(success, 0))
	w.wantList("", 10, wait)
	w.delivered(wait, resume.DeliverySent)
	w.wantList("", 10)
}

func (w *waits) pages() {
	const many = 7
	var all []resume.ExternalWait
	for i := range many {
		all = append(all, waitAt(time.Duration(i)))
		w.open(waitAt(many - 1 - time.Duration(i)))
	}
	w.wantList("", many+1, all...)
	w.wantList("", 3, all[:3]...)
	w.wantList(all[2].Handle, 3, all[3:6]...)
	w.wantList(all[5].Handle, 3, all[6:]...)
	w.wantList(all[6].Handle, 3)
	if list, err := w.store.List(w.Context(), waitAt(99).Handle, 3); !errors.Is(err, resume.ErrNoWait) {
		w.Errorf("after a handle of no wait: %+v, error %v", list, err)
	}
}

func (w *waits) sameInstant() {
	var all []resume.ExternalWait
	for i := range 5 {
		wait := waitAt(time.Duration(i))
		wait.Opened = epoch
		all = append(all, wait)
		w.open(wait)
	}
	slices.SortFunc(all, func(a, b resume.ExternalWait) int { return bytes.Compare([]byte(a.Handle), []byte(b.Handle)) })
	w.wantList("", 2, all[:2]...)
	w.wantList(all[1].Handle, 10, all[2:]...)
}

func (w *waits) pagesAfterDelivery() {
	all := []resume.ExternalWait{waitAt(1), waitAt(2), waitAt(3)}
	for _, wait := range all {
		w.open(wait)
	}
	w.wantList("", 2, all[:2]...)
	mustClose(w.T, w.store, all[1].Handle, closing(success, 0))
	w.delivered(all[1], resume.DeliverySent)
	w.wantList(all[1].Handle, 2, all[2])
	w.wantList("", 10, all[0], all[2])
}

func (w *waits) race() {
	var told [racers]resume.ExternalWait
	var errs [racers]error
	together(racers, func(i int) {
		wait := waitAt(1)
		wait.JobID = fmt.Sprint("opener ", i)
		told[i], errs[i] = w.store.Open(w.Context(), wait.Handle, wait)
	})
	for i := range racers {
		if errs[i] != nil || !sameWait(told[i], told[0]) {
			w.Errorf("opener %d was told %+v, error %v; another %+v", i, told[i], errs[i], told[0])
		}
	}
	w.want(told[0], token.Record{})
	w.wantList("", 10, told[0])
}

func (w *waits) raceOfDeliveries() {
	wait := waitAt(1)
	w.open(wait)
	record := mustClose(w.T, w.store, wait.Handle, closing(success, 0))
	together(racers, func(i int) {
		if err := w.store.Deliver(w.Context(), wait.Handle, resume.Delivery(fmt.Sprint("delivery ", i))); err != nil {
			w.Error(err)
		}
	})
	got, _, err := w.store.ExternalWait(w.Context(), wait.Handle)
	if err != nil || got.Delivery == "" {
		w.Fatalf("the wait is %+v, error %v", got, err)
	}
	w.delivered(wait, resume.DeliveryGone)
	w.want(got, record)
	w.wantList("", 10)
}

// raceWithCloser: a wait that is opened again races with a close of its token.
func (w *waits) raceWithCloser() {
	wait := waitAt(1)
	together(racers, func(i int) {
		var err error
		if i%2 == 0 {
			_, err = w.store.Open(w.Context(), wait.Handle, wait)
		} else {
			_, err = w.store.Close(w.Context(), wait.Handle, closing(success, 0))
		}
		if err != nil {
			w.Error(err)
		}
	})
	record := closing(success, 0).Apply(token.Record{})
	w.want(wait, record)
	w.wantList("", 10, wait)
}

func (w *waits) cancelled() {
	ctx, cancel := context.WithCancel(w.Context())
	cancel()
	wait := waitAt(1)
	if _, err := w.store.Open(ctx, wait.Handle, wait); err == nil {
		w.Error("open: no error")
	}
	if _, _, err := w.store.ExternalWait(ctx, wait.Handle); err == nil || errors.Is(err, resume.ErrNoWait) {
		w.Errorf("wait: error %v", err)
	}
	if err := w.store.Deliver(ctx, wait.Handle, resume.DeliverySent); err == nil || errors.Is(err, resume.ErrNoWait) {
		w.Errorf("deliver: error %v", err)
	}
	if _, err := w.store.List(ctx, "", 1); err == nil {
		w.Error("list: no error")
	}
}
