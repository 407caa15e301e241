package local_test

import (
	"testing"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/engine/enginetest"
	"github.com/waitless/waitless/pkg/local"
)

// openDisk opens a store that is shut when the test is over.
func openDisk(t testing.TB, dir string) *local.DiskStore {
	t.Helper()
	store, err := local.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Shut(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// TestStores holds every store against every suite.
func TestStores(t *testing.T) {
	t.Parallel()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testStore(t, open)
		})
	}
}

func testStore(t *testing.T, open func(t *testing.T) local.Store) {
	t.Helper()
	suites := map[string]func(t *testing.T){
		"Log":      func(t *testing.T) { enginetest.Log(t, func(t *testing.T) engine.Log { return open(t) }) },
		"Flows":    func(t *testing.T) { enginetest.Flows(t, func(t *testing.T) engine.Flows { return open(t) }) },
		"Contract": func(t *testing.T) { enginetest.Contract(t, func(t *testing.T) enginetest.Store { return open(t) }) },
		"Crashes":  func(t *testing.T) { enginetest.Crashes(t, func(t *testing.T) enginetest.Store { return open(t) }) },
		"Interleavings": func(t *testing.T) {
			enginetest.Interleavings(t, func(t *testing.T) enginetest.Store { return open(t) })
		},
	}
	for name, suite := range suites {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			suite(t)
		})
	}
}
