package disk_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/internal/suite/resumetest"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/machine"
)

// Flows that end with a call of the function "work".
const (
	thenWork       = "  - {type: task, name: Work, resourceArn: 'acs:fc:::services/s/functions/work'}\n"
	waitThenWork   = waitHour + thenWork
	limitedWork    = "timeoutSeconds: 1800\n" + waitThenWork
	callbackToWork = "version: v1\ntype: flow\nsteps:\n  - type: task\n    name: Ask\n    resourceArn: acs:fc:::services/s/functions/echo\n" +
		"    pattern: waitForCallback\n    inputMappings:\n      - target: token\n        source: $context.task.token\n" + thenWork
	limitedCallback = "timeoutSeconds: 1800\n" + callbackToWork
)

// worker provides the function "work" and counts its calls.
type worker struct {
	url   string
	calls atomic.Int64
}

func newWorker(t *testing.T) *worker {
	t.Helper()
	w := &worker{}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		w.calls.Add(1)
		_, _ = fmt.Fprint(rw, "{}")
	}))
	t.Cleanup(server.Close)
	w.url = server.URL
	return w
}

// beginWith is begin with the runners of these definitions only.
func beginWith(t *testing.T, dir string, after time.Duration, definitions map[string]string) *process {
	t.Helper()
	p := begin(t, dir, after)
	tasks, err := local.NewFunctions(p.clock, definitions)
	if err != nil {
		t.Fatal(err)
	}
	p.System = local.New(local.Config{Store: p.store, Clock: p.clock, Functions: tasks, Observer: p, Workers: 2})
	return p
}

// leave starts the flow in a process that has the runner, and ends that process when the
// execution waits. It returns the directory of the store.
func (w *worker) leave(t *testing.T, flow string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "store")
	p := beginWith(t, dir, 0, w.runners())
	start(t, p.System, flow, "one")
	p.runUntil(t, func(s machine.State) bool {
		return waits(s) && (s.Waiting.Token() == nil || s.Waiting.Submitted())
	})
	return dir
}

func (w *worker) runners() map[string]string { return map[string]string{"work": w.url} }

func (p *process) requestStop(t *testing.T) {
	t.Helper()
	if err := p.Stop(t.Context(), engine.NewID("flow", "one"), "Changed.Mind", "no longer wanted"); err != nil {
		t.Fatal(err)
	}
}

// TestStopNeedsNoRunner stops executions in processes that have no runner for a function of their
// flow: by a request from before the process, and by one that it receives.
func TestStopNeedsNoRunner(t *testing.T) {
	t.Parallel()
	for name, flow := range map[string]string{"wait": waitThenWork, "wait with a limit": limitedWork, "callback": callbackToWork} {
		for _, running := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, running %t", name, running), func(t *testing.T) {
				t.Parallel()
				work := newWorker(t)
				dir := work.leave(t, flow)
				p := beginWith(t, dir, later/2, nil)
				if running {
					if err := p.TakeOver(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				p.requestStop(t)
				took := later / 2
				if !running {
					p.shut(t) // its wake is lost
					took = later
					p = beginWith(t, dir, took, nil)
				}
				p.runToEnd(t)
				p.want(t, machine.StatusStopped, "Changed.Mind", took)
				if calls := work.calls.Load(); calls != 0 {
					t.Errorf("%d calls", calls)
				}
			})
		}
	}
}

// TestStopDecidedEarlierNeedsNoRunner ends an execution whose process died after it committed that
// the execution stops, and before it closed the token.
func TestStopDecidedEarlierNeedsNoRunner(t *testing.T) {
	t.Parallel()
	work := newWorker(t)
	dir := work.leave(t, callbackToWork)
	p := beginWith(t, dir, later/2, work.runners())
	p.requestStop(t)
	p.runUntil(t, func(s machine.State) bool {
		if s.Ending != nil {
			p.end()
		}
		return s.Ending != nil
	})
	p = beginWith(t, dir, later, nil)
	p.runToEnd(t)
	state, err := p.Client.Describe(t.Context(), engine.NewID("flow", "one"))
	if err != nil || state.Status != machine.StatusStopped {
		t.Errorf("it is %s, error %v", state.Status, err)
	}
}

// TestTimeLimitNeedsNoRunner ends executions at the time limit of their flow, and not when their
// step is due.
func TestTimeLimitNeedsNoRunner(t *testing.T) {
	t.Parallel()
	for name, flow := range map[string]string{"wait": limitedWork, "callback": limitedCallback} {
		for after, took := range map[time.Duration]time.Duration{later: 30 * time.Minute, 2 * time.Hour: 2 * time.Hour} {
			t.Run(fmt.Sprintf("%s, taken over after %s", name, after), func(t *testing.T) {
				t.Parallel()
				work := newWorker(t)
				p := beginWith(t, work.leave(t, flow), after, nil)
				p.runToEnd(t)
				p.want(t, machine.StatusTimedOut, machine.ErrorExecutionTimeout, took)
			})
		}
	}
}

// TestBlockedExecutionContinuesWithItsRunner leaves an execution as it is in a process that has no
// runner for it, even if its token is closed there. The next process with the runner continues it.
func TestBlockedExecutionContinuesWithItsRunner(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		flow string
		took time.Duration
	}{"wait": {waitThenWork, 3 * time.Hour}, "callback": {callbackToWork, 3 * time.Hour}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			work := newWorker(t)
			dir := work.leave(t, c.flow)
			p := beginWith(t, dir, 2*time.Hour, nil)
			p.runToEnd(t)
			p.want(t, machine.StatusRunning, "", 0)
			p.closeWaiting(t)
			p.runToEnd(t)
			p.want(t, machine.StatusRunning, "", 0)
			p.shut(t)
			p = beginWith(t, dir, 3*time.Hour, work.runners())
			p.runToEnd(t)
			p.want(t, machine.StatusSucceeded, "", c.took)
			if calls := work.calls.Load(); calls != 1 {
				t.Errorf("%d calls", calls)
			}
		})
	}
}

// closeWaiting closes the token that the execution waits for, if any.
func (p *process) closeWaiting(t *testing.T) {
	t.Helper()
	state, err := p.Client.Describe(t.Context(), engine.NewID("flow", "one"))
	if err != nil {
		t.Fatal(err)
	}
	flow, err := p.Client.Flow(t.Context(), state.Flow)
	if err != nil {
		t.Fatal(err)
	}
	if text, ok := machine.Token(p.store.Keys(), flow, state); ok {
		if _, _, err := resumetest.Close(t.Context(), p.Tokens, text, answered); err != nil {
			t.Fatal(err)
		}
	}
}
