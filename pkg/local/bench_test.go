package local_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/value"
)

// BenchmarkPolling runs executions of the polling sample with three polls on
// the memory store, its waits skipped by the virtual clock. All executions in
// flight are started, then run to their ends. Another file does the same work in
// the Amazon States Language.
func BenchmarkPolling(b *testing.B) {
	for language, file := range map[string]string{"fdl": "../../events/polling/flow.yaml", "asl": "testdata/polling.asl.json"} {
		text, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		for _, inFlight := range []int{1, 64} {
			for _, workers := range []int{1, 4} {
				b.Run(fmt.Sprintf("%s/%d-in-flight/%d-workers", language, inFlight, workers), func(b *testing.B) {
					benchmarkPolling(b, text, inFlight, workers)
				})
			}
		}
	}
}

func benchmarkPolling(b *testing.B, text []byte, inFlight, workers int) {
	b.Helper()
	input := value.Object(value.Member{Key: "delay", Value: value.Int(30)})
	executions := 0
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for b.Loop() {
		// A new store each time: executions stay in a memory store for ever.
		store := &store.Memory{}
		clock := local.NewVirtualClock(time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC))
		tasks, err := local.NewFunctions(clock, nil)
		if err != nil {
			b.Fatal(err)
		}
		flow, err := store.Put(b.Context(), "polling", text)
		if err != nil {
			b.Fatal(err)
		}
		system := local.New(local.Config{Store: store, Clock: clock, Functions: tasks, Workers: workers})
		for i := range perSystem * inFlight {
			request := engine.StartRequest{Flow: flow, Execution: fmt.Sprintf("run-%d", i), Input: input}
			if _, err := system.Start(b.Context(), request); err != nil {
				b.Fatal(err)
			}
			if (i+1)%inFlight == 0 {
				runAll(b, system)
			}
		}
		executions += perSystem * inFlight
	}
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(executions)/b.Elapsed().Seconds(), "executions/s")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(executions), "allocs/execution")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(executions), "B/execution")
	b.ReportMetric(0, "ns/op") // an op is perSystem rounds, which says nothing
}

// perSystem is how many rounds a store lives, so that reading the definition
// does not count.
const perSystem = 100

func runAll(b *testing.B, system *local.System) {
	b.Helper()
	if err := system.Run(context.WithoutCancel(b.Context())); err != nil {
		b.Fatal(err)
	}
}
