package disk_test

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/waitless/waitless/pkg/local/disk"
	"github.com/waitless/waitless/pkg/machine"
)

// The list is the same after a restart, whatever was known before.
func TestTheListOfFlowsOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	inStore := func(do func(s *disk.Store)) {
		t.Helper()
		store, err := disk.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		do(store)
		if list, err := store.Definitions(t.Context(), ""); err != nil || len(list) != 1 || list[0].Flow.Name != "stays" {
			t.Errorf("listed %v, %v", list, err)
		}
		if err := store.Shut(); err != nil {
			t.Fatal(err)
		}
	}
	inStore(func(s *disk.Store) {
		stays, err := s.Put(t.Context(), "stays", []byte(passOnly))
		if err != nil {
			t.Fatal(err)
		}
		gone, err := s.Put(t.Context(), "gone", []byte(passOnly))
		if err == nil {
			err = s.DeleteFlow(t.Context(), gone)
		}
		if err != nil {
			t.Fatal(err)
		}
		if text, err := s.FlowText(t.Context(), stays); err != nil || string(text) != passOnly {
			t.Errorf("text %q, %v", text, err)
		}
	})
	inStore(func(*disk.Store) {})
	inStore(func(s *disk.Store) {
		before, _ := s.Definitions(t.Context(), "stays")
		if _, err := s.Put(t.Context(), "stays", []byte(passOnly)); err != nil {
			t.Fatal(err)
		}
		after, err := s.Definitions(t.Context(), "stays")
		if err != nil || !after[0].Created.Equal(before[0].Created) {
			t.Errorf("created %v, then %v, %v", before, after, err)
		}
	})
}

// A definition that was put is listed, even if it is deleted at the same time.
func TestAFlowThatIsPutBesideADeletionIsListed(t *testing.T) {
	t.Parallel()
	store, err := disk.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	put := func() machine.FlowRef {
		flow, err := store.Put(t.Context(), "flow", []byte(passOnly))
		if err != nil {
			t.Error(err)
		}
		return flow
	}
	flow := put()
	const rounds, each = 50, 8
	for range rounds {
		var beside sync.WaitGroup
		for range each {
			beside.Go(func() { put() })
			beside.Go(func() {
				if err := store.DeleteFlow(t.Context(), flow); err != nil {
					t.Error(err)
				}
			})
		}
		beside.Wait()
		put()
		if list, err := store.Definitions(t.Context(), ""); err != nil || len(list) != 1 {
			t.Fatalf("listed %v, %v", list, err)
		}
	}
	if err := store.Shut(); err != nil {
		t.Error(err)
	}
}
