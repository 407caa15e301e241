// Package collector sets how often the garbage collector of a command runs. Import it for its
// effect.
//
// It must import nothing but the standard library's basics: Go initializes packages in the order of
// their import paths, as soon as all that they import is initialized. So this package comes before
// nearly all others, and the collector does not run while those initialize.
package collector

import (
	"os"
	"runtime/debug"
)

// growth is the growth of the heap, in percent, after which the collector runs. Executions make much
// garbage and keep little: with Go's default of 100 the collector takes a fifth of the time
// (BenchmarkDurablePolling). And the default runs once before main, because the tables of libraries
// fill the smallest heap.
const growth = 400

func init() { //nolint:gochecknoinits // main would be too late
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(growth)
	}
}
