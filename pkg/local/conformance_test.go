package local_test

import (
	"testing"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/engine/enginetest"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/resume/resumetest"
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

func TestMemoryStoreOutcomes(t *testing.T) {
	t.Parallel()
	resumetest.Outcomes(t, func(*testing.T) resume.Outcomes { return &local.MemoryStore{} })
}

func TestMemoryStoreTokens(t *testing.T) {
	t.Parallel()
	resumetest.Tokens(t, func(*testing.T) resume.Outcomes { return &local.MemoryStore{} })
}
