package disk_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/disk"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// BenchmarkList reads the list of 10,000 ended executions, as `waitless list --json` does.
func BenchmarkList(b *testing.B) {
	store := openDisk(b, b.TempDir()+"/store")
	system := local.New(local.Config{Store: store, Clock: local.NewVirtualClock(time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)), Workers: 64})
	flow, err := store.Put(b.Context(), "echo", []byte("version: v1\ntype: flow\nsteps:\n  - type: pass\n    name: One\n"))
	if err != nil {
		b.Fatal(err)
	}
	const executions = 10_000
	input := value.Object(value.Member{Key: "order", Value: value.String("an order of some length")}, value.Member{Key: "count", Value: value.Int(30)})
	var starts sync.WaitGroup
	for i := range 64 {
		starts.Go(func() {
			for n := i; n < executions; n += 64 {
				if _, err := system.Start(b.Context(), engine.StartRequest{Flow: flow, Execution: fmt.Sprintf("run-%d", n), Input: input}); err != nil {
					b.Error(err)
				}
			}
		})
	}
	starts.Wait()
	if err := system.Run(b.Context()); err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(rest.Handler(rest.Config{Engine: system.Client, Tokens: system.Tokens, Catalog: store}))
	b.Cleanup(server.Close)
	client := &rest.Client{Base: server.URL, HTTP: http.DefaultClient}
	b.ReportAllocs()
	for b.Loop() {
		if list, err := client.Executions(b.Context(), rest.Filter{}); err != nil || len(list) != executions {
			b.Fatal(len(list), err)
		}
	}
}

// BenchmarkIndex reads pages of the list of 100,000 executions, of which one in 1,000 is of another
// flow and runs.
func BenchmarkIndex(b *testing.B) {
	store := openOnMemory(b)
	const executions, one = 100_000, 1000
	var puts sync.WaitGroup
	for i := range 64 {
		puts.Go(func() {
			for n := i; n < executions; n += 64 {
				state := machine.State{
					Flow: machine.FlowRef{Name: "common", Hash: "hash"}, Execution: fmt.Sprintf("run-%d", n),
					Status: machine.StatusSucceeded, Started: epoch.Add(time.Duration(n) * time.Second), At: epoch,
				}
				if n%one == 0 {
					state.Flow.Name, state.Status = "rare", machine.StatusRunning
				}
				final := state.Status
				state.Status = machine.StatusRunning
				for seq := range uint64(2) {
					item := engine.Item{Execution: state.ID(), Seq: seq}
					item.Body, _ = machine.Encode(machine.ItemOrigin(item.Execution, seq), state, nil)
					if err := store.Append(b.Context(), item); err != nil {
						b.Error(err)
					}
					state.Status = final
				}
			}
		})
	}
	puts.Wait()
	for name, of := range map[string]engine.Selection{
		"newest": {}, "of a rare flow": {Flow: "rare"}, "of a rare status": {Statuses: []machine.Status{machine.StatusRunning}},
		"of none": {Flow: "none"}, "of two statuses": {Statuses: []machine.Status{machine.StatusRunning, machine.StatusFailed}},
		"of an hour": {Since: epoch.Add(time.Hour), Before: epoch.Add(2 * time.Hour)},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := store.Executions(b.Context(), of, "", executions/one); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func openOnMemory(b *testing.B) *disk.Store {
	b.Helper()
	store, err := disk.OpenOn(vfs.NewMem())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = store.Shut() })
	return store
}
