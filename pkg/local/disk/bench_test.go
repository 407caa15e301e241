package disk_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/disk"
	"github.com/waitless/waitless/pkg/machine"
)

// BenchmarkDurablePolling runs executions of the polling sample with three
// polls on disk, its waits skipped by the virtual clock; so many executions are
// in flight at once.
func BenchmarkDurablePolling(b *testing.B) {
	text, err := os.ReadFile("../../../events/polling/flow.yaml")
	if err != nil {
		b.Fatal(err)
	}
	for _, inFlight := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("%d-in-flight", inFlight), func(b *testing.B) { benchmarkDurable(b, text, inFlight) })
	}
}

func benchmarkDurable(b *testing.B, text []byte, inFlight int) {
	b.Helper()
	store, syncs := countedStore(b)
	flow, err := store.Put(b.Context(), "polling", text)
	if err != nil {
		b.Fatal(err)
	}
	input := expr.Object(expr.Member{Key: "delay", Value: expr.Int(30)})
	before := syncs.Load()
	var next atomic.Int64
	var all sync.WaitGroup
	b.ResetTimer()
	for range inFlight {
		// A system and a virtual clock each: in one, time would stand still
		// until all the others wait.
		all.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				runOne(b, store, engine.StartRequest{Flow: flow, Execution: fmt.Sprintf("run-%d", i), Input: input})
			}
		})
	}
	all.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "executions/s")
	b.ReportMetric(float64(syncs.Load()-before)/b.Elapsed().Seconds(), "fsyncs/s")
	b.ReportMetric(float64(syncs.Load()-before)/float64(b.N), "fsyncs/execution")
}

// volatile is a durable store of which a system knows only that it is a store:
// it recovers nothing.
type volatile struct{ local.Store }

func runOne(b *testing.B, store *disk.Store, request engine.StartRequest) {
	b.Helper()
	clock := local.NewVirtualClock(epoch)
	tasks, err := local.NewTasks(clock, nil)
	if err != nil {
		b.Error(err)
		return
	}
	system := local.New(local.Config{Store: volatile{store}, Clock: clock, Tasks: tasks})
	if _, err := system.Start(b.Context(), request); err != nil {
		b.Error(err)
		return
	}
	if err := system.Run(context.WithoutCancel(b.Context())); err != nil {
		b.Error(err)
	}
}

// countedStore is a store on a disk that is none in memory, and how often that
// was synced.
func countedStore(b *testing.B) (*disk.Store, *atomic.Int64) {
	b.Helper()
	dir := b.TempDir()
	refuseMemory(b, dir)
	var syncs atomic.Int64
	b.Chdir(dir)
	store, err := disk.OpenOn(errorfs.Wrap(disk.OnDisk(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if isSync(op) {
			syncs.Add(1)
		}
		return nil
	})))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := store.Shut(); err != nil {
			b.Error(err)
		}
	})
	return store, &syncs
}

// BenchmarkDurableAppend puts items of 1 KB, each durable when it is answered.
func BenchmarkDurableAppend(b *testing.B) {
	for _, inFlight := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("%d-in-flight", inFlight), func(b *testing.B) {
			store, syncs := countedStore(b)
			before := syncs.Load()
			body := make([]byte, 1000)
			var next atomic.Int64
			var all sync.WaitGroup
			b.ResetTimer()
			for writer := range inFlight {
				id := engine.NewID("flow", fmt.Sprint(writer))
				all.Go(func() {
					for seq := uint64(0); next.Add(1) <= int64(b.N); seq++ {
						if err := store.Append(b.Context(), engine.Item{Execution: id, Seq: seq, Nonce: "0123456789abcdef", Body: body}); err != nil {
							b.Error(err)
						}
					}
				})
			}
			all.Wait()
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
			b.ReportMetric(float64(syncs.Load()-before)/b.Elapsed().Seconds(), "fsyncs/s")
		})
	}
}

// BenchmarkRestart opens a store with so many sleeping executions and brings
// back their wakes.
func BenchmarkRestart(b *testing.B) {
	for _, executions := range []int{10_000, 100_000} {
		b.Run(fmt.Sprintf("%d-sleeping", executions), func(b *testing.B) { benchmarkRestart(b, executions) })
	}
}

func benchmarkRestart(b *testing.B, executions int) {
	b.Helper()
	dir := filepath.Join(b.TempDir(), "store")
	refuseMemory(b, filepath.Dir(dir))
	fillSleeping(b, dir, executions)
	var heap uint64
	for b.Loop() {
		before := heapSize()
		store, err := disk.Open(dir)
		if err != nil {
			b.Fatal(err)
		}
		system := local.New(local.Config{Store: store, Clock: local.NewVirtualClock(epoch.Add(time.Minute))})

		if err := system.TakeOver(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		heap = heapSize() - before
		runtime.KeepAlive(system)
		if err := store.Shut(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(heap)/float64(executions), "B/execution")
}

func heapSize() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// fillSleeping makes a store with executions that wait for an hour.
func fillSleeping(b *testing.B, dir string, executions int) {
	b.Helper()
	store, err := disk.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	flow, err := store.Put(b.Context(), "flow", []byte(waitHour))
	if err != nil {
		b.Fatal(err)
	}
	var next atomic.Int64
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for i := next.Add(1); i <= int64(executions); i = next.Add(1) {
				sleepOne(b, store, engine.StartRequest{Flow: flow, Execution: fmt.Sprintf("run-%d", i)})
			}
		})
	}
	all.Wait()
	if err := store.Shut(); err != nil {
		b.Fatal(err)
	}
}

// sleepOne starts an execution and ends its process when it sleeps.
func sleepOne(b *testing.B, store *disk.Store, request engine.StartRequest) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	observer := &process{ends: waits, end: cancel}
	system := local.New(local.Config{Store: volatile{store}, Clock: local.NewVirtualClock(epoch), Observer: observer})
	if _, err := system.Start(ctx, request); err != nil {
		b.Error(err)
		return
	}
	_ = system.Run(ctx) // ends with the context
	if state, err := system.Describe(b.Context(), engine.NewID("flow", request.Execution)); err != nil || state.Status != machine.StatusRunning {
		b.Errorf("the execution is %s, error %v", state.Status, err)
	}
}
