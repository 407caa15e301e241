package dynamo_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/waitless/waitless/pkg/aws/dynamo"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// kept is how long the executions of these tests are kept.
const kept = time.Hour

// itemOf is an item of an execution that started so long after the epoch.
func itemOf(name string, seq uint64, status machine.Status, after time.Duration) engine.Item {
	flowText, execution, _ := strings.Cut(name, "/")
	state, events := machine.New(machine.FlowRef{Name: flowText, Hash: "hash"}, &flow.Flow{}, execution, value.Object(), epoch.Add(after),
		machine.Limits{Duration: kept / 2, Retention: kept / 2})
	state.Status = status
	item := engine.Item{Execution: engine.NewID(flowText, execution), Seq: seq, Nonce: fmt.Sprintf("%s-%d-%s", name, seq, after)}
	item.Body, _ = machine.Encode(machine.ItemOrigin(item.Execution, seq), state, events)
	return item
}

// mustAppend appends items. One that the client put again after a lost response is refused by
// itself.
func mustAppend(t *testing.T, log engine.Log, items ...engine.Item) {
	t.Helper()
	for _, item := range items {
		err := log.Append(t.Context(), item)
		if conflict, refused := errors.AsType[*engine.ConflictError](err); err != nil && (!refused || conflict.Nonce != item.Nonce) {
			t.Fatal(err)
		}
	}
}

// refusing is a server that rejects each condition, and does not return the item that is there.
type refusing struct{}

// Do implements [aws.HTTPClient].
func (refusing) Do(*http.Request) (*http.Response, error) {
	const body = `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"The conditional request failed"}`
	return &http.Response{StatusCode: http.StatusBadRequest, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

func TestARefusedAppendIsNeverASuccess(t *testing.T) {
	t.Parallel()
	client := dynamodb.NewFromConfig(aws.Config{Region: "eu-central-1", Credentials: aws.AnonymousCredentials{}, HTTPClient: refusing{}})
	err := dynamo.NewLog(client, "log", atEpoch).Append(t.Context(), itemOf("flow/one", 0, machine.StatusStarting, 0))
	if engine.CodeOf(err) != engine.CodeConflict {
		t.Errorf("error %v; want a conflict", err)
	}
}

// TestAnExpiredExecutionIsGoneAndItsNameFree: DynamoDB deletes what expired
// days later, item by item.
func TestAnExpiredExecutionIsGoneAndItsNameFree(t *testing.T) {
	t.Parallel()
	store := newTables(t, atEpoch)
	first := itemOf("flow/one", 0, machine.StatusStarting, 0)
	mustAppend(t, store, first)
	for seq := range uint64(5) {
		mustAppend(t, store, itemOf("flow/one", seq+1, machine.StatusRunning, 0))
	}
	before := dynamo.NewLog(store.client, store.log, func() time.Time { return epoch.Add(kept).Truncate(time.Second) })
	if latest, err := before.Latest(t.Context(), first.Execution); err != nil || latest.Seq != 5 {
		t.Errorf("in its last second: item %d, error %v", latest.Seq, err)
	}
	over := dynamo.NewLog(store.client, store.log, func() time.Time { return epoch.Add(kept + time.Second).Truncate(time.Second) })
	if _, err := over.Latest(t.Context(), first.Execution); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("after its end: error %v", err)
	}
	if items, err := over.Items(t.Context(), first.Execution, 0, 10); err != nil || len(items) > 0 {
		t.Errorf("after its end: %d items, error %v", len(items), err)
	}
	if items, err := over.Get(t.Context(), first.Key()); err != nil || len(items) > 0 {
		t.Errorf("after its end: %d items by key, error %v", len(items), err)
	}
	again := itemOf("flow/one", 0, machine.StatusStarting, 2*kept)
	mustAppend(t, over, again)
	if latest, err := over.Latest(t.Context(), first.Execution); err != nil || latest.Nonce != again.Nonce {
		t.Errorf("started again: latest is by %s, error %v; want %s", latest.Nonce, err, again.Nonce)
	}
	next := itemOf("flow/one", 1, machine.StatusRunning, 2*kept)
	mustAppend(t, over, next)
	if items, err := over.Items(t.Context(), first.Execution, 0, 10); err != nil || len(items) != 2 || items[1].Nonce != next.Nonce {
		t.Errorf("started again: %d items, error %v; want the two of the second run", len(items), err)
	}
	if ids, _, err := over.Executions(t.Context(), engine.Selection{}, "", 10); err != nil || len(ids) != 1 {
		t.Errorf("started again: %d executions are listed, error %v", len(ids), err)
	}
}

func TestEveryItemHasItsExpiry(t *testing.T) {
	t.Parallel()
	store := newTables(t, atEpoch)
	id := token.ID{Execution: engine.NewID("flow", "one"), Number: 7, Expires: epoch.Add(kept).Truncate(time.Second)}
	mustAppend(t, store, itemOf("flow/one", 0, machine.StatusStarting, 0), itemOf("flow/one", 1, machine.StatusSucceeded, 0))
	if _, err := store.Close(t.Context(), testKeys.Handle(id), token.CloseOp{Outcome: token.Success(value.Object()), At: epoch}); err != nil {
		t.Fatal(err)
	}
	id.Number++
	if _, err := store.Beat(t.Context(), testKeys.Handle(id), epoch); err != nil {
		t.Fatal(err)
	}
	for table, expires := range map[string]time.Time{
		store.log: epoch.Add(kept + time.Second).Truncate(time.Second), store.waits: id.Expires,
	} {
		scan, err := store.client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &table})
		if err != nil || len(scan.Items) != 2 {
			t.Fatalf("table %s: %+v, error %v", table, scan, err)
		}
		for _, item := range scan.Items {
			if at, ok := item["expires"].(*types.AttributeValueMemberN); !ok || at.Value != fmt.Sprint(expires.Unix()) {
				t.Errorf("table %s: an item expires at %v, want %d", table, item["expires"], expires.Unix())
			}
		}
	}
}

func TestAFlowThatDynamoDBCannotHoldIsRefused(t *testing.T) {
	t.Parallel()
	store := newTables(t, atEpoch)
	const flow = "version: v1\ntype: flow\nsteps:\n  - type: pass\n    name: Only\n# "
	if _, err := store.Put(t.Context(), "large", []byte(flow+strings.Repeat("x", 390<<10-len(flow)))); err != nil {
		t.Error(err)
	}
	_, err := store.Put(t.Context(), "large", []byte(flow+strings.Repeat("x", 390<<10)))
	if engine.CodeOf(err) != engine.CodeInvalid || !strings.Contains(err.Error(), "399360") {
		t.Errorf("error %v", err)
	}
}

// TestAFlowIsReadByAnotherProcess has no cache to answer from.
func TestAFlowIsReadByAnotherProcess(t *testing.T) {
	t.Parallel()
	store := newTables(t, atEpoch)
	const text = "version: v1\ntype: flow\nsteps:\n  - type: pass\n    name: Only\n"
	flow, err := store.Put(t.Context(), "flow", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	other := dynamo.NewLog(store.client, store.log, atEpoch)
	if again, err := other.Put(t.Context(), "flow", []byte(text)); err != nil || again != flow {
		t.Errorf("put again: %+v, error %v", again, err)
	}
	other = dynamo.NewLog(store.client, store.log, atEpoch)
	if found, err := other.Flow(t.Context(), flow); err != nil || found.Steps[0].Name != "Only" {
		t.Errorf("the flow is %+v, error %v", found, err)
	}
}

func TestATableThatIsNotThereIsAnErrorThatNamesWhatWasDone(t *testing.T) {
	t.Parallel()
	client := newClient(t, func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 })
	log, waits := dynamo.NewLog(client, "no-such-log", atEpoch), dynamo.NewWaits(client, "no-such-waits", atEpoch)
	item := itemOf("flow/one", 0, machine.StatusStarting, 0)
	_, latest := log.Latest(t.Context(), item.Execution)
	_, items := log.Items(t.Context(), item.Execution, 0, 1)
	_, get := log.Get(t.Context(), item.Key())
	_, flow := log.Flow(t.Context(), machine.FlowRef{Name: "flow", Hash: "hash"})
	_, _, executions := log.Executions(t.Context(), engine.Selection{}, "", 1)
	_, record := waits.Record(t.Context(), "handle")
	_, closed := waits.Close(t.Context(), "handle", token.CloseOp{})
	for want, err := range map[string]error{
		"read the log of execution " + item.Execution.String() + ": table Log":      latest,
		"read the log of execution " + item.Execution.String() + ": table Log: ":    items,
		"read items of executions: table Log: ":                                     get,
		"append to the log of execution " + item.Execution.String() + ": table Log": log.Append(t.Context(), item),
		"read flow flow: table Log":                                                 flow,
		"list executions: table Log":                                                executions,
		"read a token's record: table Waits":                                        record,
		"close a token: table Waits: operation":                                     closed,
	} {
		if engine.CodeOf(err) != engine.CodeInternal || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "handle") {
			t.Errorf("error %v, want one that begins with %q", err, want)
		}
	}
}

// The record of an execution that had the same name and has expired is not one of this execution.
func TestAnExpiredJoinRecordIsReplaced(t *testing.T) {
	t.Parallel()
	store := newTables(t, atEpoch)
	fork := engine.ForkID{Log: engine.NewID("flow", "one"), Attempt: 2}
	join := func(log *dynamo.Log, want engine.JoinRecord, end engine.LaneEnd) {
		t.Helper()
		if got, err := log.Join(t.Context(), fork, end); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("joined %+v, error %v; want %+v", got, err, want)
		}
	}
	join(store.Log, engine.JoinRecord{Joined: map[int]uint64{5: 6}, Failed: 5}, engine.LaneEnd{Lane: 5, Seq: 6, Failed: true, Expires: epoch.Add(kept)})
	over := dynamo.NewLog(store.client, store.log, func() time.Time { return epoch.Add(kept + time.Second) })
	if record, err := over.Joined(t.Context(), fork); err != nil || len(record.Joined) > 0 || record.Failed != engine.NoLane {
		t.Errorf("the expired record is %+v, error %v", record, err)
	}
	later := epoch.Add(3 * kept)
	join(over, engine.JoinRecord{Joined: map[int]uint64{0: 1}, Failed: engine.NoLane}, engine.LaneEnd{Lane: 0, Seq: 1, Expires: later})
	join(over, engine.JoinRecord{Joined: map[int]uint64{0: 1, 1: 2}, Failed: 1}, engine.LaneEnd{Lane: 1, Seq: 2, Failed: true, Expires: later})
	last := dynamo.NewLog(store.client, store.log, func() time.Time { return later.Add(time.Second) })
	request := engine.ClaimRequest{Lane: 2, Number: 1, Size: 2, First: 3, Items: 9, Expires: later.Add(kept)}
	want := engine.JoinRecord{
		Joined: map[int]uint64{}, Failed: engine.NoLane, Cursor: 5,
		Claims: map[int]engine.Claim{2: {Number: 1, Range: machine.Range{From: 3, To: 5}}},
	}
	if got, err := last.Claim(t.Context(), fork, request); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("claimed %+v, error %v; want %+v", got, err, want)
	}
	reporting := dynamo.NewLog(store.client, store.log, func() time.Time { return later.Add(2 * kept) })
	want = engine.JoinRecord{Joined: map[int]uint64{}, Failed: engine.NoLane, Failures: map[int]int{2: 3}}
	report := engine.FailureReport{Lane: 2, Failed: 3, Expires: later.Add(3 * kept)}
	if got, err := reporting.Report(t.Context(), fork, report); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("reported %+v, error %v; want %+v", got, err, want)
	}
}
