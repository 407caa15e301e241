//go:build !unix

package target

// maxConnections returns how many connections a listener may have.
func maxConnections() int { return mostConnections }
