//go:build unix

package cli

import (
	"context"
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

// Reading a pipe waits for a writer, who may never come.
func TestPipesAmongFlowsAreNotRead(t *testing.T) {
	t.Parallel()
	folder := validateFolder(t, map[string]string{"a.yaml": namelessFlow, "x.yaml": "type: ROS\n"})
	for _, name := range []string{"p.yaml", "q.asl.json", scriptFile} {
		if err := syscall.Mkfifo(filepath.Join(folder, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wantSaid(t, do(t, "validate", folder), view.ExitSucceeded, "a.yaml: valid")
	wantSaid(t, do(t, "run", filepath.Join(folder, "a.yaml"), "--skip-time"), view.ExitUsage, "script.yaml is not a regular file")
}

func TestReadingAPipeEndsWithTheContext(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "p.yaml")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stderr strings.Builder
	c := Command{Args: []string{"validate", pipe}, Stdin: strings.NewReader(""), Stdout: &stderr, Stderr: &stderr, Getenv: environment(t, nil)}
	if exit := c.Run(ctx); exit != view.ExitInterrupted {
		t.Errorf("exit %d: %s", exit, stderr.String())
	}
}
