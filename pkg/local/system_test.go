package local_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/internal/suite/enginetest"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

const (
	waitHour = "version: v1\ntype: flow\nsteps:\n  - type: wait\n    name: Hour\n    duration: 3600\n"
	oneTask  = "version: v1\ntype: flow\nsteps:\n  - type: task\n    name: Work\n    resourceArn: acs:fc:::services/s/functions/work\n"
	passOnly = "version: v1\ntype: flow\nsteps:\n  - type: pass\n    name: Only\n"
)

func start(t *testing.T, s *local.System, flow, name string) engine.StartResult {
	t.Helper()
	put, err := s.Client.PutFlow(t.Context(), "flow", []byte(flow))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := s.Start(t.Context(), engine.StartRequest{Flow: put, Execution: name})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func wantSucceeded(t *testing.T, s *local.System, name string, took time.Duration) {
	t.Helper()
	state, err := s.Client.Describe(t.Context(), engine.NewID("flow", name))
	if err != nil {
		t.Fatal(err)
	}
	if state.Status != machine.StatusSucceeded || state.At.Sub(state.Started) != took {
		t.Errorf("%s is %s after %s, want Succeeded after %s", name, state.Status, state.At.Sub(state.Started), took)
	}
}

// tasksFunc is one function for all names.
type tasksFunc func(ctx context.Context) (token.Outcome, error)

func (f tasksFunc) Call(ctx context.Context, _ machine.Call) (token.Outcome, error) {
	return f(ctx)
}

func (tasksFunc) TimeLimits(context.Context, *flow.Flow) (map[string]time.Duration, error) {
	return nil, nil
}

var answered = token.Success(value.Object())

func TestRunEndsWhenNothingIsLeft(t *testing.T) {
	t.Parallel()
	s := local.New(local.Config{Store: &store.Memory{}})
	for range 2 {
		if err := s.Run(t.Context()); err != nil {
			t.Errorf("nothing was started: %v", err)
		}
	}
	start(t, s, passOnly, "one")
	if err := s.Run(t.Context()); err != nil {
		t.Error(err)
	}
	wantDone(t, s, "one")
}

func wantDone(t *testing.T, s *local.System, name string) {
	t.Helper()
	if state, err := s.Client.Describe(t.Context(), engine.NewID("flow", name)); err != nil || state.Status != machine.StatusSucceeded {
		t.Errorf("%s is %q, error %v", name, state.Status, err)
	}
}

func TestRunWaitsInRealTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		s := local.New(local.Config{Store: &store.Memory{}, Workers: 3})
		start(t, s, waitHour, "one")
		if err := s.Run(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took != time.Hour {
			t.Errorf("Run took %s", took)
		}
		wantSucceeded(t, s, "one", time.Hour)
	})
}

func TestRunEndsWithItsContextAndCanGoOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := local.New(local.Config{Store: &store.Memory{}, Workers: 2})
		start(t, s, waitHour, "one")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := s.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		if err := s.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with a context that has ended: error %v", err)
		}
		if err := s.Run(t.Context()); err != nil {
			t.Error(err)
		}
		wantSucceeded(t, s, "one", time.Hour)
	})
}

func TestACancelledCallIsMadeAgainByTheNextRun(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	s := local.New(local.Config{
		Store: &store.Memory{}, Clock: local.NewVirtualClock(time.Now()),
		Functions: tasksFunc(func(ctx context.Context) (token.Outcome, error) {
			if calls++; calls == 1 {
				cancel()
				return token.Outcome{}, ctx.Err()
			}
			return answered, nil
		}),
	})
	start(t, s, oneTask, "one")
	if err := s.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if err := s.Run(t.Context()); err != nil || calls != 2 {
		t.Errorf("%d calls, error %v", calls, err)
	}
	wantDone(t, s, "one")
}

// faultyStore is a memory store that fails on demand.
type faultyStore struct {
	*enginetest.FaultyLog
	local.Store
}

// The log of the store is the one that fails.
func (s faultyStore) Latest(ctx context.Context, execution engine.ID) (engine.Item, error) {
	return s.FaultyLog.Latest(ctx, execution)
}

func (s faultyStore) Append(ctx context.Context, item engine.Item) error {
	return s.FaultyLog.Append(ctx, item)
}

func (s faultyStore) Items(ctx context.Context, execution engine.ID, from uint64, limit int) ([]engine.Item, error) {
	return s.FaultyLog.Items(ctx, execution, from, limit)
}

func (s faultyStore) Get(ctx context.Context, keys ...engine.ItemKey) (map[engine.ItemKey]engine.Item, error) {
	return s.FaultyLog.Get(ctx, keys...)
}

func newFaultyStore() faultyStore {
	memory := &store.Memory{}
	return faultyStore{&enginetest.FaultyLog{Log: memory}, memory}
}

func TestRunEndsWithTheEnginesErrorAndKeepsTheWake(t *testing.T) {
	t.Parallel()
	for _, workers := range []int{1, 4} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			t.Parallel()
			store := newFaultyStore()
			begin := time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)
			clock := local.NewVirtualClock(begin)
			s := local.New(local.Config{Store: store, Clock: clock, Workers: workers})
			start(t, s, passOnly, "one")
			store.FailReads(1)
			if err := s.Run(t.Context()); !errors.Is(err, enginetest.ErrFault) {
				t.Errorf("error %v", err)
			}
			if !clock.Now().Equal(begin) {
				t.Errorf("the clock went on to %s", clock.Now())
			}
			if err := s.Run(t.Context()); err != nil {
				t.Error(err)
			}
			wantDone(t, s, "one")
		})
	}
}

func TestManyExecutionsSideBySideInVirtualTime(t *testing.T) {
	t.Parallel()
	const executions = 200
	var mu sync.Mutex
	calls := 0
	begin := time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)
	clock := local.NewVirtualClock(begin)
	s := local.New(local.Config{
		Store: &store.Memory{}, Clock: clock, Workers: 8,
		Functions: tasksFunc(func(context.Context) (token.Outcome, error) {
			mu.Lock()
			defer mu.Unlock()
			calls++
			return answered, nil
		}),
	})
	flow := oneTask + "  - type: wait\n    name: Pause\n    duration: 10\n" + "  - type: wait\n    name: Again\n    duration: 5\n"
	for i := range executions {
		start(t, s, flow, fmt.Sprintf("run-%d", i))
	}
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range executions {
		wantSucceeded(t, s, fmt.Sprintf("run-%d", i), 15*time.Second)
	}
	if calls != executions || !clock.Now().Equal(begin.Add(15*time.Second)) {
		t.Errorf("%d calls, and the clock shows %s", calls, clock.Now())
	}
}

func TestExecutionsRunSideBySide(t *testing.T) {
	t.Parallel()
	const workers = 4
	var calls atomic.Int64
	all := make(chan struct{})
	s := local.New(local.Config{
		Store: &store.Memory{}, Workers: workers,
		Functions: tasksFunc(func(context.Context) (token.Outcome, error) {
			if calls.Add(1) == workers {
				close(all)
			}
			select { // each call waits for all others
			case <-all:
			case <-time.After(local.Patience):
				t.Errorf("%d calls are under way; want %d", calls.Load(), workers)
			}
			return answered, nil
		}),
	})
	for i := range workers {
		start(t, s, oneTask, fmt.Sprintf("run-%d", i))
	}
	if err := s.Run(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestARepeatedStartRepeatsNoCallUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		proceed := make(chan struct{})
		s := local.New(local.Config{
			Store: &store.Memory{}, Workers: 4,
			Functions: tasksFunc(func(context.Context) (token.Outcome, error) {
				calls++
				<-proceed
				return answered, nil
			}),
		})
		start(t, s, oneTask, "one")
		ended := make(chan error)
		go func() { ended <- s.Run(t.Context()) }()
		synctest.Wait() // the call is under way
		if answer := start(t, s, oneTask, "one"); answer != engine.StartedSame {
			t.Errorf("the answer is %d", answer)
		}
		synctest.Wait()
		close(proceed)
		if err := <-ended; err != nil || calls != 1 {
			t.Errorf("%d calls, error %v", calls, err)
		}
	})
}

// slowStore lets everybody else do what they can before it puts item 0.
type slowStore struct{ *store.Memory }

func (s slowStore) Append(ctx context.Context, item engine.Item) error {
	if item.Seq == 0 {
		synctest.Wait()
	}
	return s.Memory.Append(ctx, item)
}

func TestAStartWhileRunningBeginsAtOnce(t *testing.T) {
	t.Parallel()
	for name, clock := range map[string]*local.Clock{"real": {}, "virtual": local.NewVirtualClock(time.Now())} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				// The call of "first" starts "second", so that Run is at work.
				var s *local.System
				var once sync.Once
				s = local.New(local.Config{
					Store: slowStore{&store.Memory{}}, Clock: clock, Workers: 2,
					Functions: tasksFunc(func(context.Context) (token.Outcome, error) {
						once.Do(func() { start(t, s, oneTask, "second") })
						return answered, nil
					}),
				})
				start(t, s, oneTask, "first")
				if err := s.Run(t.Context()); err != nil {
					t.Error(err)
				}
				wantSucceeded(t, s, "first", 0)
				wantSucceeded(t, s, "second", 0)
			})
		})
	}
}

// forgetfulStore loses a definition once it has been started.
type forgetfulStore struct {
	*store.Memory
	lost *machine.FlowRef
}

func (s forgetfulStore) Flow(ctx context.Context, flow machine.FlowRef) (*flow.Flow, error) {
	if flow == *s.lost {
		return nil, engine.ErrNotFound
	}
	return s.Memory.Flow(ctx, flow)
}

// rules: E-11
func TestDefectFailsItsExecutionAlone(t *testing.T) {
	t.Parallel()
	store := forgetfulStore{&store.Memory{}, &machine.FlowRef{}}
	s := local.New(local.Config{Store: store, Clock: local.NewVirtualClock(time.Now())})
	start(t, s, oneTask, "bad")
	lost, err := s.Client.Describe(t.Context(), engine.NewID("flow", "bad"))
	if err != nil {
		t.Fatal(err)
	}
	*store.lost = lost.Flow
	start(t, s, waitHour, "good")
	if err := s.Run(t.Context()); err != nil {
		t.Errorf("run: %v", err)
	}
	wantDone(t, s, "good")
	state, err := s.Client.Describe(t.Context(), engine.NewID("flow", "bad"))
	if err != nil || state.Status != machine.StatusFailed || state.Error != machine.ErrorInternal {
		t.Errorf("bad is %s with %q, error %v", state.Status, state.Error, err)
	}
}

// longTask hangs until it is stopped, and takes its time to end.
type longTask struct {
	begun chan struct{}
	ended *bool
}

func (l longTask) Call(ctx context.Context, _ machine.Call) (token.Outcome, error) {
	close(l.begun)
	<-ctx.Done()
	time.Sleep(time.Second) // in a bubble
	*l.ended = true
	return token.Outcome{}, ctx.Err()
}

func (longTask) TimeLimits(_ context.Context, def *flow.Flow) (map[string]time.Duration, error) {
	task, ok := def.All[0].Kind.(*flow.Task)
	if !ok {
		return nil, nil //nolint:nilnil // no function, no limit
	}
	return map[string]time.Duration{task.Resource.Text: time.Hour}, nil
}

func TestRunEndsAfterTheLongCallsThatItMakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ended := false
		task := longTask{make(chan struct{}), &ended}
		s := local.New(local.Config{Store: &store.Memory{}, Functions: task})
		start(t, s, oneTask, "one")
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-task.begun
			cancel()
		}()
		if err := s.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("run: %v", err)
		}
		if !ended {
			t.Error("the run ended before the call did")
		}
	})
}

// slowAsk is a function that takes a minute to be told of its token.
type slowAsk struct{ calls *atomic.Int32 }

func (s slowAsk) Call(context.Context, machine.Call) (token.Outcome, error) {
	s.calls.Add(1)
	time.Sleep(time.Minute) // in a bubble
	return answered, nil
}

func (slowAsk) TimeLimits(ctx context.Context, flow *flow.Flow) (map[string]time.Duration, error) {
	return longTask{}.TimeLimits(ctx, flow)
}

// TestSlowSubmissionBlocksNoWorker: the one worker goes on with another
// execution, and the answer is recorded in the instant in which it comes.
func TestSlowSubmissionBlocksNoWorker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ask := slowAsk{&atomic.Int32{}}
		script, err := local.ParseScript([]byte("answers:\n  - step: Work\n    afterSeconds: 5\n    output: {}\n"), nil)
		if err != nil {
			t.Fatal(err)
		}
		s := local.New(local.Config{Store: &store.Memory{}, Functions: ask, Script: script})
		start(t, s, oneTask+"    pattern: waitForCallback\n", "slow")
		start(t, s, passOnly, "quick")
		if err := s.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantSucceeded(t, s, "quick", 0)
		history, err := s.Client.History(t.Context(), engine.NewID("flow", "slow"))
		if err != nil {
			t.Fatal(err)
		}
		var order []machine.EventType
		for _, event := range history {
			order = append(order, event.Type)
			if event.Type == machine.TaskSubmitted && event.At.Sub(history[0].At) != time.Minute {
				t.Errorf("the answer was recorded after %s", event.At.Sub(history[0].At))
			}
		}
		want := []machine.EventType{
			machine.ExecutionStarted, machine.StepEntered, machine.TaskScheduled, machine.TaskStarted, machine.TaskSubmitted,
			machine.TaskSucceeded, machine.StepExited, machine.ExecutionSucceeded,
		}
		if !slices.Equal(order, want) || ask.calls.Load() != 1 {
			t.Errorf("%d calls, history %v, want %v", ask.calls.Load(), order, want)
		}
	})
}

// TestAtMostOnceCallOfAnEndedRunIsNotRepeated: it must not be made twice, and
// it is unknown how far it got.
func TestAtMostOnceCallOfAnEndedRunIsNotRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ended := false
		task := longTask{make(chan struct{}), &ended} // a second call panics
		s := local.New(local.Config{Store: &store.Memory{}, Functions: task})
		start(t, s, oneTask+"    atMostOnce: true\n", "one")
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-task.begun
			cancel()
		}()
		if err := s.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("run: %v", err)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := s.Run(short); !errors.Is(err, context.DeadlineExceeded) { // the task is put back
			t.Errorf("run: %v", err)
		}
		if err := s.Run(t.Context()); err != nil {
			t.Errorf("run: %v", err)
		}
		state, err := s.Client.Describe(t.Context(), engine.NewID("flow", "one"))
		if took := state.At.Sub(state.Started); err != nil || state.Error != machine.ErrorTaskInterrupted || took != 16*time.Minute {
			t.Errorf("it is %s, error %q after %s, %v", state.Status, state.Error, took, err)
		}
	})
}

// lateStop is a store that accepts a stop after the last commit of the execution, which was under
// way before.
type lateStop struct {
	*store.Memory
	committing, stopping chan struct{}
}

func newLateStop() lateStop {
	return lateStop{&store.Memory{}, make(chan struct{}), make(chan struct{})}
}

func (s lateStop) Append(ctx context.Context, item engine.Item) error {
	if head, err := machine.StatusOf(item.Body); err == nil && head.Status.Final() {
		select {
		case <-s.stopping: // another execution
		default:
			close(s.committing)
			<-s.stopping
		}
	}
	return s.Memory.Append(ctx, item)
}

func (s lateStop) RequestStop(ctx context.Context, id engine.ID, request engine.StopRequest, expires time.Time) error {
	close(s.stopping)
	synctest.Wait() // the execution ends
	return s.Memory.RequestStop(ctx, id, request, expires)
}

// A stop that is accepted while the last commit is under way does not concern a later execution of
// that name.
func TestAStopAtTheLastCommitLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		late := newLateStop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		wakes := 0
		s := local.New(local.Config{
			Store: late, Workers: 1,
			Applied: func(engine.Wake, time.Time, engine.Disposition) {
				const enough = 100
				if wakes++; wakes > enough { // no time passes between them
					cancel()
				}
			},
			Functions: tasksFunc(func(ctx context.Context) (token.Outcome, error) { return answered, ctx.Err() }),
		})
		start(t, s, oneTask, "one")
		ended := make(chan error)
		go func() { ended <- s.Run(ctx) }()
		<-late.committing
		if err := s.Stop(ctx, engine.NewID("flow", "one"), "Late", ""); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		wantDone(t, s, "one")
		list, err := late.EndedBefore(ctx, time.Now().Add(time.Second), store.Ended{}, 1)
		if err == nil && len(list) == 1 {
			err = late.Remove(ctx, list[0])
		}
		if err != nil {
			t.Fatal(err)
		}
		start(t, s, oneTask, "one")
		if err := s.Run(ctx); err != nil {
			t.Error(err)
		}
		wantDone(t, s, "one")
	})
}
