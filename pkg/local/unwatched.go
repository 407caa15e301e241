//go:build !failpoints

package local

import "time"

// watched gives the ports as they are. In the build of the kill test it stops
// at every gap between two effects; see failpoints.go.
func watched(p ports) ports { return p }

// present is the instant of the real clock.
func present() time.Time { return time.Now() }
