//go:build !unix

package target

// maxConnections returns how many connections a listener serves at once. The operating system queues the others.
func maxConnections() int { return mostConnections }
