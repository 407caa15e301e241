//go:build unix

package local_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/machine"
)

// TestCommandTakesItsChildrenWithIt: what a stopped command started in the
// background ends too. It holds a pipe open, which ends when it does.
func TestCommandTakesItsChildrenWithIt(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	tasks, err := local.NewFunctions(&local.Clock{}, map[string]string{
		"Work": "exec:sh -c 'exec 3>" + pipe + "; sleep 1000 & echo ready >&3; wait'",
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	returned := make(chan error, 1)
	go func() {
		_, err := tasks.Call(ctx, machine.Call{Step: "Work", Resource: flow.Resource{Function: "Work"}})
		returned <- err
	}()
	opened := make(chan *os.File, 1)
	go func() { // it waits until the command opens the other end
		file, err := os.Open(pipe)
		if err != nil {
			t.Error(err)
		}
		opened <- file
	}()
	var file *os.File
	select {
	case file = <-opened:
	case err := <-returned:
		t.Fatalf("the command ended before it opened the pipe: error %v", err)
	case <-time.After(local.Patience):
		t.Fatal("the command does not open the pipe")
	}
	t.Cleanup(func() { _ = file.Close() })
	if err := file.SetReadDeadline(time.Now().Add(local.Patience)); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(file)
	if line, err := lines.ReadString('\n'); line != "ready\n" {
		t.Fatalf("read %q, %v", line, err)
	}
	cancel()
	if err := local.Within(t, returned, "the end of the command"); !errors.Is(err, context.Canceled) {
		t.Errorf("Call answered %v", err)
	}
	if err := file.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(lines); err != nil || len(rest) > 0 {
		t.Errorf("the child lives on: read %q, %v", rest, err)
	}
}
