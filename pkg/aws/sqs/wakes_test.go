package sqs_test

import (
	"context"
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/schedule"
	"github.com/waitless/waitless/pkg/token"
)

// recordedSchedule is a schedule that records its calls.
type recordedSchedule struct {
	name, body string
	at         time.Time
	err        error
}

func (s *recordedSchedule) At(_ context.Context, name string, at time.Time, body string) error {
	s.name, s.at, s.body = name, at, body
	return s.err
}

func newWakes(t *testing.T, f *fixture, s sqs.Schedule, limit time.Duration) *sqs.Wakes {
	t.Helper()
	return sqs.NewWakes(sqs.WakesConfig{Queue: f.queue(), Schedule: s, Limit: limit, Now: f.Now, Log: f.Log})
}

func TestSoonWakeIsDelayedAndLateWakeIsScheduled(t *testing.T) {
	t.Parallel()
	const none = -1
	for name, tt := range map[string]struct {
		limit, after time.Duration
		refuses      error
		delay        int32
		early        time.Duration // how long before its instant it is scheduled
	}{
		"past":                           {after: -time.Hour, delay: 0},
		"now":                            {after: 0, delay: 0},
		"a nanosecond":                   {after: 1, delay: 1},
		"the limit":                      {after: 900 * time.Second, delay: 900},
		"over the limit":                 {after: 900*time.Second + 1, delay: none, early: time.Minute},
		"two days":                       {after: 48 * time.Hour, delay: none, early: time.Minute},
		"a smaller limit":                {limit: 30 * time.Second, after: 30 * time.Second, delay: 30},
		"over a smaller limit":           {limit: 30 * time.Second, after: 31 * time.Second, delay: none, early: 15 * time.Second},
		"the schedule rejects it":        {after: time.Hour, refuses: errors.New("ThrottlingException"), delay: 900, early: time.Minute},
		"rejected, with a smaller limit": {limit: 30 * time.Second, after: time.Hour, refuses: errors.New("ValidationException"), delay: 30, early: 15 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, s := newFixture(nil), &recordedSchedule{err: tt.refuses}
			wake := wakeAfter(tt.after)
			if err := newWakes(t, f, s, tt.limit).Send(t.Context(), wake); err != nil {
				t.Fatal(err)
			}
			if tt.delay == none && (len(f.bodies) > 0 || s.body != encode(t, wake)) {
				t.Errorf("sent %q, scheduled %s", f.bodies, s.body)
			}
			if tt.delay != none && (len(f.bodies) != 1 || f.bodies[0] != encode(t, wake) || f.delays[0] != tt.delay) {
				t.Errorf("sent %q after %d s, want %d", f.bodies, f.delays, tt.delay)
			}
			if tt.early == 0 && s.name != "" || tt.early > 0 && !s.at.Equal(wake.Due.Add(-tt.early)) {
				t.Errorf("schedule %q at %s, want %s before %s", s.name, s.at, tt.early, wake.Due)
			}
			if logged := strings.Contains(f.log.String(), "no schedule"); logged != (tt.refuses != nil) {
				t.Errorf("the log is %s", f.log)
			}
		})
	}
}

func TestLateWakeWithoutScheduleUsesLongestDelay(t *testing.T) {
	t.Parallel()
	f := newFixture(nil)
	if err := newWakes(t, f, nil, 0).Send(t.Context(), wakeAfter(time.Hour)); err != nil || f.delays[0] != 900 {
		t.Errorf("delays %d, error %v", f.delays, err)
	}
}

func TestSendFailsIfQueueRejectsWake(t *testing.T) {
	t.Parallel()
	f := newFixture(nil)
	f.err = errors.New("denied")
	if err := newWakes(t, f, nil, 0).Send(t.Context(), wakeAfter(0)); !errors.Is(err, f.err) {
		t.Errorf("error %v", err)
	}
}

func TestScheduleName(t *testing.T) {
	t.Parallel()
	name := func(tag string, after time.Duration) string {
		s := &recordedSchedule{}
		wake := wakeAfter(after)
		wake.Cause = tag
		if err := newWakes(t, newFixture(nil), s, 0).Send(t.Context(), wake); err != nil {
			t.Fatal(err)
		}
		return s.name
	}
	first := name("tag", time.Hour)
	if !regexp.MustCompile(`^[0-9a-zA-Z-_.]{1,64}$`).MatchString(first) || !strings.HasPrefix(first, wakeAfter(0).Execution.String()) {
		t.Errorf("the name is %q", first)
	}
	if name("tag", time.Hour) != first {
		t.Error("the same timer has two names")
	}
	if name("gat", time.Hour) == first || name("tag", time.Hour+1) == first {
		t.Error("two timers have one name")
	}
}

// external records the handles that it is sent.
type external struct{ handles []string }

func (e *external) Send(_ context.Context, _ token.ID, handle string, _ time.Time) error {
	e.handles = append(e.handles, handle)
	return nil
}

func TestTokenWakes(t *testing.T) {
	t.Parallel()
	step, other := token.ID{Execution: [12]byte{1}}, token.ID{Execution: [12]byte{2}, Flags: token.FlagExternal | token.FlagSigned}
	f, e := newFixture(nil), &external{}
	w := newWakes(t, f, nil, 0)
	both := sqs.TokenWakes{Wakes: w, External: e}
	if err := both.Send(t.Context(), step, "step", now); err != nil || !strings.Contains(f.bodies[0], `"execution":"01`) || len(e.handles) != 0 {
		t.Errorf("sent %q and %q, error %v", f.bodies, e.handles, err)
	}
	if err := both.Send(t.Context(), other, "other", now); err != nil || len(f.bodies) != 1 || len(e.handles) != 1 || e.handles[0] != "other" {
		t.Errorf("sent %q and %q, error %v", f.bodies, e.handles, err)
	}
}

func TestBatchOfWakes(t *testing.T) {
	t.Parallel()
	one, other := wakeAfter(0), wakeAfter(0)
	other.Execution = engine.NewID("flow", "other")
	start, token := one, one
	start.Cause, start.Seq = machine.CauseStart, 0
	token.Cause, token.Seq = "AQEaaaaaaaaaaaaaaaaaaaaaaaaaaa", 0

	var mu sync.Mutex
	advanced := map[engine.ID][]string{}
	f := newFixture(sqs.DecodeWakes(func(_ context.Context, w engine.Wake) (engine.Disposition, error) {
		mu.Lock()
		defer mu.Unlock()
		if w.Receives != 2 {
			t.Errorf("receives is %d", w.Receives)
		}
		advanced[w.Execution] = append(advanced[w.Execution], w.Cause)
		switch w.Cause {
		case machine.CauseStart:
			return engine.Disposition{RetryAt: time.Now().Add(time.Hour), EarlyLooks: 2}, nil
		case token.Cause:
			return engine.Disposition{Unmapped: &engine.UnmappedSources{Mappings: []machine.UnmappedSource{
				{Step: "Ask", Mappings: "inputMappings", Target: "a", Source: `$local["b\""]`},
				{Mappings: "outputMappings", Target: "c", Source: "$local.d"},
			}}}, errors.New("broken")
		}
		return engine.Disposition{}, nil
	}, nil))
	response, err := f.Handle(t.Context(), batch(encode(t, start), encode(t, other), encode(t, token), "forged", encode(t, one), `{"v":2}`))
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for _, f := range response.BatchItemFailures {
		kept = append(kept, f.ItemIdentifier)
	}
	slices.Sort(kept)
	if !slices.Equal(kept, []string{"1", "3", "6"}) {
		t.Errorf("kept are %q", kept)
	}
	if got := advanced[one.Execution]; !slices.Equal(got, []string{start.Cause, token.Cause, one.Cause}) {
		t.Errorf("the wakes of one execution came as %q", got)
	}
	if got := advanced[other.Execution]; !slices.Equal(got, []string{other.Cause}) {
		t.Errorf("those of the other came as %q", got)
	}
	f.wantLog(t, map[string]int{
		`"cause":"start","outcome":"retry","receives":2`: 1, `"cause":"token","outcome":"failed","receives":2`: 1,
		`"absent":["step Ask: inputMappings: a <- $local[\"b\\\"\"]","the flow: outputMappings: c <- $local.d"]`: 1,
		`"cause":"timer","outcome":"done","receives":2`:                                                          2, `"outcome":"discarded"`: 1, `"early_looks":2`: 1,
		`"execution":"` + other.Execution.String() + `"`: 1, `"absent"`: 1, "\n": 6, token.Cause: 0,
	})
}

// A fork sends a wake to each lane, ten in a request.
func TestWakesOfLanesAreSentTogether(t *testing.T) {
	t.Parallel()
	f := newFixture(nil)
	wakes := make([]engine.Wake, 25)
	for i := range wakes {
		lane := machine.Lane{Parent: engine.NewID("flow", "one"), Attempt: 7, Index: i, Count: 25}
		wakes[i] = engine.Wake{Execution: lane.ID(), Lane: &lane, Cause: machine.CauseStart, Due: now, Sent: now}
	}
	target := sqs.NewWakes(sqs.WakesConfig{Queue: f.queue(), Now: func() time.Time { return now }})
	if err := target.SendAll(t.Context(), wakes); err != nil || !slices.Equal(f.batches, []int{10, 10, 5}) {
		t.Fatalf("batches of %v, error %v", f.batches, err)
	}
	var got []engine.Wake
	var mu sync.Mutex
	receiver := newFixture(sqs.DecodeWakes(func(_ context.Context, wake engine.Wake) (engine.Disposition, error) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, wake)
		return engine.Disposition{}, nil
	}, nil))
	receiver.receive(t, f.bodies...)
	slices.SortFunc(got, func(a, b engine.Wake) int { return a.Lane.Index - b.Lane.Index })
	for i := range got {
		got[i].Receives = 0
	}
	if !reflect.DeepEqual(got, wakes) {
		t.Errorf("received %+v, want %+v", got, wakes)
	}
	f.refused = 2
	if err := target.SendAll(t.Context(), wakes); err == nil || !strings.Contains(err.Error(), "messages not accepted: 1 of 10: Throttled: too many") {
		t.Errorf("error %v", err)
	}
}

// A firing is read as the sender filled it in, and one that would fail again is discarded.
func TestFirings(t *testing.T) {
	t.Parallel()
	text, err := sqs.EncodeFiring(schedule.Schedule{Flow: "f", Name: "nightly", Nonce: "n"}, "<minute>", 30)
	const want = `{"v":1,"kind":"firing","payload":{"flow":"f","schedule":"nightly","time":"<minute>","second":30,"nonce":"n"}}`
	if err != nil || text != want {
		t.Fatalf("encoded %s, %v", text, err)
	}
	retryAt := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for _, result := range []error{nil, errors.New("throttled"), engine.ErrNotFound, token.ErrForged} {
		work, err := sqs.DecodeWakes(nil, func(_ context.Context, due schedule.Firing) (time.Time, error) {
			if want := (schedule.Firing{Flow: "f", Name: "nightly", Nonce: "n", At: time.Date(2026, 1, 31, 10, 0, 30, 0, time.UTC)}); due != want {
				t.Errorf("fired %+v; want %+v", due, want)
			}
			return retryAt, result
		})(sqs.Message{Body: strings.Replace(text, "<minute>", "2026-01-31T10:00:00Z", 1)})
		if err != nil {
			t.Fatal(err)
		}
		got, err := work.Do(t.Context())
		if !got.Equal(retryAt) || !errors.Is(err, result) || errors.Is(err, sqs.ErrDiscard) != (result != nil && schedule.IsFinal(result)) {
			t.Errorf("%v: %v, %v", result, got, err)
		}
	}
}
