//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/waitless/waitless/pkg/internal/cli/view"
)

// A long call has an internal token, which no caller can close.
func TestLongCallHasNoCallbackToken(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	began := filepath.Join(t.TempDir(), "began")
	if err := syscall.Mkfifo(began, 0o600); err != nil {
		t.Fatal(err)
	}
	run := runInBackground(t, env, "testdata/flows/task.yaml", "--name", "one", "--task", "Work=exec:sh -c 'echo > "+began+"; exec sleep 60'")
	if _, err := os.ReadFile(began); err != nil { // once the call is made, the store says that it is waited for
		t.Fatal(err)
	}
	for _, args := range [][]string{{"list"}, {"show", "task/one"}} {
		if got := doWith(t, "", env, args...); !strings.Contains(got.stdout, "Work waits for a call") || strings.Contains(got.stdout, "callback") {
			t.Errorf("%v: %+v", args, got)
		}
	}
	run.stop()
	if code := run.wait(); code != view.ExitInterrupted {
		t.Errorf("exit %d", code)
	}
}
