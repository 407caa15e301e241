package disk_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/internal/suite/resumetest"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/disk"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// process is a system over a store on disk, which may end at any commit.
type process struct {
	*local.System
	store *disk.Store
	clock *local.Clock
	calls int
	token string // what the last call was given as "token"

	limit  time.Duration // of its functions
	answer func(ctx context.Context, call machine.Call) (token.Outcome, error)
	ends   func(state machine.State) bool
	end    context.CancelFunc
	mu     sync.Mutex
}

var epoch = time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)

// begin is a process that takes over the store at an instant after the epoch.
func begin(t *testing.T, dir string, after time.Duration) *process {
	t.Helper()
	p := &process{clock: local.NewVirtualClock(epoch.Add(after)), end: func() {}}
	p.store = openDisk(t, dir)
	p.System = local.New(local.Config{Store: p.store, Clock: p.clock, Functions: p, Observer: p, Workers: 2})
	return p
}

func (p *process) Call(ctx context.Context, call machine.Call) (token.Outcome, error) {
	p.mu.Lock()
	p.calls++
	p.token = call.Input.Get("token").Text()
	p.mu.Unlock()
	if p.answer != nil {
		return p.answer(ctx, call)
	}
	return answered, nil
}

func (p *process) TimeLimits(_ context.Context, def *flow.Flow) (map[string]time.Duration, error) {
	limits := map[string]time.Duration{}
	for _, step := range def.All {
		if task, ok := step.Kind.(*flow.Task); ok {
			limits[task.Resource.Text] = p.limit
		}
	}
	return limits, nil
}

func (p *process) Calling(machine.Call, time.Time) {}

func (p *process) Committed(_ engine.ID, state machine.State, _ []machine.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ends != nil && p.ends(state) {
		p.end()
	}
}

// runUntil runs the process until a state is committed after which it ends,
// and gives the store free.
func (p *process) runUntil(t *testing.T, ends func(machine.State) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p.mu.Lock()
	p.ends, p.end = ends, cancel
	p.mu.Unlock()
	if err := p.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("the process ended with error %v", err)
	}
	p.shut(t)
}

func (p *process) shut(t *testing.T) {
	t.Helper()
	if err := p.store.Shut(); err != nil {
		t.Fatal(err)
	}
}

func (p *process) runToEnd(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := p.Run(ctx); err != nil {
		t.Fatal(err)
	}
}

func (p *process) want(t *testing.T, status machine.Status, failure string, took time.Duration) {
	t.Helper()
	state, err := p.Client.Describe(t.Context(), engine.NewID("flow", "one"))
	if err != nil {
		t.Fatal(err)
	}
	if state.Status != status || state.Error != failure || state.At.Sub(state.Started) != took {
		t.Errorf("it is %s, error %q (%s), after %s; want %s, %q after %s",
			state.Status, state.Error, state.Cause, state.At.Sub(state.Started), status, failure, took)
	}
	left, err := p.store.Unfinished(t.Context())
	if err != nil || (len(left) == 0) != status.Final() {
		t.Errorf("%d executions are unfinished, error %v", len(left), err)
	}
}

const (
	// later is when the second process takes over.
	later        = 20 * time.Minute
	atMostOnce   = "    atMostOnce: true\n"
	callbackTask = oneTask + "    pattern: waitForCallback\n    inputMappings:\n      - target: token\n        source: $context.task.token\n"
)

func waits(state machine.State) bool { return state.Waiting != nil }

func hang(ctx context.Context, _ machine.Call) (token.Outcome, error) {
	<-ctx.Done()
	return token.Outcome{}, ctx.Err()
}

func TestStartOfAnEarlierProcessBegins(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	p := begin(t, dir, 0)
	start(t, p.System, oneTask, "one")
	p.shut(t)
	p = begin(t, dir, later)
	p.runToEnd(t)
	p.want(t, machine.StatusSucceeded, "", later)
	if p.calls != 1 {
		t.Errorf("%d calls", p.calls)
	}
}

func TestATimerSurvivesARestart(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	p := begin(t, dir, 0)
	start(t, p.System, waitHour, "one")
	p.runUntil(t, waits)
	p = begin(t, dir, later)
	p.runToEnd(t)
	p.want(t, machine.StatusSucceeded, "", time.Hour)
}

func TestOverdueTimerIsDueAtOnce(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	p := begin(t, dir, 0)
	start(t, p.System, waitHour, "one")
	p.runUntil(t, waits)
	p = begin(t, dir, 5*time.Hour)
	p.runToEnd(t)
	p.want(t, machine.StatusSucceeded, "", 5*time.Hour)
}

// TestALongCallIsMadeAgain: the task was queued, and the queue is gone (rule
// 7). The process that died is known to be dead, so no process waits a minute.
func TestALongCallIsMadeAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		more    string
		limit   time.Duration
		during  bool // the first process ends during the call, not before it
		calls   int
		status  machine.Status
		failure string
		took    time.Duration
	}{
		"long":                         {"", time.Hour, false, 1, machine.StatusSucceeded, "", later},
		"long, begun":                  {"", time.Hour, true, 1, machine.StatusSucceeded, "", later},
		"long, at most once":           {atMostOnce, time.Hour, false, 1, machine.StatusSucceeded, "", later},
		"long, at most once and begun": {atMostOnce, time.Hour, true, 0, machine.StatusFailed, machine.ErrorTaskInterrupted, later},
		"claimed, at most once":        {atMostOnce, 0, false, 0, machine.StatusFailed, machine.ErrorTaskInterrupted, later},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "store")
			p := begin(t, dir, 0)
			p.limit, p.answer = c.limit, func(ctx context.Context, call machine.Call) (token.Outcome, error) {
				p.end()
				return hang(ctx, call)
			}
			start(t, p.System, oneTask+c.more, "one")
			p.runUntil(t, func(s machine.State) bool { return waits(s) && !c.during })
			p = begin(t, dir, later)
			p.limit = c.limit
			p.runToEnd(t)
			p.want(t, c.status, c.failure, c.took)
			if p.calls != c.calls {
				t.Errorf("the second process made %d calls, want %d", p.calls, c.calls)
			}
		})
	}
}

func TestALongCallThatItsRunLeftIsMadeByTheNextRun(t *testing.T) {
	t.Parallel()
	p := begin(t, filepath.Join(t.TempDir(), "store"), 0)
	p.limit = time.Hour
	start(t, p.System, oneTask, "one")
	ctx, cancel := context.WithCancel(t.Context())
	p.answer = func(ctx context.Context, call machine.Call) (token.Outcome, error) {
		cancel()
		return hang(ctx, call)
	}
	if err := p.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	p.answer = nil
	p.runToEnd(t)
	p.want(t, machine.StatusSucceeded, "", 0)
}

// closeElsewhere closes a token while no system runs.
func closeElsewhere(t *testing.T, dir, text string) {
	t.Helper()
	store := openDisk(t, dir)
	tokens := resume.NewTokens(resume.TokensConfig{
		Keys: resume.FixedKeys(store.Keys()), Store: store, Wakes: noWakes{}, Now: func() time.Time { return epoch.Add(later / 2) },
	})
	if answer, _, err := resumetest.Close(t.Context(), tokens, text, answered); err != nil || answer != resume.Closed {
		t.Errorf("the answer is %d, error %v", answer, err)
	}
	if err := store.Shut(); err != nil {
		t.Error(err)
	}
}

type noWakes struct{}

func (noWakes) Send(context.Context, token.ID, string, time.Time) error { return nil }

// waitingToken runs the process until ends, and is the token that is waited for
// then. The call that is given it may not have been made.
func (p *process) waitingToken(t *testing.T, ends func(machine.State) bool) (text string) {
	t.Helper()
	flow, problems := fdl.Parse([]byte(callbackTask))
	if flow == nil {
		t.Fatal(problems)
	}
	p.runUntil(t, func(s machine.State) bool {
		if !ends(s) {
			return false
		}
		var ok bool
		if text, ok = machine.Token(p.store.Keys(), flow, s); !ok {
			t.Error("it waits for no token")
		}
		return true
	})
	return text
}

func TestTokenClosedBetweenProcessesIsApplied(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]func(machine.State) bool{
		"submitted":     func(s machine.State) bool { return s.Waiting != nil && s.Waiting.Submitted() },
		"not submitted": waits,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "store")
			p := begin(t, dir, 0)
			start(t, p.System, callbackTask, "one")
			text := p.waitingToken(t, ends)
			closeElsewhere(t, dir, text)
			p = begin(t, dir, later)
			p.runToEnd(t)
			p.want(t, machine.StatusSucceeded, "", later)
			if p.calls != 0 {
				t.Errorf("%d calls", p.calls)
			}
		})
	}
}

// TestProcessWithItsClockAheadIsDead starts a first process whose clock is a day ahead. The second
// one does not wait for that instant: the generation says that the first is dead (rule 7).
func TestProcessWithItsClockAheadIsDead(t *testing.T) {
	t.Parallel()
	const ahead = 24 * time.Hour
	t.Run("a token closed between them is applied at once", func(t *testing.T) {
		t.Parallel()
		dir := filepath.Join(t.TempDir(), "store")
		p := begin(t, dir, ahead)
		start(t, p.System, callbackTask, "one")
		text := p.waitingToken(t, func(s machine.State) bool { return s.Waiting != nil && s.Waiting.Submitted() })
		closeElsewhere(t, dir, text)
		p = begin(t, dir, 0)
		p.runToEnd(t)
		p.wantAtOnce(t, machine.StatusSucceeded, "")
	})
	t.Run("a call that must not be repeated fails at once", func(t *testing.T) {
		t.Parallel()
		dir := filepath.Join(t.TempDir(), "store")
		p := begin(t, dir, ahead)
		p.limit, p.answer = time.Hour, func(ctx context.Context, call machine.Call) (token.Outcome, error) {
			p.end()
			return hang(ctx, call)
		}
		start(t, p.System, oneTask+atMostOnce, "one")
		p.runUntil(t, func(machine.State) bool { return false })
		p = begin(t, dir, 0)
		p.limit = time.Hour
		p.runToEnd(t)
		p.wantAtOnce(t, machine.StatusFailed, machine.ErrorTaskInterrupted)
		if p.calls != 0 {
			t.Errorf("the second process made %d calls", p.calls)
		}
	})
}

// wantAtOnce compares the end of the execution, and checks that this process did not wait for it.
func (p *process) wantAtOnce(t *testing.T, status machine.Status, failure string) {
	t.Helper()
	p.want(t, status, failure, 0)
	if waited := p.clock.Now().Sub(epoch); waited != 0 {
		t.Errorf("the process waited %s", waited)
	}
}

func TestAnOpenTokenWaitsOnAfterARestart(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	p := begin(t, dir, 0)
	start(t, p.System, callbackTask, "one")
	p.runToEnd(t)
	text := p.token
	p.want(t, machine.StatusRunning, "", 0)
	p.shut(t)
	p = begin(t, dir, later)
	p.runToEnd(t)
	p.want(t, machine.StatusRunning, "", 0)
	if _, _, err := resumetest.Close(t.Context(), p.Tokens, text, answered); err != nil {
		t.Fatal(err)
	}
	p.runToEnd(t)
	p.want(t, machine.StatusSucceeded, "", later)
}

func TestStopRequestedBetweenProcessesIsApplied(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	p := begin(t, dir, 0)
	start(t, p.System, waitHour, "one")
	p.runUntil(t, waits)
	p = begin(t, dir, later/2)
	if err := p.Stop(t.Context(), engine.NewID("flow", "one"), "Changed.Mind", "no longer wanted"); err != nil {
		t.Fatal(err)
	}
	p.shut(t) // its wake is gone
	p = begin(t, dir, later)
	p.runToEnd(t)
	p.want(t, machine.StatusStopped, "Changed.Mind", later)
}

func TestManyExecutionsAreRecovered(t *testing.T) {
	t.Parallel()
	const executions = 1500 // more than a page
	dir := filepath.Join(t.TempDir(), "store")
	p := begin(t, dir, 0)
	var starting sync.WaitGroup
	for i := range executions {
		starting.Go(func() { start(t, p.System, waitHour, fmt.Sprintf("run-%d", i)) })
	}
	starting.Wait()
	p.shut(t)
	p = begin(t, dir, later)
	p.runToEnd(t)
	for i := range executions {
		wantSucceeded(t, p.System, fmt.Sprintf("run-%d", i), later+time.Hour)
	}
}

// damage appends an item that cannot be read to the log of an execution.
func damage(t *testing.T, store *disk.Store, name string, body ...byte) {
	t.Helper()
	id := engine.NewID("flow", name)
	var seq uint64
	if latest, err := store.Latest(t.Context(), id); err == nil {
		seq = latest.Seq + 1
	}
	if err := store.Append(t.Context(), engine.Item{Execution: id, Seq: seq, Nonce: "damaged", Body: body}); err != nil {
		t.Fatal(err)
	}
}

// One execution that is damaged fails (rule 13). Others go on, and are listed.
func TestDamagedExecutionAffectsNoOther(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	p := begin(t, dir, 0)
	for _, name := range []string{"one", "two"} {
		start(t, p.System, waitHour, name)
	}
	waiting := map[string]bool{}
	p.runUntil(t, func(s machine.State) bool {
		if waits(s) {
			waiting[s.Execution] = true
		}
		return len(waiting) == 2
	})
	p = begin(t, dir, later)
	damage(t, p.store, "two", machine.Format, 0xff)
	damage(t, p.store, "three", machine.Format, 0xff) // and nothing else is known of it
	ids, _, err := p.store.Executions(t.Context(), engine.Selection{}, "", 10)
	if err != nil || len(ids) != 2 || !slices.Contains(ids, engine.NewID("flow", "one")) {
		t.Errorf("listed %v, %v", ids, err) // the reader of the list leaves out the other, which is damaged
	}
	p.runToEnd(t)
	wantSucceeded(t, p.System, "one", time.Hour)
	for _, name := range []string{"two", "three"} {
		state, err := p.Client.Describe(t.Context(), engine.NewID("flow", name))
		if err != nil || state.Status != machine.StatusFailed || state.Error != machine.ErrorInternal {
			t.Errorf("%s is %s, error %q, %v", name, state.Status, state.Error, err)
		}
	}
	ids, _, err = p.store.Executions(t.Context(), engine.Selection{Statuses: []machine.Status{machine.StatusFailed}}, "", 10)
	if err != nil || len(ids) != 2 || !slices.Contains(ids, engine.NewID("flow", "two")) || !slices.Contains(ids, engine.NewID("flow", "three")) {
		t.Errorf("listed %v, %v", ids, err)
	}
}

// TestExecutionOfANewerReleaseIsSkipped: the others of its store are continued
// and listed, and a wake for it ends nothing.
func TestExecutionOfANewerReleaseIsSkipped(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	p := begin(t, dir, 0)
	start(t, p.System, waitHour, "one")
	p.runUntil(t, waits)
	p = begin(t, dir, later)
	damage(t, p.store, "new", machine.Format+1)
	var blocked []error
	p.System = local.New(local.Config{
		Store: p.store, Clock: p.clock, Functions: p, Observer: p,
		Blocked: func(_ machine.FlowRef, _ string, why []error) { blocked = append(blocked, why...) },
	})
	if err := p.TakeOver(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(blocked) != 1 || !machine.NeedsNewerRelease(blocked[0]) {
		t.Errorf("blocked: %v", blocked)
	}
	now := p.clock.Now()
	text := p.store.Keys().Sign(token.ID{Execution: engine.NewID("flow", "new"), Number: 1, Expires: now.Add(time.Hour)})
	if _, _, err := resumetest.Close(t.Context(), p.Tokens, text, token.Success(value.Object())); err != nil { // which sends a wake
		t.Fatal(err)
	}
	p.runToEnd(t)
	wantSucceeded(t, p.System, "one", time.Hour)
	ids, _, err := p.store.Executions(t.Context(), engine.Selection{}, "", 10)
	if err != nil || !slices.Equal(ids, []engine.ID{engine.NewID("flow", "one")}) {
		t.Errorf("listed %v, error %v", ids, err)
	}
}

// TestATakeOverKeepsTheBoundOfCalls: the calls that a killed process left do not
// begin all at once in the next one.
func TestATakeOverKeepsTheBoundOfCalls(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]time.Duration{"direct": 0, "queued": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const executions, most = 40, 3
			dir := filepath.Join(t.TempDir(), "store")
			p := begin(t, dir, 0)
			p.limit = limit
			p.System = local.New(local.Config{Store: p.store, Clock: stoppedClock(0), Functions: p, Observer: p, Workers: 2})
			for i := range executions {
				start(t, p.System, oneTask, fmt.Sprintf("run-%d", i))
			}
			begun := make(chan struct{}, executions)
			ctx, cancel := context.WithCancel(t.Context())
			p.answer = func(ctx context.Context, call machine.Call) (token.Outcome, error) {
				begun <- struct{}{}
				return hang(ctx, call)
			}
			go func() {
				for range executions {
					<-begun
				}
				cancel()
			}()
			if err := p.Run(ctx); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			p.shut(t)
			p = begin(t, dir, later)
			p.limit = limit
			p.System = local.New(local.Config{Store: p.store, Clock: stoppedClock(later), Functions: p, Observer: p, Calls: most})
			var running, atOnce, calls int
			p.answer = func(context.Context, machine.Call) (token.Outcome, error) {
				note := func(change int) {
					p.mu.Lock()
					defer p.mu.Unlock()
					running += change
					calls += max(change, 0)
					atOnce = max(atOnce, running)
				}
				note(1)
				defer note(-1)
				time.Sleep(time.Millisecond) // so that they would meet
				return answered, nil
			}
			p.runToEnd(t)
			if left, err := p.store.Unfinished(t.Context()); err != nil || len(left) > 0 || atOnce > most || calls != executions {
				t.Errorf("%d calls, %d at once, %d executions left, error %v", calls, atOnce, len(left), err)
			}
		})
	}
}

// stoppedClock returns a clock that is not virtual: with a virtual one, the tasks of the queue run
// one after the other.
func stoppedClock(after time.Duration) *local.Clock {
	return local.NewClock(func() time.Time { return epoch.Add(after) })
}

// TestAnAwaitedCallIsMadeAgain: the process ends while a worker awaits the call. The next process
// makes the same call, and none whose result was committed.
func TestAnAwaitedCallIsMadeAgain(t *testing.T) {
	t.Parallel()
	again := strings.ReplaceAll(oneTask[strings.Index(oneTask, "  - "):], "name: Work", "name: Again")
	for name, c := range map[string]struct {
		flow, step string // whose call is interrupted
		isShown    bool   // in the log
	}{
		"before the log shows it":    {oneTask, "Work", false},
		"after the log shows it":     {oneTask, "Work", true},
		"after the result before it": {oneTask + again, "Again", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "store")
			var calls []string
			p := begin(t, dir, 0)
			p.limit, p.answer = machine.DefaultDirect, func(ctx context.Context, call machine.Call) (token.Outcome, error) {
				calls = append(calls, call.Step+" "+call.Key())
				if call.Step != c.step {
					return answered, nil
				}
				if !c.isShown {
					p.end()
				}
				return hang(ctx, call)
			}
			start(t, p.System, c.flow, "one")
			p.runUntil(t, func(machine.State) bool { return c.isShown })
			interrupted := len(calls) - 1
			p = begin(t, dir, later)
			p.limit, p.answer = machine.DefaultDirect, func(_ context.Context, call machine.Call) (token.Outcome, error) {
				calls = append(calls, call.Step+" "+call.Key())
				return answered, nil
			}
			p.runToEnd(t)
			p.want(t, machine.StatusSucceeded, "", later)
			if len(calls) != interrupted+2 || calls[interrupted] != calls[interrupted+1] {
				t.Errorf("the calls are %q; want only the last one twice", calls)
			}
		})
	}
}
