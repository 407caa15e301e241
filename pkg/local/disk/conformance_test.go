package disk_test

import (
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/internal/suite/enginetest"
	"github.com/waitless/waitless/pkg/internal/suite/resumetest"
	"github.com/waitless/waitless/pkg/internal/suite/scheduletest"
	"github.com/waitless/waitless/pkg/local/disk"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/schedule"
)

// openDisk opens a store that is shut when the test is over.
func openDisk(tb testing.TB, dir string) *disk.Store {
	tb.Helper()
	store, err := disk.Open(dir)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := store.Shut(); err != nil {
			tb.Error(err)
		}
	})
	return store
}

func TestLog(t *testing.T)         { t.Parallel(); enginetest.Log(t, as[engine.Log]) }
func TestFlows(t *testing.T)       { t.Parallel(); enginetest.Flows(t, as[engine.Flows]) }
func TestOutcomes(t *testing.T)    { t.Parallel(); enginetest.Outcomes(t, as[enginetest.Records]) }
func TestStops(t *testing.T)       { t.Parallel(); enginetest.Stops(t, as[engine.Stops]) }
func TestDescendants(t *testing.T) { t.Parallel(); enginetest.Descendants(t, as[engine.Descendants]) }
func TestPauses(t *testing.T)      { t.Parallel(); enginetest.Pauses(t, as[engine.Pauses]) }
func TestJoins(t *testing.T)       { t.Parallel(); enginetest.Joins(t, as[engine.Joins]) }
func TestLargeValues(t *testing.T) { t.Parallel(); enginetest.LargeValues(t, as[engine.LargeValues]) }
func TestContract(t *testing.T)    { t.Parallel(); enginetest.Contract(t, as[enginetest.Store]) }

func TestFlowList(t *testing.T) {
	t.Parallel()
	enginetest.Definitions(t, as[enginetest.DefinitionList])
}

func TestSchedules(t *testing.T) { t.Parallel(); scheduletest.Store(t, as[schedule.Store]) }

func TestIndex(t *testing.T) { t.Parallel(); enginetest.Index(t, as[enginetest.IndexedLog]) }

func TestCrashes(t *testing.T) {
	t.Parallel()
	skipInShort(t)
	enginetest.Crashes(t, inMemory)
}

func TestRearms(t *testing.T) {
	t.Parallel()
	skipInShort(t)
	enginetest.Rearms(t, as[enginetest.Store])
}

func TestInterleavings(t *testing.T) {
	t.Parallel()
	skipInShort(t)
	enginetest.Interleavings(t, inMemory)
}

func TestTokens(t *testing.T) {
	t.Parallel()
	resumetest.Tokens(t, as[resume.TokenStore])
}

func TestResumeOutcomes(t *testing.T) {
	t.Parallel()
	resumetest.Outcomes(t, as[resume.TokenStore])
}

func TestJobs(t *testing.T) {
	t.Parallel()
	resumetest.Jobs(t, func(t *testing.T) resumetest.JobsStore {
		t.Helper()
		return resumetest.WithExternalWaits(as[*disk.Store](t))
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

// skipInShort leaves out of -short the runs of all orders of effects.
func skipInShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("all orders of effects take half a minute; the store in memory has the same test")
	}
}

// as is a store on disk as what a suite wants.
func as[S any](t *testing.T) S {
	t.Helper()
	return any(openDisk(t, filepath.Join(t.TempDir(), "store"))).(S)
}

// inMemory returns a store whose files are in memory. In these suites workers die and the store
// stays open, so a disk would add the time of its syncs and no case. Of flows with forks it makes
// some of the runs; the store in memory, which shares their code, makes all.
func inMemory(t *testing.T) enginetest.Store {
	t.Helper()
	const runs = 100
	store, err := disk.OpenOn(vfs.NewMem())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Shut(); err != nil {
			t.Error(err)
		}
	})
	return enginetest.SampledForks(store, runs)
}
