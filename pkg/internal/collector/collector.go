// Package collector sets how often the garbage collector of a command runs. Import it for its
// effect.
//
// It must import nothing but the standard library's basics: Go initializes packages in the order of
// their import paths, as soon as all that they import is initialized. So this package comes before
// nearly all others, and the collector does not run while those initialize.
package collector

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// The collector runs when the heap has reached a goal. Executions make much garbage and keep
// little: with Go's default goal, twice what is in use, the collector takes a fifth of the time
// (BenchmarkDurablePolling), and it runs once before main, because the tables of libraries fill the
// smallest heap. A fixed multiple that is larger would also multiply what a large execution has in
// use. So the goal is the larger of smallGoal and twice what is in use, not counting what the
// program itself has in use (TestRunMemoryOfForeach).
const (
	smallGoal = 32 << 20
	program   = 4 << 20
	// smallestHeap is the goal of Go before the first run, at a growth of 100 %.
	smallestHeap = 4 << 20
)

func init() { //nolint:gochecknoinits // main would be too late
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(100 * smallGoal / smallestHeap)
		afterNextRun()
	}
}

// afterNextRun sets the growth after the next run of the collector, and after each later one. The
// collector finalizes an object without references.
func afterNextRun() {
	runtime.SetFinalizer(new([]byte), func(*[]byte) {
		inUse := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(inUse)
		live := int(inUse[0].Value.Uint64()) //nolint:gosec // a heap is never that large
		debug.SetGCPercent(100 * (max(smallGoal, 2*live-program) - live) / max(live, 1<<20))
		afterNextRun()
	})
}
