package disk_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/internal/suite/resumetest"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// BenchmarkDurablePolling runs executions of the polling sample, changed so that it is done at the
// third poll. Before each poll it waits for no time, or has a timer of a millisecond, alone or
// beside other executions that wait for an hour.
func BenchmarkDurablePolling(b *testing.B) {
	text := replaceOnce(b, sample(b, "polling"), `$.status == "success"`, `$.try_count == 3`)
	for _, inFlight := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("%d-in-flight", inFlight), func(b *testing.B) {
			benchmarkDurable(b, replaceOnce(b, text, "duration: 10\n", "duration: 0\n"), inFlight, 0)
		})
	}
	for _, others := range []int{0, 10_000} {
		b.Run(fmt.Sprintf("timers-64-in-flight-%d-others", others), func(b *testing.B) { benchmarkDurable(b, text, 64, others) })
	}
}

// BenchmarkDurableCallback runs executions of the callback sample, each token
// closed as soon as its task is submitted.
func BenchmarkDurableCallback(b *testing.B) {
	text := sample(b, "callback")
	for _, inFlight := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("%d-in-flight", inFlight), func(b *testing.B) { benchmarkDurable(b, text, inFlight, 0) })
	}
}

func sample(b *testing.B, name string) string {
	b.Helper()
	text, err := os.ReadFile("../../../events/" + name + "/flow.yaml")
	if err != nil {
		b.Fatal(err)
	}
	return string(text)
}

func replaceOnce(b *testing.B, text, old, new string) string {
	b.Helper()
	if strings.Count(text, old) != 1 {
		b.Fatalf("the sample has %q %d times; want once", old, strings.Count(text, old))
	}
	return strings.Replace(text, old, new, 1)
}

// benchmarkDurable runs executions in one system on the real clock. So many of them are in flight
// at once, with a worker each, so that they share syncs, and so many others wait.
func benchmarkDurable(b *testing.B, text string, inFlight, others int) {
	b.Helper()
	store, syncs := countedStore(b)
	s := serve(b, store, text, inFlight)
	s.startOthers(b, store, others)
	before := syncs.Load()
	var next atomic.Int64
	var all sync.WaitGroup
	b.ResetTimer()
	for range inFlight {
		all.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				s.start(b, i)
				s.awaitOne(b)
			}
		})
	}
	all.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "executions/s")
	b.ReportMetric(float64(syncs.Load()-before)/b.Elapsed().Seconds(), "fsyncs/s")
	b.ReportMetric(float64(syncs.Load()-before)/float64(b.N), "fsyncs/execution")
}

// BenchmarkCallbackLatency is the time from closing a token to the end of its
// execution, when nothing else is under way.
func BenchmarkCallbackLatency(b *testing.B) {
	text := sample(b, "callback")
	store, syncs := countedStore(b) // leaves the folder of the samples
	s := serve(b, store, text, 1)
	before := syncs.Load()
	took := make([]time.Duration, 0, b.N)
	b.ResetTimer()
	for i := range int64(b.N) {
		s.start(b, i)
		text := <-s.submitted
		begin := time.Now()
		s.close(b, text)
		took = append(took, (<-s.ended).Sub(begin))
	}
	b.StopTimer()
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2].Seconds()*1000, "p50-ms")
	b.ReportMetric(took[len(took)*99/100].Seconds()*1000, "p99-ms")
	b.ReportMetric(float64(syncs.Load()-before)/float64(b.N), "fsyncs/execution")
}

// served is a system at work, and an observer of it.
type served struct {
	*local.System
	keys       token.Keys
	flow       machine.FlowRef
	definition *flow.Flow
	submitted  chan string    // tokens of tasks that were submitted
	ended      chan time.Time // when executions did
}

// serve begins a system that serves until the end of the benchmark.
func serve(b *testing.B, store local.Store, text string, workers int) *served {
	b.Helper()
	tasks, err := local.NewFunctions(&local.Clock{}, nil)
	if err != nil {
		b.Fatal(err)
	}
	s := &served{keys: store.Keys(), submitted: make(chan string, workers), ended: make(chan time.Time, workers)}
	if s.flow, err = store.Put(b.Context(), "flow", []byte(text)); err != nil {
		b.Fatal(err)
	}
	if s.definition, err = store.Flow(b.Context(), s.flow); err != nil {
		b.Fatal(err)
	}
	shortenWaits(s.definition)
	s.System = local.New(local.Config{Store: store, Functions: tasks, Observer: s, Workers: workers})
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.Context()))
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := s.Serve(ctx); !errors.Is(err, context.Canceled) {
			b.Error(err)
		}
	})
	b.Cleanup(serving.Wait)
	b.Cleanup(cancel) // before the wait
	return s
}

// shortenWaits lets the waits of a definition take a millisecond, which FDL cannot say.
func shortenWaits(def *flow.Flow) {
	for _, step := range def.All {
		if wait, ok := step.Kind.(*flow.Wait); ok && wait.Duration > 0 {
			wait.Duration = time.Millisecond
		}
	}
}

// startOthers starts executions that wait for an hour.
func (s *served) startOthers(b *testing.B, store local.Store, others int) {
	b.Helper()
	flow, err := store.Put(b.Context(), "other", []byte(waitHour))
	if err != nil {
		b.Fatal(err)
	}
	var next atomic.Int64
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for i := next.Add(1); i <= int64(others); i = next.Add(1) {
				if _, err := s.Start(b.Context(), engine.StartRequest{Flow: flow, Execution: fmt.Sprintf("other-%d", i)}); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
}

func (s *served) Calling(machine.Call, time.Time) {}

// Committed implements [engine.Observer].
func (s *served) Committed(_ engine.ID, state machine.State, events []machine.Event) {
	if state.Lane != nil {
		return
	}
	if state.Status.Final() {
		s.ended <- time.Now()
		return
	}
	if len(events) > 0 && events[len(events)-1].Type == machine.TaskSubmitted {
		text, _ := machine.Token(s.keys, s.definition, state)
		s.submitted <- text
	}
}

func (s *served) start(b *testing.B, number int64) {
	b.Helper()
	request := engine.StartRequest{
		Flow: s.flow, Execution: fmt.Sprintf("run-%d", number),
		Input: value.Object(value.Member{Key: "delay", Value: value.Int(30)}),
	}
	if answer, err := s.Start(b.Context(), request); err != nil || answer != engine.StartedNew {
		b.Errorf("the start is answered with %d, error %v", answer, err)
	}
}

// awaitOne awaits the end of any execution, or the submission of a task, whose
// token it closes.
func (s *served) awaitOne(b *testing.B) {
	b.Helper()
	for {
		select {
		case text := <-s.submitted:
			s.close(b, text)
		case <-s.ended:
			return
		}
	}
}

func (s *served) close(b *testing.B, text string) {
	b.Helper()
	outcome := token.Success(value.Object(value.Member{Key: "status", Value: value.String("ok")}))
	if answer, _, err := resumetest.Close(b.Context(), s.Tokens, text, outcome); err != nil || answer != resume.Closed {
		b.Errorf("the closing is answered with %d, error %v", answer, err)
	}
}
