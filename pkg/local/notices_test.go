package local

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/local/store"
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

// runNotified runs an execution of a flow without steps that tells the target, for a while, in a
// store.
func runNotified(t *testing.T, store Store, n *target, start bool, during time.Duration) (system *System) {
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
		system := runNotified(t, &store.Memory{}, n, true, 2*time.Hour)
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
				store := &store.Memory{}
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
// A process that ends between the end of an execution and its notice, or that sends none, leaves
// the notice to the next.
func TestTheNextProcessSendsTheNotice(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]*target{
		"the first cannot reach the target": {fails: 1000, err: errors.New("down")},
		"the first sends no notices":        {fails: -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store, second := &store.Memory{}, &target{}
				runNotified(t, store, first, true, time.Minute)
				if runNotified(t, store, second, false, time.Minute); len(second.sent) != 1 {
					t.Errorf("sent %d times", len(second.sent))
				}
				if third := (&target{}); len(runNotified(t, store, third, false, time.Minute).notices.pending)+len(third.sent) > 0 {
					t.Error("sent again")
				}
			})
		})
	}
}

// unableToAdd is a store whose process ends while it adds a notice.
type unableToAdd struct{ *store.Memory }

func (unableToAdd) AddNotice(ctx context.Context, _ store.Notice) (store.Notice, error) {
	<-ctx.Done()
	return store.Notice{}, ctx.Err()
}

// rules: NO-2
//
// A process that dies between the terminal item, which notes that its end is not told yet, and its
// notice leaves both to the next.
func TestAnEndThatWasNotToldIsToldByTheNextProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		memory, told, id := &store.Memory{}, &target{}, engine.NewID("flow", "run")
		system := runNotified(t, unableToAdd{memory}, &target{}, true, time.Minute)
		state, err := system.Client.Describe(t.Context(), id)
		if err != nil || state.Status != machine.StatusSucceeded {
			t.Fatalf("it is %q, error %v", state.Status, err)
		}
		runNotified(t, memory, told, false, time.Minute)
		if left, err := memory.NoticesOf(t.Context(), id); len(told.sent) != 1 || err != nil || len(left) != 0 {
			t.Errorf("sent %d times, %d notices are left, error %v", len(told.sent), len(left), err)
		}
	})
}

// rules: NO-2
//
// The removal of an execution removes its notice, and the mark of an end that was not told.
func TestRemovalRemovesNotices(t *testing.T) {
	t.Parallel()
	for name, storeOf := range map[string]func(*store.Memory) Store{
		"a notice": func(m *store.Memory) Store { return m },
		"a mark":   func(m *store.Memory) Store { return unableToAdd{m} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				memory, id := &store.Memory{}, engine.NewID("flow", "run")
				system := runNotified(t, storeOf(memory), &target{fails: -1}, true, time.Minute)
				state, err := system.Client.Describe(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				if list, err := memory.NoticesOf(t.Context(), id); err != nil || len(list) != 1 {
					t.Fatalf("%d notices, error %v", len(list), err)
				}
				if err := memory.Remove(t.Context(), store.Ended{At: state.At.UTC(), Execution: id}); err != nil {
					t.Fatal(err)
				}
				if list, err := memory.NoticesOf(t.Context(), id); err != nil || len(list) > 0 {
					t.Errorf("%d notices, error %v", len(list), err)
				}
			})
		})
	}
}

// rules: NO-8
//
// A notice that is given up after the removal of its execution leaves nothing behind.
func TestAGivenUpNoticeOfARemovedExecutionIsGone(t *testing.T) {
	t.Parallel()
	memory, id := &store.Memory{}, engine.NewID("flow", "run")
	notice := store.Notice{Notice: engine.Notice{Execution: id, ID: "msg", Ended: true}, Failure: "given up"}
	if err := memory.SettleNotice(t.Context(), notice); err != nil {
		t.Fatal(err)
	}
	if left, err := memory.NoticesOf(t.Context(), id); err != nil || len(left) > 0 {
		t.Errorf("left are %+v, error %v", left, err)
	}
}

// rules: NO-2 NO-8
//
// A notice that was given up is sent for another day if the engine sends it again, as `waitless
// rearm --notices` makes it do.
func TestANoticeThatWasGivenUpIsSentAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		memory, id := &store.Memory{}, engine.NewID("flow", "run")
		runNotified(t, memory, &target{fails: 1, err: ErrTargetGone}, true, time.Minute)
		list, err := memory.NoticesOf(t.Context(), id)
		if err != nil || len(list) != 1 || list[0].Failure == "" {
			t.Fatalf("notices %+v, error %v", list, err)
		}
		since := time.Now()
		stored, err := memory.AddNotice(t.Context(), store.Notice{Notice: list[0].Notice, Since: since})
		if err != nil || stored.Failure != "" || !stored.Since.Equal(since) {
			t.Errorf("stored %+v, error %v", stored, err)
		}
		again := &target{}
		runNotified(t, memory, again, false, time.Minute)
		if left, err := memory.NoticesOf(t.Context(), id); len(again.sent) != 1 || err != nil || len(left) != 0 {
			t.Errorf("sent %d times, %d notices are left, error %v", len(again.sent), len(left), err)
		}
	})
}

// targets are targets by their URLs.
type targets map[string]func(ctx context.Context) error

func (m targets) Send(ctx context.Context, notice engine.Notice) error { return m[notice.Target](ctx) }

func (targets) GaveUp(engine.Notice, error) {}

// addNotices adds so many notices for a target, with bodies of that size.
func addNotices(tb testing.TB, memory *store.Memory, target string, count, size int) {
	tb.Helper()
	body := strings.Repeat("x", size)
	for i := range count {
		id := engine.NewID(target, fmt.Sprint(i))
		notice := engine.Notice{Execution: id, ID: fmt.Sprintf("end-%s-%d", target, i), Target: target, Body: body, Ended: true}
		if _, err := memory.AddNotice(tb.Context(), store.Notice{Notice: notice, Since: time.Now()}); err != nil {
			tb.Fatal(err)
		}
	}
}

// left counts the notices in a store.
func left(tb testing.TB, memory *store.Memory) int {
	tb.Helper()
	list, err := memory.Notices(tb.Context(), store.Notice{}, 1<<20)
	if err != nil {
		tb.Fatal(err)
	}
	return len(list)
}

// serveFor runs a system that sends notices, for a while.
func serveFor(tb testing.TB, memory *store.Memory, sender NoticeSender, during time.Duration) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), during)
	defer cancel()
	if err := New(Config{Store: memory, Notices: sender}).Serve(ctx); !errors.Is(err, context.DeadlineExceeded) {
		tb.Fatal(err)
	}
}

// rules: NO-17
//
// Undelivered notices take little memory and no goroutines, also in the next process.
//
//nolint:paralleltest // it measures the process
func TestUndeliveredNoticesTakeLittleMemory(t *testing.T) {
	const count, size = 10_000, 2_000
	const mostGoroutines, mostBytes = 100, count * 500 // of memory for each notice; the bodies take 20 MB
	synctest.Test(t, func(t *testing.T) {
		memory, tried := &store.Memory{}, atomic.Int64{}
		addNotices(t, memory, "https://dead.example/hook", count, size)
		dead := targets{"https://dead.example/hook": func(context.Context) error { tried.Add(1); return errors.New("refused") }}
		before, goroutines := heapBytes(), runtime.NumGoroutine()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- New(Config{Store: memory, Notices: dead}).Serve(ctx) }()
		time.Sleep(12 * time.Second)
		synctest.Wait()
		if n := runtime.NumGoroutine() - goroutines; n > mostGoroutines {
			t.Errorf("%d more goroutines, want %d at most", n, mostGoroutines)
		}
		if n := heapBytes() - before; n > mostBytes {
			t.Errorf("%d more bytes of memory, want %d at most", n, mostBytes)
		}
		if n := tried.Load(); n != 2*count {
			t.Errorf("%d tries, want %d", n, 2*count)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if n := left(t, memory); n != count {
			t.Errorf("%d notices are left, want %d", n, count)
		}
	})
}

func heapBytes() int {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}

// rules: NO-17
//
// A target that accepts connections and never responds delays no other, and gets fewer seconds and
// one notice at a time. Its notices are sent once it responds.
func TestATargetThatHangsDelaysNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const hangs, responds, patience = "https://hangs.example/hook", "https://responds.example/hook", 15 * time.Second
		memory, start := &store.Memory{}, time.Now()
		addNotices(t, memory, hangs, 80, 10)
		addNotices(t, memory, responds, 80, 10)
		var late, most, now atomic.Int64
		sender := targets{
			hangs: func(ctx context.Context) error {
				if time.Since(start) > time.Hour {
					return nil
				}
				if n := now.Add(1); time.Since(start) > patience {
					most.Store(max(most.Load(), n))
				}
				defer now.Add(-1)
				return engine.Sleep(ctx, patience)
			},
			responds: func(context.Context) error {
				if time.Since(start) > 0 {
					late.Add(1)
				}
				return nil
			},
		}
		sender[hangs] = failing(sender[hangs])
		serveFor(t, memory, sender, 4*time.Hour)
		if late.Load() > 0 || most.Load() > 1 {
			t.Errorf("%d notices to the target that responds came late; %d were sent at once to the other", late.Load(), most.Load())
		}
		if n := left(t, memory); n > 0 {
			t.Errorf("%d notices are left", n)
		}
	})
}

// failing makes a target that slept for the patience of the sender fail.
func failing(send func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		begin := time.Now()
		if err := send(ctx); err != nil || time.Since(begin) == 0 {
			return err
		}
		return context.DeadlineExceeded
	}
}

// rules: NO-17
//
// A target that failed and responds slowly from then on gets its notices all the same.
func TestASlowTargetRecovers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const slow = "https://slow.example/hook"
		memory, first := &store.Memory{}, true
		addNotices(t, memory, slow, 1, 10)
		serveFor(t, memory, targets{slow: func(ctx context.Context) error {
			if first {
				first = false
				return errors.New("down")
			}
			return engine.Sleep(ctx, 10*time.Second)
		}}, 10*time.Minute)
		if n := left(t, memory); n > 0 {
			t.Errorf("%d notices are left", n)
		}
	})
}

// BenchmarkUndeliveredNotices reports the memory of notices to a target that is down, without the
// store.
func BenchmarkUndeliveredNotices(b *testing.B) {
	const count = 100_000
	memory := &store.Memory{}
	addNotices(b, memory, "https://dead.example/hook", count, 100)
	for b.Loop() {
		before := heapBytes()
		system := New(Config{Store: memory, Notices: targets{}})
		if err := system.notices.take(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(heapBytes()-before)/count, "B/notice")
		runtime.KeepAlive(system)
	}
}
