package sqs_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// fixedKeys are keys that do not change.
type fixedKeys token.Keys

func (k fixedKeys) Get(context.Context) (token.Keys, error)   { return token.Keys(k), nil }
func (k fixedKeys) Newer(context.Context) (token.Keys, error) { return token.Keys(k), nil }

// signedMessages are messages of each kind with a MAC outside of its payload.
func signedMessages(t *testing.T) map[string]string {
	t.Helper()
	f := newFixture(nil)
	queue := f.queue()
	queue.Keys = fixedKeys(keys)
	requests := &sqs.DeliveryRequests{Target: queue}
	for _, err := range []error{
		(&sqs.Notices{Target: queue}).Notify(t.Context(), engine.Notice{ID: "n", Target: "https://example.org", Body: "a<b\ufffe"}),
		requests.Send(t.Context(), token.ID{}, handle, now), requests.SendBeat(t.Context(), handle, now),
		(&sqs.Ends{Target: queue}).Ended(t.Context(), engine.ID{}, machine.State{Execution: "e"}),
		(&sqs.Polls{Target: queue}).Replay(t.Context(), jobs.Key{Name: "job"}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	messages := map[string]string{}
	for i, kind := range []string{"notice", "delivery", "heartbeat", "end", "replay"} {
		messages[kind] = f.bodies[i]
	}
	return messages
}

// receiveCounted handles a message, and returns how often a handler was called, and whether the
// message was discarded.
func receiveCounted(t *testing.T, body string) (calls int, discarded bool) {
	t.Helper()
	count := func() error { calls++; return nil } //nolint:unparam // the handlers return errors
	tasks := sqs.DecodeTasks(sqs.TaskHandlers{
		Keys: fixedKeys(keys), Now: func() time.Time { return now }, Ends: countedEnds{count},
		Deliver:   func(context.Context, string, time.Time) (time.Time, error) { return time.Time{}, count() },
		Heartbeat: func(context.Context, string) error { return count() },
		Notify:    func(context.Context, engine.Notice) error { return count() },
	})
	replays := sqs.DecodeJobs(sqs.JobHandlers{Keys: fixedKeys(keys), Replay: func(context.Context, jobs.Key) error { return count() }})
	f := newFixture(tasks)
	if strings.Contains(body, `"kind":"replay"`) {
		f = newFixture(replays)
	}
	kept := f.receive(t, body)
	return calls, kept == 0 && strings.Contains(f.log.String(), `"outcome":"discarded"`)
}

type countedEnds struct{ count func() error }

func (c countedEnds) Ended(context.Context, engine.ID, machine.State) error { return c.count() }

// A message with its MAC is handled, one of a release that writes no MAC too, and one that was
// changed is discarded.
func TestMACsOfMessages(t *testing.T) {
	t.Parallel()
	all := signedMessages(t)
	for kind, body := range all {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			unsigned, mac, ok := strings.Cut(body, `,"mac":"`)
			if !ok {
				t.Fatalf("%s has no MAC", body)
			}
			other := all["delivery"]
			if kind == "delivery" {
				other = all["heartbeat"]
			}
			_, otherMAC, _ := strings.Cut(other, `,"mac":"`)
			for name, tt := range map[string]struct {
				body  string
				calls int
			}{
				"signed":                 {body, 1},
				"of release 0.1.0":       {unsigned + "}", 1},
				"a changed payload":      {strings.Replace(body, `"payload":{`, `"payload":{"more":1,`, 1), 0},
				"a changed MAC":          {unsigned + `,"mac":"` + mac[:10] + "AAAA" + mac[14:], 0},
				"the MAC of another one": {unsigned + `,"mac":"` + otherMAC, 0},
				"no MAC but a text":      {unsigned + `,"mac":"x"}`, 0},
			} {
				calls, discarded := receiveCounted(t, tt.body)
				if calls != tt.calls || discarded != (tt.calls == 0) {
					t.Errorf("%s: %d calls, discarded %t", name, calls, discarded)
				}
			}
		})
	}
}
