package disk_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/waitless/waitless/pkg/engine"
	_ "github.com/waitless/waitless/pkg/internal/collector" // the command's growth of the heap
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/disk"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
)

// volatile is a durable store from which a system recovers nothing.
type volatile struct{ local.Store }

func (volatile) Generation() uint64 { return 0 }

func (volatile) Unfinished(context.Context) ([]store.Unfinished, error) {
	return nil, nil
}

func (volatile) Waiting(context.Context, resume.Poll, int) ([]resume.Poll, error) { return nil, nil }

// countedStore is a store on a disk, not in memory, and how often that
// was synced.
func countedStore(b *testing.B) (*disk.Store, *atomic.Int64) {
	b.Helper()
	dir := b.TempDir()
	refuseMemory(b, dir)
	b.Chdir(dir)
	counted := countedFS{disk.OnDisk(), new(atomic.Int64)}
	store, err := disk.OpenOn(counted)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := store.Shut(); err != nil {
			b.Error(err)
		}
	})
	return store, counted.syncs
}

// countedFS counts how often files and folders are synced.
type countedFS struct {
	vfs.FS
	syncs *atomic.Int64
}

func (c countedFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := c.FS.Create(name, category)
	return countedFile{f, c.syncs}, err
}

func (c countedFS) ReuseForWrite(before, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := c.FS.ReuseForWrite(before, name, category)
	return countedFile{f, c.syncs}, err
}

func (c countedFS) OpenDir(name string) (vfs.File, error) {
	f, err := c.FS.OpenDir(name)
	return countedFile{f, c.syncs}, err
}

type countedFile struct {
	vfs.File
	syncs *atomic.Int64
}

func (c countedFile) Sync() error {
	c.syncs.Add(1)
	return c.File.Sync()
}

func (c countedFile) SyncData() error {
	c.syncs.Add(1)
	return c.File.SyncData()
}

func (c countedFile) SyncTo(length int64) (bool, error) {
	c.syncs.Add(1)
	return c.File.SyncTo(length)
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
	before := heapSize()
	for b.Loop() {
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
		before = heapSize()
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
	if state, err := system.Client.Describe(b.Context(), engine.NewID("flow", request.Execution)); err != nil || state.Status != machine.StatusRunning {
		b.Errorf("the execution is %s, error %v", state.Status, err)
	}
}
