package store_test

import (
	"context"
	"sync"
	"testing"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/internal/suite/enginetest"
	"github.com/waitless/waitless/pkg/internal/suite/resumetest"
	"github.com/waitless/waitless/pkg/internal/suite/scheduletest"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/schedule"
)

func memory(*testing.T) *store.Memory { return &store.Memory{} }

func TestLog(t *testing.T)           { t.Parallel(); enginetest.Log(t, as[engine.Log]) }
func TestFlows(t *testing.T)         { t.Parallel(); enginetest.Flows(t, as[engine.Flows]) }
func TestOutcomes(t *testing.T)      { t.Parallel(); enginetest.Outcomes(t, as[enginetest.Records]) }
func TestStops(t *testing.T)         { t.Parallel(); enginetest.Stops(t, as[engine.Stops]) }
func TestDescendants(t *testing.T)   { t.Parallel(); enginetest.Descendants(t, as[engine.Descendants]) }
func TestPauses(t *testing.T)        { t.Parallel(); enginetest.Pauses(t, as[engine.Pauses]) }
func TestJoins(t *testing.T)         { t.Parallel(); enginetest.Joins(t, as[engine.Joins]) }
func TestLargeValues(t *testing.T)   { t.Parallel(); enginetest.LargeValues(t, as[engine.LargeValues]) }
func TestContract(t *testing.T)      { t.Parallel(); enginetest.Contract(t, as[enginetest.Store]) }
func TestCrashes(t *testing.T)       { t.Parallel(); enginetest.Crashes(t, orders) }
func TestRearms(t *testing.T)        { t.Parallel(); enginetest.Rearms(t, as[enginetest.Store]) }
func TestInterleavings(t *testing.T) { t.Parallel(); enginetest.Interleavings(t, orders) }

// orders is a store in which every order of effects is run, and under -short a sample of them: all
// take a minute of a processor.
func orders(t *testing.T) enginetest.Store {
	t.Helper()
	if testing.Short() {
		return enginetest.Sampled(as[enginetest.Store](t), 50)
	}
	return as[enginetest.Store](t)
}

// as is a memory store as what a suite wants.
func as[S any](t *testing.T) S {
	t.Helper()
	return any(memory(t)).(S)
}

func TestResumeOutcomes(t *testing.T) {
	t.Parallel()
	resumetest.Outcomes(t, func(*testing.T) resume.TokenStore { return &store.Memory{} })
}

func TestFlowList(t *testing.T) {
	t.Parallel()
	enginetest.Definitions(t, as[enginetest.DefinitionList])
}

func TestSchedules(t *testing.T) { t.Parallel(); scheduletest.Store(t, as[schedule.Store]) }

func TestIndex(t *testing.T) { t.Parallel(); enginetest.Index(t, as[enginetest.IndexedLog]) }

func TestTokens(t *testing.T) {
	t.Parallel()
	resumetest.Tokens(t, func(*testing.T) resume.TokenStore { return &store.Memory{} })
}

func TestExternalWaits(t *testing.T) {
	t.Parallel()
	resumetest.ExternalWaits(t, func(t *testing.T) resumetest.Waits {
		t.Helper()
		return resumetest.WithExternalWaits(as[resumetest.LocalStore](t))
	})
}

func TestJobs(t *testing.T) {
	t.Parallel()
	resumetest.Jobs(t, func(t *testing.T) resumetest.JobsStore {
		t.Helper()
		return resumetest.WithExternalWaits(as[resumetest.LocalStore](t))
	})
}

func TestRendezvous(t *testing.T) {
	t.Parallel()
	resumetest.Rendezvous(t, as[resume.Rendezvous])
}

func TestUnmatchedEvents(t *testing.T) {
	t.Parallel()
	resumetest.UnmatchedEvents(t, as[resumetest.UnmatchedStore])
}

// startCounter is a store that knows which executions were started in it, without those that are
// sub-flows or redrives.
type startCounter struct {
	enginetest.Store
	mu      sync.Mutex
	started map[engine.ID]bool
}

func (s *startCounter) Append(ctx context.Context, item engine.Item) error {
	state, _, err := machine.Decode(machine.ItemOrigin(item.Execution, item.Seq), item.Body)
	if err != nil || state.Lane == nil && state.Parent == nil && state.Redriven == nil {
		s.mu.Lock()
		s.started[item.Execution] = true
		s.mu.Unlock()
	}
	return s.Store.Append(ctx, item)
}

func TestASampledStoreIsSparedMostRuns(t *testing.T) {
	t.Parallel()
	const runs = 3
	open := func(t *testing.T) enginetest.Store {
		t.Helper()
		s := &startCounter{Store: memory(t), started: map[engine.ID]bool{}}
		t.Cleanup(func() {
			if len(s.started) != runs {
				t.Errorf("%d runs, want %d", len(s.started), runs)
			}
		})
		return enginetest.Sampled(s, runs)
	}
	enginetest.Crashes(t, open)
	enginetest.Interleavings(t, open)
}
