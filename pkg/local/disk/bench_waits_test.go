package disk_test

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/disk"
	"github.com/waitless/waitless/pkg/machine"
)

// openWaits is how many executions wait in BenchmarkOpenWaits: go test ./pkg/local/disk -run xxx
// -bench OpenWaits -benchtime 1x -waits 1000000 -timeout 1h.
var openWaits = flag.Int("waits", 10_000, "how many executions wait in BenchmarkOpenWaits")

const waitDay = "version: v1\ntype: flow\nsteps:\n  - {type: wait, name: Day, duration: 86400}\n"

// BenchmarkOpenWaits measures a store in which many executions wait: how fast they are made, the
// memory and the disk that each needs, pages of the list, executions beside them, and how long a
// restart takes until the process serves and until every wait has its timer again.
func BenchmarkOpenWaits(b *testing.B) {
	for range b.N {
		dir := filepath.Join(b.TempDir(), "store")
		before := heap()
		makeWaits(b, dir, *openWaits, before)
		restartWithWaits(b, dir)
	}
}

// waitCounter counts executions that wait, and those that end.
type waitCounter struct{ waiting, ended atomic.Int64 }

func (*waitCounter) Calling(machine.Call, time.Time) {}

// Committed implements [engine.Observer].
func (c *waitCounter) Committed(_ engine.ID, state machine.State, _ []machine.Event) {
	switch {
	case state.Status.Final():
		c.ended.Add(1)
	case state.Waiting != nil && state.Waiting.Due.Sub(state.Started) > time.Hour:
		c.waiting.Add(1)
	}
}

func makeWaits(b *testing.B, dir string, waits int, before uint64) {
	b.Helper()
	store, err := disk.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	seen := &waitCounter{}
	system, end := working(b, store, local.Config{Observer: seen})
	begin := time.Now()
	startMany(b, system, "day", waitDay, waits)
	for seen.waiting.Load() < int64(waits) {
		time.Sleep(time.Millisecond)
	}
	b.ReportMetric(float64(waits)/time.Since(begin).Seconds(), "waits-made/s")
	b.ReportMetric(float64(heap()-before)/float64(waits), "heap-B/wait")
	b.ReportMetric(float64(diskUse(b, dir))/float64(waits), "disk-B/wait")
	running := []machine.Status{machine.StatusRunning}
	for name, of := range map[string]engine.Selection{
		"newest": {}, "running": {Statuses: running}, "flow-running": {Flow: "day", Statuses: running},
		"failed": {Statuses: []machine.Status{machine.StatusFailed}},
	} {
		begin := time.Now()
		const pages = 100
		for range pages {
			if _, _, err := store.Executions(b.Context(), of, "", 25); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(time.Since(begin).Microseconds())/pages, name+"-us/page")
	}
	runBeside(b, system, seen, "beside", 0)
	end()
	if err := store.Shut(); err != nil {
		b.Fatal(err)
	}
}

// runBeside runs executions of one step, of which some have ended before, and reports how many end
// in a second.
func runBeside(b *testing.B, system *local.System, seen *waitCounter, name string, before int) {
	b.Helper()
	const beside = 5_000
	begin := time.Now()
	startMany(b, system, name, passOnly, beside)
	for seen.ended.Load() < int64(before+beside) {
		time.Sleep(time.Millisecond)
	}
	b.ReportMetric(beside/time.Since(begin).Seconds(), name+"/s")
}

// working serves a system until end is called.
func working(b *testing.B, store *disk.Store, config local.Config) (system *local.System, end func()) {
	b.Helper()
	const workers = 64
	config.Store, config.Workers = store, workers
	system = local.New(config)
	ctx, cancel := context.WithCancel(b.Context())
	var serving sync.WaitGroup
	serving.Go(func() { _ = system.Serve(ctx) }) // it ends with the context
	return system, func() {
		cancel()
		serving.Wait()
	}
}

func startMany(b *testing.B, system *local.System, name, text string, executions int) {
	b.Helper()
	flow, err := system.Client.PutFlow(b.Context(), name, []byte(text))
	if err != nil {
		b.Fatal(err)
	}
	const clients = 256
	var starting sync.WaitGroup
	for i := range clients {
		starting.Go(func() {
			for n := i; n < executions; n += clients {
				if _, err := system.Start(b.Context(), engine.StartRequest{Flow: flow, Execution: fmt.Sprintf("run-%d", n)}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	starting.Wait()
}

func restartWithWaits(b *testing.B, dir string) {
	b.Helper()
	begin := time.Now()
	store, err := disk.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(time.Since(begin).Seconds(), "open-s")
	seen, takenOver := &waitCounter{}, make(chan struct{})
	system, end := working(b, store, local.Config{Observer: seen, TakenOver: func() { close(takenOver) }})
	startMany(b, system, "first", passOnly, 1)
	for seen.ended.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	b.ReportMetric(time.Since(begin).Seconds(), "served-s")
	runBeside(b, system, seen, "beside-reading", 1)
	select {
	case <-takenOver:
		b.Log("all waits were read before the executions beside them had ended")
	default:
	}
	<-takenOver
	b.ReportMetric(time.Since(begin).Seconds(), "recovered-s")
	end()
	if err := store.Shut(); err != nil {
		b.Fatal(err)
	}
}

// heap returns the size of what is in use.
func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapInuse + stats.StackInuse
}

func diskUse(b *testing.B, dir string) (size int64) {
	b.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := os.Stat(path)
		if err == nil {
			size += info.Size()
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return size
}
