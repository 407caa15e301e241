package local_test

import (
	"testing"

	"github.com/waitless/waitless/pkg/engine/enginetest"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/resume/resumetest"
)

// openDisk opens a store that is shut when the test is over.
func openDisk(tb testing.TB, dir string) *local.DiskStore {
	tb.Helper()
	store, err := local.Open(dir)
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

func TestLog(t *testing.T)           { t.Parallel(); eachStore(t, enginetest.Log) }
func TestFlows(t *testing.T)         { t.Parallel(); eachStore(t, enginetest.Flows) }
func TestOutcomes(t *testing.T)      { t.Parallel(); eachStore(t, enginetest.Outcomes) }
func TestContract(t *testing.T)      { t.Parallel(); eachStore(t, enginetest.Contract) }
func TestCrashes(t *testing.T)       { t.Parallel(); eachStore(t, enginetest.Crashes) }
func TestInterleavings(t *testing.T) { t.Parallel(); eachStore(t, enginetest.Interleavings) }

// eachStore holds every store against a suite.
func eachStore[S any](t *testing.T, suite func(*testing.T, func(*testing.T) S)) {
	t.Helper()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			suite(t, func(t *testing.T) S {
				t.Helper()
				return any(open(t)).(S)
			})
		})
	}
}

func TestMemoryStoreOutcomes(t *testing.T) {
	t.Parallel()
	resumetest.Outcomes(t, func(*testing.T) resume.Outcomes { return &local.MemoryStore{} })
}

func TestMemoryStoreTokens(t *testing.T) {
	t.Parallel()
	resumetest.Tokens(t, func(*testing.T) resume.Outcomes { return &local.MemoryStore{} })
}
