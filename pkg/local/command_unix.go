//go:build unix

package local

import (
	"os/exec"
	"syscall"
)

// apart puts the command into a process group of its own. Ctrl-C at the terminal then reaches this
// process alone, and a kill ends the command together with the processes that it started.
func apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
