//go:build !linux

package disk_test

import "testing"

// refuseMemory knows no folders in memory here.
func refuseMemory(*testing.B, string) {}
