package local

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// target is a target that fails so many times.
type target struct {
	mu    sync.Mutex
	fails int
	err   error
	sent  []time.Duration // since it was made
	start time.Time
	gave  []string
}

func (n *target) Send(context.Context, engine.Notice) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sent = append(n.sent, time.Since(n.start))
	if n.fails--; n.fails >= 0 {
		return n.err
	}
	return nil
}

func (n *target) GaveUp(_ engine.Notice, why error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.gave = append(n.gave, why.Error())
}

// runNotified runs an execution of a flow without steps that tells the target, for a while, in a store.
func runNotified(t *testing.T, store *MemoryStore, n *target, start bool, during time.Duration) (system *System) {
	t.Helper()
	n.start = time.Now()
	config := Config{Store: store, CheckTarget: func(string) error { return nil }, Limits: machine.Limits{Retention: 30 * day}}
	if n.fails >= 0 {
		config.Notices = n
	}
	system = New(config)
	if start {
		ref, err := system.Client.PutFlow(t.Context(), "flow", []byte("version: v1\ntype: flow\nsteps: [{type: pass, name: P}]\n"))
		if err == nil {
			_, err = system.Start(t.Context(), engine.StartRequest{Flow: ref, Execution: "run", Notify: machine.Notify{Target: "https://example.org/"}})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), during)
	defer cancel()
	if err := system.Serve(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	return system
}

func undelivered(t *testing.T, system *System) []string {
	t.Helper()
	failures, err := system.Undelivered(t.Context(), engine.NewID("flow", "run"))
	if err != nil {
		t.Fatal(err)
	}
	return failures
}

// rules: NO-4
func TestANoticeIsRetriedWithBackOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := &target{fails: 3, err: errors.New("down")}
		system := runNotified(t, &MemoryStore{}, n, true, 2*time.Hour)
		want := []time.Duration{0, 5 * time.Second, 15 * time.Second, 35 * time.Second}
		if len(n.sent) != len(want) || n.sent[1] != want[1] || n.sent[2] != want[2] || n.sent[3] != want[3] {
			t.Errorf("sent after %s, want %s", n.sent, want)
		}
		if failures := undelivered(t, system); len(failures)+len(n.gave) > 0 {
			t.Errorf("given up: %v, %v", failures, n.gave)
		}
	})
}

// rules: NO-4 NO-8
func TestANoticeIsGivenUpAfterADay(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err   error
		tries int
		why   string
	}{
		"a target that is down for a day": {errors.New("down"), 33, "given up after 23h"},
		"a target that is gone":           {ErrTargetGone, 1, "given up after 0s: the target is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := &MemoryStore{}
				n := &target{fails: 1000, err: tt.err}
				system := runNotified(t, store, n, true, 50*time.Hour)
				failures := undelivered(t, system)
				if len(n.sent) != tt.tries || len(n.gave) != 1 || len(failures) != 1 || !strings.HasPrefix(failures[0], tt.why) {
					t.Errorf("%d tries, last after %s, given up %v, %v", len(n.sent), n.sent[len(n.sent)-1], n.gave, failures)
				}
				again := &target{}
				if runNotified(t, store, again, false, time.Hour); len(again.sent) > 0 {
					t.Error("the next process sends what was given up")
				}
			})
		})
	}
}

// rules: NO-2
//
// A process that ends between the end of an execution and its notice, or that sends none, leaves the notice to the next.
func TestTheNextProcessSendsTheNotice(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]*target{
		"the first cannot reach the target": {fails: 1000, err: errors.New("down")},
		"the first sends no notices":        {fails: -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store, second := &MemoryStore{}, &target{}
				runNotified(t, store, first, true, time.Minute)
				if runNotified(t, store, second, false, time.Minute); len(second.sent) != 1 {
					t.Errorf("sent %d times", len(second.sent))
				}
				if third := (&target{}); len(runNotified(t, store, third, false, time.Minute).notices.sending)+len(third.sent) > 0 {
					t.Error("sent again")
				}
			})
		})
	}
}

// rules: NO-2
//
// A process that dies between the terminal item and its notice leaves both to the next. Removal removes all.
func TestAnEndThatWasNotToldIsToldByTheNextProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &MemoryStore{}
		system := runNotified(t, store, &target{fails: -1}, true, time.Minute)
		id := engine.NewID("flow", "run")
		state, err := system.Client.Describe(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		list, err := store.NoticesOf(t.Context(), id)
		if err != nil || len(list) != 1 {
			t.Fatalf("%d notices, error %v", len(list), err)
		}
		// as if the process had died between the two
		if err := store.db.Commit(Entry{list[0].key(), nil}, untold(id)); err != nil {
			t.Fatal(err)
		}
		told := &target{}
		runNotified(t, store, told, false, time.Minute)
		if left, err := store.NoticesOf(t.Context(), id); len(told.sent) != 1 || err != nil || len(left) != 0 {
			t.Errorf("sent %d times, %d notices are left, error %v", len(told.sent), len(left), err)
		}
		if err := store.db.Commit(Entry{list[0].key(), noticeForm.encode(list[0])}, untold(id)); err != nil {
			t.Fatal(err)
		}
		if err := store.Remove(t.Context(), Ended{At: state.At.UTC(), Execution: id}); err != nil {
			t.Fatal(err)
		}
		if list, err := store.NoticesOf(t.Context(), id); err != nil || len(list) > 0 {
			t.Errorf("%d notices, error %v", len(list), err)
		}
	})
}

// rules: NO-2 NO-8
//
// A notice that was given up is sent for another day if the engine sends it again, as `waitless rearm --notices` makes it do.
func TestANoticeThatWasGivenUpIsSentAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, id := &MemoryStore{}, engine.NewID("flow", "run")
		runNotified(t, store, &target{fails: 1, err: ErrTargetGone}, true, time.Minute)
		list, err := store.NoticesOf(t.Context(), id)
		if err != nil || len(list) != 1 || list[0].Failure == "" {
			t.Fatalf("notices %+v, error %v", list, err)
		}
		since := time.Now()
		stored, err := store.AddNotice(t.Context(), StoredNotice{Notice: list[0].Notice, Since: since})
		if err != nil || stored.Failure != "" || !stored.Since.Equal(since) {
			t.Errorf("stored %+v, error %v", stored, err)
		}
		again := &target{}
		runNotified(t, store, again, false, time.Minute)
		if left, err := store.NoticesOf(t.Context(), id); len(again.sent) != 1 || err != nil || len(left) != 0 {
			t.Errorf("sent %d times, %d notices are left, error %v", len(again.sent), len(left), err)
		}
	})
}
