//go:build unix

package local

import (
	"errors"
	"net"
	"syscall"
)

// canCheck says whether isOpen works.
const canCheck = true

// isOpen reports whether the server has neither closed an idle connection nor sent anything on it.
func isOpen(conn net.Conn) (open bool) {
	own, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := own.SyscallConn()
	if err != nil {
		return false
	}
	err = raw.Read(func(fd uintptr) (done bool) {
		var one [1]byte
		_, err := syscall.Read(int(fd), one[:])
		open = errors.Is(err, syscall.EAGAIN)
		return true
	})
	return err == nil && open
}
