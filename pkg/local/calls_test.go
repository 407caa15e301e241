package local_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/internal/suite/resumetest"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// timedTasks are functions that take a while, and whose runners enforce time
// limits, in the time of a synctest bubble.
type timedTasks struct {
	takes time.Duration
	own   time.Duration // the time limit of each function, 0 for none
	until chan struct{} // if not nil, calls take until it is closed

	mu            sync.Mutex
	running, most int
	order         []string // the executions, in the order of their calls
}

func (f *timedTasks) Call(ctx context.Context, call machine.Call) (token.Outcome, error) {
	f.begin(call.Execution)
	defer f.end()
	if call.Limit > 0 && call.Limit < f.takes {
		time.Sleep(call.Limit)
		return token.Failure(machine.ErrorTaskTimeout, "took too long"), nil
	}
	over := time.NewTimer(f.takes)
	defer over.Stop()
	elapsed := over.C
	if f.until != nil {
		elapsed = nil
	}
	select {
	case <-elapsed:
	case <-f.until:
	case <-ctx.Done():
		return token.Outcome{}, ctx.Err()
	}
	return answered, nil
}

func (f *timedTasks) begin(execution string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running++
	f.most = max(f.most, f.running)
	f.order = append(f.order, execution)
}

func (f *timedTasks) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running--
}

func (f *timedTasks) underWay() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.running
}

func (f *timedTasks) TimeLimits(_ context.Context, def *flow.Flow) (map[string]time.Duration, error) {
	limits := map[string]time.Duration{}
	for _, step := range def.All {
		if task, ok := step.Kind.(*flow.Task); ok {
			limits[task.Resource.Text] = f.own
		}
	}
	return limits, nil
}

// forms are the two ways in which a call is made: by a worker, and by the task
// queue.
var forms = map[string]time.Duration{"direct": 0, "queued": 15 * time.Minute}

func runToEnd(t *testing.T, s *local.System) {
	t.Helper()
	if err := s.Run(t.Context()); err != nil {
		t.Error(err)
	}
}

// runAside runs the system beside the test, and closes the channel at the end of the run.
func runAside(t *testing.T, s *local.System) <-chan struct{} {
	t.Helper()
	ended := make(chan struct{})
	go func() { defer close(ended); runToEnd(t, s) }()
	return ended
}

func wantEnd(t *testing.T, s *local.System, name string, status machine.Status, failure string, took time.Duration) {
	t.Helper()
	state, err := s.Client.Describe(t.Context(), engine.NewID("flow", name))
	if err != nil {
		t.Fatal(err)
	}
	if state.Status != status || state.Error != failure || state.At.Sub(state.Started) != took {
		t.Errorf("%s is %s, error %q, after %s; want %s, %q after %s",
			name, state.Status, state.Error, state.At.Sub(state.Started), status, failure, took)
	}
}

const (
	callback   = oneTask + "    pattern: waitForCallback\n    timeoutSeconds: 7\n"
	waitSecond = "version: v1\ntype: flow\nsteps:\n  - type: wait\n    name: Nap\n    duration: 1\n"
)

// TestCallsDelayNoOtherWork: with one worker and no free place for a call, starts,
// timers, deadlines and stops of other executions are handled in the instant in
// which they are due.
//
// rules: Z-11
func TestCallsDelayNoOtherWork(t *testing.T) {
	t.Parallel()
	for name, own := range forms {
		for _, calls := range []int{2, 100} {
			t.Run(fmt.Sprintf("%s, %d at once", name, calls), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					tasks := &timedTasks{own: own, until: make(chan struct{})}
					s := local.New(local.Config{Store: &store.Memory{}, Functions: tasks, Workers: 1, Calls: calls})
					start(t, s, waitHour, "other") // without one the run would end at once
					ended := runAside(t, s)
					for i := range 10 {
						start(t, s, oneTask, fmt.Sprintf("call-%d", i))
					}
					synctest.Wait()
					start(t, s, waitSecond, "nap")
					start(t, s, waitHour, "stopped")
					time.Sleep(time.Minute)
					if err := s.Stop(t.Context(), engine.NewID("flow", "stopped"), "", ""); err != nil {
						t.Error(err)
					}
					synctest.Wait()
					wantEnd(t, s, "nap", machine.StatusSucceeded, "", time.Second)
					wantEnd(t, s, "stopped", machine.StatusStopped, "", time.Minute)
					close(tasks.until)
					<-ended
					wantEnd(t, s, "call-9", machine.StatusSucceeded, "", time.Minute)
				})
			})
		}
	}
}

// TestCallsAreBoundedInOrder: the calls beyond the bound wait, and begin in the
// order in which they came.
//
// rules: Z-11
func TestCallsAreBoundedInOrder(t *testing.T) {
	t.Parallel()
	for name, own := range forms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tasks := &timedTasks{takes: time.Second, own: own}
				s := local.New(local.Config{Store: &store.Memory{}, Functions: tasks, Workers: 1, Calls: 3})
				start(t, s, waitHour, "other") // without one the run would end at once
				ended := runAside(t, s)
				var want []string
				for i := range 30 {
					want = append(want, fmt.Sprintf("call-%d", i))
					start(t, s, oneTask, want[i])
					synctest.Wait() // or the task queue would begin them in any order
				}
				<-ended
				for turn := range slices.Chunk(tasks.order, 3) { // three begin in the same instant, in any order
					slices.SortFunc(turn, func(a, b string) int { return slices.Index(want, a) - slices.Index(want, b) })
				}
				if tasks.most != 3 || !slices.Equal(tasks.order, want) {
					t.Errorf("%d calls ran at once, in the order %v", tasks.most, tasks.order)
				}
				wantEnd(t, s, "call-29", machine.StatusSucceeded, "", 10*time.Second)
			})
		})
	}
}

// rules: T-17
func TestTimeLimitExcludesTheWaitForATurn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		own, takes time.Duration
		more       string
		failure    string
	}{
		"direct":               {0, 6 * time.Second, "    timeoutSeconds: 8\n", ""},
		"direct, too slow":     {0, 9 * time.Second, "    timeoutSeconds: 8\n", machine.ErrorTaskTimeout},
		"queued":               {15 * time.Minute, 15 * time.Second, "    timeoutSeconds: 20\n", ""},
		"queued, too slow":     {15 * time.Minute, 25 * time.Second, "    timeoutSeconds: 20\n", machine.ErrorTaskTimeout},
		"once":                 {15 * time.Minute, 6 * time.Second, "    timeoutSeconds: 8\n    atMostOnce: true\n", ""},
		"once, for a long one": {15 * time.Minute, time.Minute, "    atMostOnce: true\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := local.New(local.Config{
					Store: &store.Memory{}, Functions: &timedTasks{takes: c.takes, own: c.own}, Calls: 1,
				})
				for i := range 10 {
					start(t, s, oneTask+c.more, fmt.Sprintf("call-%d", i))
				}
				runToEnd(t, s)
				for i := range 10 {
					state, err := s.Client.Describe(t.Context(), engine.NewID("flow", fmt.Sprintf("call-%d", i)))
					if err != nil || state.Error != c.failure || !state.Status.Final() {
						t.Errorf("call-%d is %s, error %q, %v", i, state.Status, state.Error, err)
					}
				}
			})
		})
	}
}

// rules: T-17
func TestTheDeadlineOfACallbackCountsFromTheBeginningOfTheStep(t *testing.T) {
	t.Parallel()
	for name, own := range forms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tasks := &timedTasks{takes: time.Minute, own: own}
				s := local.New(local.Config{Store: &store.Memory{}, Functions: tasks, Workers: 1, Calls: 1})
				start(t, s, oneTask, "call")
				ended := runAside(t, s)
				synctest.Wait()
				start(t, s, callback, "callback")
				<-ended
				wantEnd(t, s, "callback", machine.StatusFailed, machine.ErrorTaskTimeout, 7*time.Second)
				if want := []string{"call"}; !slices.Equal(tasks.order, want) {
					t.Errorf("calls of %v, want %v", tasks.order, want)
				}
			})
		})
	}
}

// TestEndOfAnExecutionEndsItsWaitForATurn: a stop, or the time limit of the flow, ends an
// execution whose call waits, and the call is not made.
func TestEndOfAnExecutionEndsItsWaitForATurn(t *testing.T) {
	t.Parallel()
	limited := "version: v1\ntype: flow\ntimeoutSeconds: 10\nsteps:\n  - type: wait\n    name: Nap\n    duration: 1\n" +
		"  - type: task\n    name: Work\n    resourceArn: acs:fc:::services/s/functions/work\n"
	for name, own := range forms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tasks := &timedTasks{takes: time.Minute, own: own}
				s := local.New(local.Config{Store: &store.Memory{}, Functions: tasks, Workers: 1, Calls: 1})
				start(t, s, waitHour, "other") // without one the run would end at once
				ended := runAside(t, s)
				for name, flow := range map[string]string{"first": oneTask, "stopped": oneTask, "limited": limited, "last": oneTask} {
					start(t, s, flow, name)
					synctest.Wait()
				}
				time.Sleep(5 * time.Second)
				first := tasks.order[0]
				if err := s.Stop(t.Context(), engine.NewID("flow", "stopped"), "", ""); err != nil {
					t.Error(err)
				}
				<-ended
				if first != "stopped" {
					wantEnd(t, s, "stopped", machine.StatusStopped, "", 5*time.Second)
					if slices.Contains(tasks.order, "stopped") {
						t.Error("the call of the stopped execution was made")
					}
				}
				wantEnd(t, s, "limited", machine.StatusTimedOut, "FnF.ExecutionTimeout", 10*time.Second)
				if slices.Contains(tasks.order, "limited") {
					t.Error("the call of the execution that timed out was made")
				}
				wantDone(t, s, "last")
			})
		})
	}
}

// TestEndOfARunEndsWaitsForTurns: what waited is called by the next run.
func TestEndOfARunEndsWaitsForTurns(t *testing.T) {
	t.Parallel()
	for name, own := range forms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tasks := &timedTasks{takes: time.Minute, own: own}
				s := local.New(local.Config{Store: &store.Memory{}, Functions: tasks, Workers: 1, Calls: 1})
				for i := range 5 {
					start(t, s, oneTask, fmt.Sprintf("call-%d", i))
				}
				ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
				defer cancel()
				if err := s.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("error %v", err)
				}
				if len(tasks.order) != 2 {
					t.Errorf("calls of %v", tasks.order)
				}
				runToEnd(t, s)
				for i := range 5 {
					wantDone(t, s, fmt.Sprintf("call-%d", i))
				}
				if tasks.most != 1 || len(tasks.order) != 6 {
					t.Errorf("%d calls at once, %v", tasks.most, tasks.order)
				}
			})
		})
	}
}

// TestARepeatedStartDoesNotRepeatAWaitingCall: its wake waits with the call.
func TestARepeatedStartDoesNotRepeatAWaitingCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tasks := &timedTasks{takes: time.Minute}
		s := local.New(local.Config{Store: &store.Memory{}, Functions: tasks, Calls: 1})
		start(t, s, waitHour, "other") // without one the run would end at once
		ended := runAside(t, s)
		for _, name := range []string{"first", "second", "second", "second"} {
			start(t, s, oneTask, name)
			synctest.Wait()
		}
		<-ended
		if want := []string{"first", "second"}; !slices.Equal(tasks.order, want) {
			t.Errorf("calls of %v, want %v", tasks.order, want)
		}
		wantEnd(t, s, "second", machine.StatusSucceeded, "", 2*time.Minute)
	})
}

// TestAVirtualClockStandsStillWhileACallWaits: time does not pass for the
// others, which would otherwise end before calls that began earlier.
func TestAVirtualClockStandsStillWhileACallWaits(t *testing.T) {
	t.Parallel()
	for name, own := range forms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				clock := local.NewVirtualClock(time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC))
				s := local.New(local.Config{Store: &store.Memory{}, Functions: &timedTasks{takes: time.Second, own: own}, Clock: clock, Calls: 1})
				for i := range 5 {
					start(t, s, oneTask, fmt.Sprintf("call-%d", i))
				}
				start(t, s, waitHour, "hour")
				runToEnd(t, s)
				for i := range 5 {
					wantEnd(t, s, fmt.Sprintf("call-%d", i), machine.StatusSucceeded, "", 0)
				}
				wantEnd(t, s, "hour", machine.StatusSucceeded, "", time.Hour)
			})
		})
	}
}

// The place of a call that a stop ends is free for the next call.
func TestAStopEndsTheCallsOfItsExecution(t *testing.T) {
	t.Parallel()
	twice := oneTask + "    retry: [{errors: [FnF.ALL], intervalSeconds: 0, maxAttempts: 5}]\n"
	for name, own := range forms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tasks := &timedTasks{takes: time.Hour, own: own}
				s := local.New(local.Config{Store: &store.Memory{}, Functions: tasks, Workers: 1, Calls: 1})
				start(t, s, waitHour, "other") // without one the run would end at once
				ended := runAside(t, s)
				start(t, s, twice, "running")
				synctest.Wait()
				start(t, s, twice, "queued")
				synctest.Wait()
				for name, want := range map[string]bool{"running": false, "queued": true, "other": false} {
					if got := s.AwaitsTurn(engine.NewID("flow", name)); got != want {
						t.Errorf("%s awaits its turn: %t", name, got)
					}
				}
				time.Sleep(time.Minute)
				if err := s.Stop(t.Context(), engine.NewID("flow", "running"), "", ""); err != nil {
					t.Error(err)
				}
				synctest.Wait()
				wantEnd(t, s, "running", machine.StatusStopped, "", time.Minute)
				if s.AwaitsTurn(engine.NewID("flow", "queued")) || !slices.Equal(tasks.order, []string{"running", "queued"}) {
					t.Errorf("the stop frees no place: %v", tasks.order)
				}
				if err := s.Stop(t.Context(), engine.NewID("flow", "queued"), "", ""); err != nil {
					t.Error(err)
				}
				<-ended
				wantEnd(t, s, "queued", machine.StatusStopped, "", time.Minute)
				if len(tasks.order) != 2 {
					t.Errorf("calls of %v", tasks.order)
				}
			})
		})
	}
}

func TestATimeLimitOfAFlowEndsItsCall(t *testing.T) {
	t.Parallel()
	for name, own := range map[string]time.Duration{"queued": 2 * time.Hour, "awaited": machine.DefaultDirect} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begin, tasks := time.Now(), &timedTasks{takes: time.Hour, own: own}
				s := local.New(local.Config{Store: &store.Memory{}, Functions: tasks})
				start(t, s, strings.Replace(oneTask, "type: flow\n", "type: flow\ntimeoutSeconds: 60\n", 1), "limited")
				runToEnd(t, s)
				wantEnd(t, s, "limited", machine.StatusTimedOut, "FnF.ExecutionTimeout", time.Minute)
				if took := time.Since(begin).Truncate(time.Second); took != time.Minute {
					t.Errorf("the run ended after %s", took)
				}
			})
		})
	}
}

// rules: T-15
func TestAnAwaitedCallTakesOneCommit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &store.Memory{}
		s := local.New(local.Config{Store: store, Functions: &timedTasks{takes: 99 * time.Millisecond, own: machine.DefaultDirect}})
		start(t, s, oneTask, "fast")
		runToEnd(t, s)
		wantEnd(t, s, "fast", machine.StatusSucceeded, "", 99*time.Millisecond)
		items, err := store.Items(t.Context(), engine.NewID("flow", "fast"), 0, 10)
		if err != nil || len(items) != 2 { // the start and the end
			t.Errorf("%d items, error %v; want 2", len(items), err)
		}
	})
}

// rules: T-15
func TestASlowCallIsShown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tasks := &timedTasks{takes: time.Hour, own: machine.DefaultDirect}
		s := local.New(local.Config{Store: &store.Memory{}, Functions: tasks, Workers: 1})
		start(t, s, oneTask, "slow")
		ended := runAside(t, s)
		time.Sleep(time.Second)
		state, err := s.Client.Describe(t.Context(), engine.NewID("flow", "slow"))
		if err != nil || state.Waiting == nil || state.Waiting.For != machine.WaitingForCall {
			t.Errorf("the execution waits for %+v, error %v; want its call", state.Waiting, err)
		}
		<-ended
		wantEnd(t, s, "slow", machine.StatusSucceeded, "", time.Hour)
		if len(tasks.order) != 1 {
			t.Errorf("%d calls; want 1", len(tasks.order))
		}
	})
}

// TestACallbackDuringItsSubmission: the outcome counts at once, and the function that passes on the
// token is not interrupted.
// failsAt fails the calls of iteration 1 after a while. Other calls take a second.
type failsAt struct {
	timedTasks
	after time.Duration
}

func (f *failsAt) Call(ctx context.Context, call machine.Call) (token.Outcome, error) {
	if call.Iteration != "1" {
		return f.timedTasks.Call(ctx, call)
	}
	time.Sleep(f.after)
	return token.Failure("Broken", ""), nil
}

// The history has the calls of a foreach that run when another iteration fails, also in their first
// moments.
func TestHistoryHasTheCallsThatRanAtAFailure(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{20 * time.Millisecond, 500 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			tasks := &failsAt{timedTasks: timedTasks{takes: time.Second, own: machine.DefaultDirect}, after: after}
			s := local.New(local.Config{Store: &store.Memory{}, Functions: tasks})
			put, err := s.Client.PutFlow(t.Context(), "flow", []byte("version: v1\ntype: flow\nsteps:\n  - type: foreach\n    name: Each\n"+
				"    iterationMapping: {collection: $.list, item: one}\n    steps: [{type: task, name: Work, resourceArn: acs:fc:::services/s/functions/work}]\n"))
			if err != nil {
				t.Fatal(err)
			}
			list := value.Array(value.Int(1), value.Int(2), value.Int(3))
			request := engine.StartRequest{Flow: put, Execution: "one", Input: value.Object(value.Member{Key: "list", Value: list})}
			if _, err := s.Start(t.Context(), request); err != nil {
				t.Fatal(err)
			}
			runToEnd(t, s)
			events, err := s.Client.History(t.Context(), engine.NewID("flow", "one"))
			if err != nil {
				t.Fatal(err)
			}
			called := 0
			for _, e := range events {
				if e.Type == machine.TaskStarted {
					called++
				}
			}
			if called != 3 {
				t.Errorf("a failure after %s: the history has %d calls of 3", after, called)
			}
		})
	}
}

func TestACallbackDuringItsSubmission(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]time.Duration{"soon": time.Millisecond, "late": time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tasks := &timedTasks{takes: 5 * time.Second, own: machine.DefaultDirect}
				s := local.New(local.Config{Store: &store.Memory{}, Functions: tasks, Workers: 1})
				start(t, s, oneTask+"    pattern: waitForCallback\n  - type: wait\n    name: Nap\n    duration: 1\n", "callback")
				ended := runAside(t, s)
				time.Sleep(at)
				text := tokenOf(t, s, "callback")
				if _, _, err := resumetest.Close(t.Context(), s.Tokens, text, token.Success(value.Object())); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Second / 2)
				if running := tasks.underWay(); running != 1 {
					t.Errorf("%d calls run; want 1", running)
				}
				<-ended
				wantEnd(t, s, "callback", machine.StatusSucceeded, "", at+time.Second)
			})
		})
	}
}

func tokenOf(t *testing.T, s *local.System, name string) string {
	t.Helper()
	state, err := s.Client.Describe(t.Context(), engine.NewID("flow", name))
	if err != nil {
		t.Fatal(err)
	}
	flow, err := s.Client.Flow(t.Context(), state.Flow)
	if err != nil {
		t.Fatal(err)
	}
	text, ok := s.Client.Token(flow, state)
	if !ok {
		t.Fatalf("%s waits for no token", name)
	}
	return text
}

// TestHeartbeatsDuringASubmission: each of their timers commits a later one, and the call still
// counts. So it is not repeated after its worker counts as dead, and it does not count as an
// interrupted one.
func TestHeartbeatsDuringASubmission(t *testing.T) {
	t.Parallel()
	for name, once := range map[string]string{"repeatable": "", "atMostOnce": "    atMostOnce: true\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tasks := &timedTasks{takes: 5 * time.Second, own: machine.DefaultDirect}
				s := local.New(local.Config{Store: &store.Memory{}, Functions: tasks, Workers: 1})
				start(t, s, oneTask+"    pattern: waitForCallback\n    heartbeatSeconds: 2\n"+once, "beating")
				ended := runAside(t, s)
				time.Sleep(time.Second / 2)
				text := tokenOf(t, s, "beating")
				for range 70 {
					if _, err := resumetest.Beat(t.Context(), s.Tokens, text); err != nil {
						t.Error(err)
					}
					time.Sleep(time.Second)
				}
				if _, _, err := resumetest.Close(t.Context(), s.Tokens, text, token.Success(value.Object())); err != nil {
					t.Error(err)
				}
				<-ended
				wantEnd(t, s, "beating", machine.StatusSucceeded, "", 70*time.Second+time.Second/2)
				if len(tasks.order) != 1 {
					t.Errorf("%d calls; want 1", len(tasks.order))
				}
			})
		})
	}
}

// Calls from the task queue, from the lanes of a foreach and from nested ones have the iteration of
// their step.
func TestCallsHaveTheIteration(t *testing.T) {
	t.Parallel()
	const flow = `version: v1
type: flow
steps:
  - {type: task, name: First, resourceArn: "acs:fc:::services/s/functions/f"}
  - type: parallel
    name: Both
    branches:
      - steps: [{type: task, name: Branch, resourceArn: "acs:fc:::services/s/functions/f"}]
      - steps:
          - type: foreach
            name: Outer
            iterationMapping: {collection: $.list, item: row}
            inputMappings: [{target: list, source: [[0], [0, 1]]}]
            steps:
              - {type: task, name: Row, resourceArn: "acs:fc:::services/s/functions/f"}
              - type: foreach
                name: Inner
                maxConcurrency: 1
                inputMappings: [{target: row, source: $input.row}]
                iterationMapping: {collection: $.row, item: cell}
                steps:
                  - {type: task, name: Cell, resourceArn: "acs:fc:::services/s/functions/f"}
  - {type: task, name: Last, resourceArn: "acs:fc:::services/s/functions/f"}
`
	want := []string{"Branch ", "Cell 0.0", "Cell 1.0", "Cell 1.1", "First ", "Last ", "Row 0", "Row 1"}
	for form, own := range forms {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			seen := &seenIterations{timedTasks: timedTasks{own: own}}
			s := local.New(local.Config{Store: &store.Memory{}, Functions: seen})
			start(t, s, flow, "one")
			runToEnd(t, s)
			if slices.Sort(seen.calls); !slices.Equal(seen.calls, want) {
				t.Errorf("the calls are %q, want %q", seen.calls, want)
			}
		})
	}
}

// seenIterations has the step and the iteration of each call.
type seenIterations struct {
	timedTasks

	calls []string
}

func (s *seenIterations) Call(_ context.Context, call machine.Call) (token.Outcome, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call.Step+" "+call.Iteration)
	return answered, nil
}
