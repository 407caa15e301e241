//go:build unix

package local

import (
	"os/exec"
	"syscall"
)

// apart puts the command into a process group of its own: Ctrl-C at the
// terminal is for us to answer, and a command that is told to stop takes what
// it started with it.
func apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
