package disk_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/disk"
	"github.com/waitless/waitless/pkg/machine"
)

const (
	mostKills = 20
	// victimOf tells a copy of the test's program that it is to be killed, and
	// in which folder it works; victimRuns how many executions it runs.
	victimOf   = "WAITLESS_TEST_VICTIM"
	victimRuns = "WAITLESS_TEST_VICTIM_RUNS"
	// killSteps is how many steps an execution has.
	killSteps = 12
)

// killFlow calls one function a step; each call appends a line to a file.
func killFlow() string {
	flow := "version: v1\ntype: flow\nsteps:\n"
	for step := range killSteps {
		flow += fmt.Sprintf("  - type: task\n    name: Step%d\n    resourceArn: acs:fc:::services/s/functions/append\n", step)
	}
	return flow
}

// TestKilled kills a process at random instants, until all executions are
// finished: each step has then completed once, and each kill has had one call
// an execution repeated at most.
func TestKilled(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts some forty processes")
	}
	for _, executions := range []int{1, 6} {
		t.Run(fmt.Sprintf("%d executions", executions), func(t *testing.T) {
			t.Parallel()
			kill(t, executions)
		})
	}
}

func kill(t *testing.T, executions int) {
	t.Helper()
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	kills := 0
	for !runVictim(t, dir, executions, random, kills < mostKills) {
		kills++
	}
	lines, err := os.ReadFile(filepath.Join(dir, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	calls, attempts := bytes.Count(lines, []byte("\n")), executions*killSteps
	t.Logf("seed %d: %d kills, %d calls of %d attempts", seed, kills, calls, attempts)
	if calls < attempts || calls > attempts+kills*executions {
		t.Errorf("%d calls of %d attempts after %d kills", calls, attempts, kills)
	}
	checkKilled(t, dir, executions)
}

// runVictim runs a process that works on the executions and is killed, if so,
// after a while. It reports whether all are finished.
func runVictim(t *testing.T, dir string, executions int, random *rand.Rand, kill bool) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestVictim$", "-test.v")
	cmd.Env = append(os.Environ(), victimOf+"="+dir, fmt.Sprintf("%s=%d", victimRuns, executions))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if kill {
		alarm := time.AfterFunc(time.Duration(10+random.IntN(90))*time.Millisecond, func() { _ = cmd.Process.Kill() })
		defer alarm.Stop()
	}
	err := cmd.Wait()
	switch {
	case err == nil:
		return true
	case strings.Contains(err.Error(), "killed") && kill:
		return false
	}
	t.Fatalf("%v: %s", err, out.String())
	return false
}

// checkKilled: every step of every execution completed once, by the history.
func checkKilled(t *testing.T, dir string, executions int) {
	t.Helper()
	store := openDisk(t, filepath.Join(dir, "store"))
	system := local.New(local.Config{Store: store})
	for i := range executions {
		id := engine.NewID("flow", fmt.Sprintf("run-%d", i))
		state, err := system.Describe(t.Context(), id)
		if err != nil || state.Status != machine.StatusSucceeded {
			t.Fatalf("execution %d is %s (%s), error %v", i, state.Status, state.Cause, err)
		}
		history, err := system.History(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		succeeded := map[int]int{}
		for _, event := range history {
			if event.Type == machine.TaskSucceeded {
				succeeded[event.Step]++
			}
		}
		for step := range killSteps {
			if succeeded[step] != 1 {
				t.Errorf("step %d of execution %d completed %d times", step, i, succeeded[step])
			}
		}
	}
	left, err := store.Unfinished(t.Context(), engine.ID{}, 10)
	if err != nil || len(left) > 0 {
		t.Errorf("%d executions are unfinished, error %v", len(left), err)
	}
}

// TestVictim is the process that TestKilled kills.
func TestVictim(t *testing.T) {
	t.Parallel()
	dir := os.Getenv(victimOf)
	if dir == "" {
		t.Skip("it is for a process of its own, which TestKilled starts")
	}
	runs, err := strconv.Atoi(os.Getenv(victimRuns))
	if err != nil {
		t.Fatal(err)
	}
	store, err := disk.Open(filepath.Join(dir, "store"))
	if err != nil {
		t.Fatal(err)
	}
	clock := &local.Clock{}
	tasks, err := local.NewTasks(clock, map[string]string{
		"append": "exec:sh -c 'echo called >> \"" + filepath.Join(dir, "calls") + "\"; sleep 0.01; echo {}'",
	})
	if err != nil {
		t.Fatal(err)
	}
	system := local.New(local.Config{Store: store, Clock: clock, Tasks: tasks, Workers: 2})
	flow, err := store.Put(t.Context(), "flow", []byte(killFlow()))
	if err != nil {
		t.Fatal(err)
	}
	for i := range runs {
		request := engine.StartRequest{Flow: flow, Execution: fmt.Sprintf("run-%d", i), Input: expr.Object()}
		if _, err := system.Start(t.Context(), request); err != nil {
			t.Fatal(err)
		}
	}
	if err := system.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := store.Shut(); err != nil {
		t.Fatal(err)
	}
}
