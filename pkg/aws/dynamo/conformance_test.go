package dynamo_test

import (
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/engine/enginetest"
	"github.com/waitless/waitless/pkg/httpapi/rest/resttest"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/resume/resumetest"
)

func TestLog(t *testing.T)      { t.Parallel(); enginetest.Log(t, as[engine.Log]) }
func TestFlows(t *testing.T)    { t.Parallel(); enginetest.Flows(t, as[engine.Flows]) }
func TestOutcomes(t *testing.T) { t.Parallel(); enginetest.Outcomes(t, as[enginetest.Records]) }
func TestContract(t *testing.T) { t.Parallel(); enginetest.Contract(t, as[enginetest.Store]) }

func TestFlowList(t *testing.T) { t.Parallel(); resttest.Flows(t, as[resttest.Store]) }

// Every order of effects would be a million calls; in memory and on disk each
// comes.
const runs = 5

func sampled(t *testing.T) enginetest.Store {
	t.Helper()
	return enginetest.Sampled(as[enginetest.Store](t), runs)
}

func TestCrashes(t *testing.T)       { t.Parallel(); enginetest.Crashes(t, sampled) }
func TestInterleavings(t *testing.T) { t.Parallel(); enginetest.Interleavings(t, sampled) }

func TestTokens(t *testing.T) {
	t.Parallel()
	resumetest.Tokens(t, as[resume.Outcomes])
}

func TestResumeOutcomes(t *testing.T) {
	t.Parallel()
	resumetest.Outcomes(t, as[resume.Outcomes])
}

// as is a pair of tables as what a suite wants.
func as[S any](t *testing.T) S {
	t.Helper()
	return any(newTables(t, atEpoch)).(S)
}
