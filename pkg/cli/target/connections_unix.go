//go:build unix

package target

import "syscall"

// maxConnections returns how many connections a listener serves at once. There are two listeners, and half of the files that
// the process may open are left for the store. The operating system queues the others.
func maxConnections() int {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return fewConnections
	}
	return int(max(fewConnections, min(mostConnections, files.Cur/4)))
}
