package dynamo_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/waitless/waitless/pkg/aws/dynamo"
	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/internal/suite/enginetest"
	"github.com/waitless/waitless/pkg/internal/suite/resumetest"
	"github.com/waitless/waitless/pkg/internal/suite/scheduletest"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/schedule"
)

// Each suite asks for the emulator first: that there is none is said once, and
// not by every case.

// The list of flows is in the order of time, which has to pass for that.
func TestFlowList(t *testing.T) {
	t.Parallel()
	emulator.Config(t)
	enginetest.Definitions(t, func(t *testing.T) enginetest.DefinitionList { t.Helper(); return newTables(t, time.Now) })
}

func TestSchedules(t *testing.T) {
	t.Parallel()
	emulator.Config(t)
	scheduletest.Store(t, as[schedule.Store])
}

func TestIndex(t *testing.T) {
	t.Parallel()
	enginetest.Index(t, func(t *testing.T) enginetest.IndexedLog { t.Helper(); return newTables(t, atEpoch) })
}

func TestLog(t *testing.T) {
	t.Parallel()
	emulator.Config(t)
	enginetest.Log(t, as[engine.Log])
}

func TestFlows(t *testing.T) {
	t.Parallel()
	emulator.Config(t)
	enginetest.Flows(t, as[engine.Flows])
}

func TestStops(t *testing.T) {
	t.Parallel()
	emulator.Config(t)
	enginetest.Stops(t, as[engine.Stops])
}

func TestDescendants(t *testing.T) {
	t.Parallel()
	emulator.Config(t)
	enginetest.Descendants(t, as[engine.Descendants])
}

func TestPauses(t *testing.T) {
	t.Parallel()
	emulator.Config(t)
	enginetest.Pauses(t, as[engine.Pauses])
}

func TestJoins(t *testing.T) {
	t.Parallel()
	emulator.Config(t)
	enginetest.Joins(t, as[engine.Joins])
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	emulator.Config(t)
	enginetest.Outcomes(t, as[enginetest.Records])
}

func TestContract(t *testing.T) {
	t.Parallel()
	emulator.Config(t)
	enginetest.Contract(t, as[enginetest.Store])
}

func TestCrashes(t *testing.T) {
	t.Parallel()
	emulator.Config(t)
	enginetest.Crashes(t, sampled)
}

func TestRearms(t *testing.T) {
	t.Parallel()
	emulator.Config(t)
	enginetest.Rearms(t, sampled)
}

func TestInterleavings(t *testing.T) {
	t.Parallel()
	emulator.Config(t)
	enginetest.Interleavings(t, sampled)
}

func TestTokens(t *testing.T) {
	t.Parallel()
	emulator.Config(t)
	resumetest.Tokens(t, as[resume.TokenStore])
}

func TestResumeOutcomes(t *testing.T) {
	t.Parallel()
	emulator.Config(t)
	resumetest.Outcomes(t, as[resume.TokenStore])
}

func TestRendezvous(t *testing.T) {
	t.Parallel()
	emulator.Config(t)
	resumetest.Rendezvous(t, func(t *testing.T) resume.Rendezvous { t.Helper(); return meetings{newTables(t, atEpoch)} })
}

func TestUnmatchedEvents(t *testing.T) {
	t.Parallel()
	emulator.Config(t)
	resumetest.UnmatchedEvents(t, func(t *testing.T) resumetest.UnmatchedStore { t.Helper(); return newTables(t, atEpoch).Waits })
}

func TestExternalWaits(t *testing.T) {
	t.Parallel()
	emulator.Config(t)
	resumetest.ExternalWaits(t, func(t *testing.T) resumetest.Waits { t.Helper(); return newTables(t, atEpoch).Waits })
}

func TestJobs(t *testing.T) {
	t.Parallel()
	emulator.Config(t)
	resumetest.Jobs(t, func(t *testing.T) resumetest.JobsStore { t.Helper(); return newTables(t, atEpoch).Waits })
}

// meetings are tables that the suite can look into.
type meetings struct{ tables }

func (m meetings) Expires(t *testing.T, key jobs.Key) time.Time {
	t.Helper()
	found, err := m.client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &m.waits, Key: dynamo.JobKey(key), ConsistentRead: aws.Bool(true)})
	if err != nil {
		t.Fatal(err)
	}
	expires, ok := found.Item["expires"].(*types.AttributeValueMemberN)
	if !ok {
		if len(found.Item) > 0 {
			t.Errorf("the item has no expiry: %v", found.Item)
		}
		return time.Time{}
	}
	second, err := strconv.ParseInt(expires.Value, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.Unix(second, 0)
}

// runs is how many runs of each case are made where every order of effects
// would be a million calls; in memory and on disk each comes.
const runs = 5

func sampled(t *testing.T) enginetest.Store {
	t.Helper()
	return enginetest.Sampled(as[enginetest.Store](t), runs)
}

// as is a pair of tables as what a suite wants.
func as[S any](t *testing.T) S {
	t.Helper()
	return any(newTables(t, atEpoch)).(S)
}
