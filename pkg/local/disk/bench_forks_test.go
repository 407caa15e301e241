package disk_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/internal/suite/enginetest"
	"github.com/waitless/waitless/pkg/local"
)

// BenchmarkDurableForks runs executions that are nothing but a fork, one after the other. Each item
// calls a built-in function.
//
//	go test -run '^$' -bench DurableForks ./pkg/local/disk
func BenchmarkDurableForks(b *testing.B) {
	for _, load := range enginetest.ForkLoads() {
		b.Run(load.Name, func(b *testing.B) {
			store, syncs := countedStore(b)
			s := serve(b, store, load.Flow, local.DefaultWorkers)
			synced := syncs.Load()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			executions := 0
			for b.Loop() {
				executions++
				request := engine.StartRequest{Flow: s.flow, Execution: fmt.Sprintf("run-%d", executions), Input: load.Input}
				if _, err := s.Start(b.Context(), request); err != nil {
					b.Fatal(err)
				}
				<-s.ended
			}
			runtime.ReadMemStats(&after)
			items := float64(executions * load.Calls)
			b.ReportMetric(items/b.Elapsed().Seconds(), "items/s")
			b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/items, "B/item")
			b.ReportMetric(float64(syncs.Load()-synced)/items, "fsyncs/item")
			b.ReportMetric(0, "ns/op") // an op is an execution
		})
	}
}
