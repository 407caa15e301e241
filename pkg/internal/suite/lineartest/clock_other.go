//go:build !linux

package lineartest

import "time"

var begin = time.Now()

// now returns the time since the start of the process.
func now() time.Duration { return time.Since(begin) }
