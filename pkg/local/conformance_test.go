package local_test

import (
	"testing"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/engine/enginetest"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/resume/resumetest"
)

func memory(*testing.T) local.Store { return &local.MemoryStore{} }

func TestLog(t *testing.T)           { t.Parallel(); enginetest.Log(t, as[engine.Log]) }
func TestFlows(t *testing.T)         { t.Parallel(); enginetest.Flows(t, as[engine.Flows]) }
func TestOutcomes(t *testing.T)      { t.Parallel(); enginetest.Outcomes(t, as[enginetest.Records]) }
func TestContract(t *testing.T)      { t.Parallel(); enginetest.Contract(t, as[enginetest.Store]) }
func TestCrashes(t *testing.T)       { t.Parallel(); enginetest.Crashes(t, as[enginetest.Store]) }
func TestInterleavings(t *testing.T) { t.Parallel(); enginetest.Interleavings(t, as[enginetest.Store]) }

// as is a memory store as what a suite wants.
func as[S any](t *testing.T) S {
	t.Helper()
	return any(memory(t)).(S)
}

func TestMemoryStoreOutcomes(t *testing.T) {
	t.Parallel()
	resumetest.Outcomes(t, func(*testing.T) resume.Outcomes { return &local.MemoryStore{} })
}

func TestMemoryStoreTokens(t *testing.T) {
	t.Parallel()
	resumetest.Tokens(t, func(*testing.T) resume.Outcomes { return &local.MemoryStore{} })
}
