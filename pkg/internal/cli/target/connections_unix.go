//go:build unix

package target

import "syscall"

// maxConnections returns how many connections a listener may have. `waitless dev` has four
// listeners: --listen, the socket and the console at both loopback addresses. Half of the files
// that the process may open are left for the store and for calls.
func maxConnections() int {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return fewConnections
	}
	return int(max(fewConnections, min(mostConnections, files.Cur/8)))
}
