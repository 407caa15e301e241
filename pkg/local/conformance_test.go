package local_test

import (
	"testing"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/engine/enginetest"
	"github.com/waitless/waitless/pkg/local"
)

func TestMemoryStoreLog(t *testing.T) {
	t.Parallel()
	enginetest.Log(t, func(*testing.T) engine.Log { return &local.MemoryStore{} })
}

func TestMemoryStoreFlows(t *testing.T) {
	t.Parallel()
	enginetest.Flows(t, func(*testing.T) engine.Flows { return &local.MemoryStore{} })
}

func TestMemoryStoreContract(t *testing.T) {
	t.Parallel()
	enginetest.Contract(t, func(*testing.T) enginetest.Store { return &local.MemoryStore{} })
}

func TestMemoryStoreCrashes(t *testing.T) {
	t.Parallel()
	enginetest.Crashes(t, func(*testing.T) enginetest.Store { return &local.MemoryStore{} })
}

func TestMemoryStoreInterleavings(t *testing.T) {
	t.Parallel()
	enginetest.Interleavings(t, func(*testing.T) enginetest.Store { return &local.MemoryStore{} })
}
