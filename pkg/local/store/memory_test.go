package store_test

import (
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/local/store"
)

func TestMemoryStoreRejectsGaps(t *testing.T) {
	t.Parallel()
	var s store.Memory
	err := s.Append(t.Context(), engine.Item{Seq: 1})
	if engine.CodeOf(err) != engine.CodeInternal || !strings.Contains(err.Error(), "item 1 would leave a gap after 0 items") {
		t.Errorf("error %v", err)
	}
}

func TestMemoryStoreReportsInvalidFlows(t *testing.T) {
	t.Parallel()
	var s store.Memory
	_, err := s.Put(t.Context(), "sample", []byte("version: v1\ntype: flow\nsteps: []\n"))
	if err == nil || !strings.Contains(err.Error(), "sample:3") {
		t.Errorf("error %v, want the flow's name and the line", err)
	}
}
