//go:build unix

package local_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/store"
)

// TestManyStartsRunFewCommands: of 300 executions that begin at once, at most
// three run their command at a time, and a timer beside them is not held up.
//
// rules: Z-11
func TestManyStartsRunFewCommands(t *testing.T) {
	t.Parallel()
	const executions, most = 300, 3
	for name, limit := range map[string]string{"direct": "    timeoutSeconds: 9\n", "queued": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			running := filepath.Join(t.TempDir(), "running")
			clock := &local.Clock{}
			tasks, err := local.NewFunctions(clock, map[string]string{"work": "exec:sh -c 'echo + >>" + running + "; echo {}; echo - >>" + running + "'"})
			if err != nil {
				t.Fatal(err)
			}
			s := local.New(local.Config{Store: &store.Memory{}, Clock: clock, Functions: tasks, Commands: most})
			start(t, s, waitSecond, "nap")
			for i := range executions {
				start(t, s, oneTask+limit, fmt.Sprintf("run-%d", i))
			}
			runToEnd(t, s)
			for i := range executions {
				wantDone(t, s, fmt.Sprintf("run-%d", i))
			}
			wantDone(t, s, "nap")
			text, err := os.ReadFile(running)
			if err != nil {
				t.Fatal(err)
			}
			if atOnce, calls := mostAtOnce(text); atOnce > most || calls != executions {
				t.Errorf("%d calls, %d of them at once", calls, atOnce)
			}
		})
	}
}

// mostAtOnce returns how many commands ran, and how many at once, from a line +
// for each beginning and - for each end.
func mostAtOnce(text []byte) (most, calls int) {
	running := 0
	for _, line := range bytes.Fields(text) {
		if string(line) == "+" {
			running++
			calls++
		} else {
			running--
		}
		most = max(most, running)
	}
	return most, calls
}
