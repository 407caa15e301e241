package stack_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/internal/cli/view"
)

// processOf is the emulator's process of a function, 0 while it does not run.
// Functions are processes of this machine, each with its name in its
// environment.
func processOf(t *testing.T, function string) int {
	t.Helper()
	environments, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil || len(environments) == 0 {
		t.Fatalf("there are no processes to look at: %v", err)
	}
	for _, file := range environments {
		environment, err := os.ReadFile(file) // another's, or gone
		if err == nil && bytes.Contains(environment, []byte("\x00AWS_LAMBDA_FUNCTION_NAME="+function+"\x00")) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			return pid
		}
	}
	return 0
}

// kill kills a function's process a while after it is seen, if it is another
// one than the last: a new one is there when it has something to do. It answers
// 0 when there is nothing to do any more.
func kill(t *testing.T, function string, last int, after time.Duration, over <-chan struct{}) (pid int) {
	t.Helper()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for pid = processOf(t, function); pid == 0 || pid == last; pid = processOf(t, function) {
		select {
		case <-again.C:
		case <-over:
			return 0
		}
	}
	<-time.After(after)
	// It may have been ended by the emulator since, as Lambda does.
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Errorf("kill %s: %v", function, err)
	}
	return pid
}

// allEnded is closed when all have ended.
func allEnded(runs []*following) <-chan struct{} {
	over := make(chan struct{})
	go func() {
		for _, run := range runs {
			<-run.ended
		}
		close(over)
	}()
	return over
}

// The interpreter is killed early and late in its work, again and again; what
// it did not finish is done after the visibility of its wakes, or when it is
// sure that no other process does it.
func TestAKilledInterpreterLosesNothing(t *testing.T) {
	t.Parallel()
	s := hasty.get(t)
	flow := writeFlow(t, "killed", `version: v1
type: flow
steps:
  - {type: task, name: Start, resourceArn: "acs:fc:::services/any/functions/StartJob"}
  - {type: wait, name: Nap, duration: 1}
  - {type: task, name: Echo, resourceArn: "acs:fc:::services/any/functions/echo"}
`)
	const executions, kills, later = 6, 12, 8 * time.Millisecond
	var runs []*following
	for i := range executions {
		runs = append(runs, s.follow(t, "run", flow, "--name", fmt.Sprint("run-", i)))
	}
	over := allEnded(runs)
	pid := kill(t, s.name+"-interpreter", 0, 0, over)
	if pid == 0 {
		t.Error("nothing was killed")
	}
	for i := 1; i < kills && pid != 0; i++ {
		pid = kill(t, s.name+"-interpreter", pid, time.Duration(i)*later, over)
	}
	for i, run := range runs {
		if exit := run.wait(); exit != view.ExitSucceeded {
			t.Errorf("run-%d: exit %d", i, exit)
		}
		history := s.history(t, fmt.Sprint("killed/run-", i))
		if calls := (report{History: history}).calls(t); calls["StartJob"] != 1 || calls["echo"] != 1 {
			t.Errorf("run-%d: calls %v", i, calls)
		}
	}
	if dead := s.awaitQuiet(t, "WakeQueue"); dead > 0 {
		t.Errorf("%d wakes died", dead)
	}
}
