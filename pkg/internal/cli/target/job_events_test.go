package target

import (
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// An event that is parked when it arrives is matched once its job has a waiter.
func TestAParkedEventIsMatchedLater(t *testing.T) {
	t.Parallel()
	store := &store.Memory{}
	system := local.New(local.Config{Store: store})
	text, err := os.ReadFile("../../../../events/batch-callback/succeeded.json")
	if err != nil {
		t.Fatal(err)
	}
	l := &eventLog{system: system, stored: storedEvents(system), log: slog.New(slog.DiscardHandler)}
	for _, id := range []string{"a", "b"} {
		now := time.Now().UTC().Format(time.RFC3339)
		event := strings.NewReplacer("{job_key}", "arn:aws:batch:us-east-1:123456789012:job/"+id, "{job_id}", id, "{time}", now).Replace(string(text))
		if result, refused := l.accept(t.Context(), []byte(event)); refused != nil || result.Result != rest.EventParked {
			t.Fatalf("%+v, %+v", result, refused)
		}
	}
	want := func(results ...string) []rest.JobEvent {
		t.Helper()
		page, err := l.List(t.Context(), "", 10)
		if err != nil || len(page.Events) != 2 || page.Events[0].Result != results[0] || page.Events[1].Result != results[1] {
			t.Fatalf("%+v, error %v; want %q", page, err, results)
		}
		return page.Events
	}
	events := want(rest.EventParked, rest.EventParked)
	if _, err := store.Bind(t.Context(), events[1].Key(), resume.Waiter{Handle: "handle"}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	closing := token.CloseOp{Outcome: token.Failure("Stopped", ""), By: token.ClosedByHand, At: time.Now().Add(-time.Hour)}
	if _, err := store.Close(t.Context(), "ended", closing); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Bind(t.Context(), events[0].Key(), resume.Waiter{Handle: "ended"}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	want(rest.EventParked, rest.EventMatched) // the wait of the first ended before its event came
	if page, err := l.List(t.Context(), storedPage, 10); err != nil || len(page.Events) != 0 || page.Next != "" {
		t.Errorf("events that the process received are listed twice: %+v, error %v", page, err)
	}
}
