//go:build !unix

package local

import "net"

// canCheck says whether isOpen works.
const canCheck = false

func isOpen(net.Conn) bool { return false }
