//go:build !linux

package local_test

import "testing"

// refuseMemory knows no folders in memory here.
func refuseMemory(*testing.B, string) {}
