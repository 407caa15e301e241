package disk_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/internal/suite/resumetest"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/disk"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

const (
	waitDays     = "version: v1\ntype: flow\nsteps:\n  - {type: wait, name: Wait, duration: 172800}\n"
	branch       = "      - steps:\n          - {type: task, name: %s, resourceArn: 'acs:fc:::services/s/functions/work', pattern: waitForCallback}\n"
	twoCallbacks = "version: v1\ntype: flow\nsteps:\n  - type: parallel\n    name: Both\n    branches:\n"
)

// watchedStore reports when the log of an execution is read for the first time: when it is adopted.
type watchedStore struct {
	*disk.Store
	before func(execution string)

	mu   sync.Mutex
	left map[engine.ID]string
}

func (w *watchedStore) Latest(ctx context.Context, id engine.ID) (engine.Item, error) {
	w.mu.Lock()
	name, isFirst := w.left[id]
	delete(w.left, id)
	w.mu.Unlock()
	if isFirst {
		w.before(name)
	}
	return w.Store.Latest(ctx, id)
}

// successor is a process in real time that takes over executions.
type successor struct {
	*process
	stop      func() // ends it
	takenOver chan struct{}
	commits   map[string]int // by log
}

func (s *successor) Committed(_ engine.ID, state machine.State, _ []machine.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commits[logName(state)]++
}

// logName returns the name of an execution, with the index of a lane: "run/1".
func logName(state machine.State) string {
	if state.Lane == nil {
		return state.Execution
	}
	return fmt.Sprint(state.Execution, "/", state.Lane.Index)
}

// succeed serves the store at an instant until the test ends. Before is called before an execution
// with one of these names is adopted.
func succeed(t *testing.T, store *disk.Store, now func() time.Time, tasks engine.Caller, before func(execution string), names ...string) *successor {
	t.Helper()
	watched := &watchedStore{Store: store, before: before, left: map[engine.ID]string{}}
	for _, name := range names {
		watched.left[engine.NewID("flow", name)] = name
	}
	s := &successor{process: &process{store: store, clock: local.NewClock(now), end: func() {}}, takenOver: make(chan struct{}), commits: map[string]int{}}
	if tasks == nil {
		tasks = s
	}
	s.System = local.New(local.Config{
		Store: watched, Clock: s.clock, Functions: tasks, Observer: s, Workers: 2, TakenOver: func() { close(s.takenOver) },
	})
	ctx, cancel := context.WithCancel(t.Context())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := s.Serve(ctx); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	s.stop = func() {
		cancel()
		serving.Wait()
	}
	t.Cleanup(s.stop)
	return s
}

// awaitEnd waits until an execution succeeds.
func (s *successor) awaitEnd(t *testing.T, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if state, err := s.Await(ctx, engine.NewID("flow", name)); err != nil || state.Status != machine.StatusSucceeded {
		t.Errorf("%s is %s (%s), error %v", name, state.Status, state.Cause, err)
	}
}

func (s *successor) succeedToken(t *testing.T, text string) {
	t.Helper()
	if _, _, err := resumetest.Close(t.Context(), s.Tokens, text, answered); err != nil {
		t.Fatal(err)
	}
}

// predecessor starts executions of flows by their names, and ends when so many logs wait. It
// returns the store, and the tokens that are waited for, by execution and step.
func predecessor(t *testing.T, store *disk.Store, flows map[string]string, waiting int) (tokens map[string]string) {
	t.Helper()
	p := &process{clock: local.NewVirtualClock(epoch), end: func() {}, store: store}
	p.answer = func(context.Context, machine.Call) (token.Outcome, error) { return answered, nil }
	p.System = local.New(local.Config{Store: store, Clock: p.clock, Functions: p, Observer: p})
	names := make([]string, 0, len(flows))
	for name := range flows {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		start(t, p.System, flows[name], name)
	}
	states := map[string]machine.State{}
	p.runUntil(t, func(state machine.State) bool {
		if w := state.Waiting; w != nil && (w.Submitted() || w.For == machine.WaitingForInstant) {
			states[logName(state)] = state
		}
		return len(states) == waiting
	})
	tokens = map[string]string{}
	for name, state := range states {
		if text, ok := p.store.Keys().SignAgain(state.Waiting.Handle()); ok {
			tokens[name] = text
		}
	}
	return tokens
}

// patience is how long a test waits for what happens at once.
const patience = time.Minute

// within returns when the signal comes, or fails the test after a while.
func within(t *testing.T, signal <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-signal:
	case <-time.After(patience):
		t.Fatalf("%s does not come within %s", what, patience)
	}
}

func afterTwoHours() time.Time { return epoch.Add(2 * time.Hour) }

// held returns what to call before an execution is adopted so that one of them waits for release.
func held(name string) (before func(execution string), reached chan struct{}, release func()) {
	reached, free := make(chan struct{}), make(chan struct{})
	return func(execution string) {
		if execution == name {
			close(reached)
			<-free
		}
	}, reached, sync.OnceFunc(func() { close(free) })
}

// TestProcessServesBeforeAllIsTakenOver starts an execution, and closes tokens of others, while one
// is being adopted. Each of them is adopted before anything else happens to it, and once.
func TestProcessServesBeforeAllIsTakenOver(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	tokens := predecessor(t, openDisk(t, dir), map[string]string{
		"first": waitHour, "asked": callbackToWork, "forked": twoCallbacks + fmt.Sprintf(branch, "A") + fmt.Sprintf(branch, "B"), "days": waitDays,
	}, 5)
	before, reached, release := held("first")
	defer release()
	s := succeed(t, openDisk(t, dir), afterTwoHours, nil, before, "first")
	within(t, reached, "the adoption of the first execution")
	start(t, s.System, passOnly, "new")
	s.awaitEnd(t, "new")
	for _, key := range []string{"asked", "forked/0"} {
		s.succeedToken(t, tokens[key])
	}
	s.awaitEnd(t, "asked")
	release()
	within(t, s.takenOver, "the end of the take-over")
	s.awaitEnd(t, "first")
	s.succeedToken(t, tokens["forked/1"])
	s.awaitEnd(t, "forked")
	if s.calls != 1 {
		t.Errorf("%d calls, want that of the execution that was asked", s.calls)
	}
	want := map[string]int{"new": 2, "first": 1, "asked": 2, "forked": 1, "forked/0": 1, "forked/1": 1}
	if s.stop(); !maps.Equal(s.commits, want) {
		t.Errorf("commits: %v, want %v", s.commits, want)
	}
}

// TestTokenOfAnExecutionThatCannotContinue closes the token of an execution without a runner while
// another one is being adopted. The next process with the runner continues it.
func TestTokenOfAnExecutionThatCannotContinue(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	tokens := predecessor(t, openDisk(t, dir), map[string]string{"first": waitHour, "asked": callbackToWork}, 2)
	before, reached, release := held("first")
	defer release()
	store := openDisk(t, dir)
	tasks, err := local.NewFunctions(&local.Clock{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := succeed(t, store, afterTwoHours, tasks, before, "first")
	within(t, reached, "the adoption of the first execution")
	s.succeedToken(t, tokens["asked"])
	release()
	within(t, s.takenOver, "the end of the take-over")
	s.awaitEnd(t, "first")
	if s.stop(); s.commits["asked"] > 0 {
		t.Errorf("commits: %v", s.commits)
	}
	store = reopen(t, store, dir)
	s = succeed(t, store, afterTwoHours, nil, func(string) {})
	s.awaitEnd(t, "asked")
	if s.calls != 1 {
		t.Errorf("%d calls", s.calls)
	}
}

// TestOrderOfATakeOver: first what is due, then what may have got an outcome, then the rest in the
// order of time. A timer that becomes due meanwhile is handled next.
func TestOrderOfATakeOver(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	store := openDisk(t, dir)
	limited := func(seconds int) string {
		return oneTask + fmt.Sprintf("    pattern: waitForCallback\n    timeoutSeconds: %d\n", seconds)
	}
	wait := func(seconds int) string {
		return fmt.Sprintf("version: v1\ntype: flow\nsteps:\n  - {type: wait, name: Wait, duration: %d}\n", seconds)
	}
	predecessor(t, store, map[string]string{
		"soon": wait(5), "overdue-1": wait(60), "overdue-2": wait(3600), "overdue-token": limited(1800), "token-1": limited(7300),
		"token-2": limited(90000), "token-3": callbackTask, "became-due": wait(7201), "later-1": wait(8000), "later-2": wait(100000),
	}, 10)
	store = openDisk(t, dir)
	start(t, local.New(local.Config{Store: &watchedStore{Store: store}, Clock: local.NewVirtualClock(epoch)}), passOnly, "starting")
	if err := store.Shut(); err != nil {
		t.Fatal(err)
	}
	var now atomic.Int64
	now.Store(int64(2 * time.Hour))
	var got []string
	want := []string{"starting", "soon", "overdue-1", "overdue-token", "overdue-2", "token-1", "became-due", "token-2", "token-3", "later-1", "later-2"}
	s := succeed(t, openDisk(t, dir), func() time.Time { return epoch.Add(time.Duration(now.Load())) }, nil, func(execution string) {
		got = append(got, execution)
		if execution == "token-1" {
			now.Add(int64(2 * time.Second))
		}
	}, want...)
	within(t, s.takenOver, "the end of the take-over")
	if slices.Sort(got[:2]); !slices.Equal(got, append([]string{"soon"}, append([]string{"starting"}, want[2:]...)...)) {
		t.Errorf("adopted in the order %q, want %q", got, want)
	}
}

// TestNothingIsLostByACrashOfATakeOver cuts the power while executions are adopted, of which each
// is about to call a function. The next process continues them all, and calls the function for
// those that had not ended.
func TestNothingIsLostByACrashOfATakeOver(t *testing.T) {
	t.Parallel()
	const executions = 20
	fs := vfs.NewCrashableMem()
	store := openOn(t, fs)
	flows := map[string]string{}
	var names []string
	for i := range executions {
		names = append(names, fmt.Sprintf("run-%d", i))
		flows[names[i]] = waitThenWork
	}
	predecessor(t, store, flows, executions)
	var crashed []*vfs.MemFS
	s := succeed(t, openOn(t, fs), afterTwoHours, nil, func(string) {
		crashed = append(crashed, fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: len(crashed) % 3 * 50, RNG: rand.New(rand.NewPCG(1, 2))}))
	}, names...)
	within(t, s.takenOver, "the end of the take-over")
	if len(crashed) != executions {
		t.Fatalf("%d crashes, want %d", len(crashed), executions)
	}
	for _, lost := range crashed {
		store := openOn(t, lost)
		list, err := store.Unfinished(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		next := succeed(t, store, afterTwoHours, nil, func(string) {})
		for _, name := range names {
			next.awaitEnd(t, name)
		}
		if next.calls != len(list) {
			t.Errorf("%d calls for %d executions that had not ended", next.calls, len(list))
		}
	}
}

// TestNextRunGoesOnWithATakeOver ends a run in the middle of a take-over. The next one of the same
// process continues there.
func TestNextRunGoesOnWithATakeOver(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	predecessor(t, openDisk(t, dir), map[string]string{"one": waitThenWork, "two": waitThenWork, "three": waitThenWork}, 3)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := &process{store: openDisk(t, dir), end: func() {}}
	watched := &watchedStore{Store: p.store, before: func(string) { cancel() }, left: map[engine.ID]string{engine.NewID("flow", "one"): "one"}}
	p.System = local.New(local.Config{Store: watched, Clock: local.NewClock(afterTwoHours), Functions: p, Observer: p})
	if err := p.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	p.runToEnd(t)
	for _, name := range []string{"one", "two", "three"} {
		wantSucceeded(t, p.System, name, 2*time.Hour)
	}
	if p.calls != 3 {
		t.Errorf("%d calls, want 3", p.calls)
	}
}
