package dynamo_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/waitless/waitless/pkg/aws/dynamo"
	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/aws/environment"
	"github.com/waitless/waitless/pkg/aws/faults"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/schedule"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// change is a call of tables.
type change func(ctx context.Context, to tables) error

// faultsOf are the entries of the table: what comes before the call, and the call.
type faultsOf struct {
	name   string
	before change
	call   change
	reads  bool
}

const (
	faultyFlow = "version: v1\ntype: flow\nsteps:\n  - {type: pass, name: P}\n"
	otherFlow  = "version: v1\ntype: flow\nsteps:\n  - {type: pass, name: Q}\n"
)

var (
	faultyItem   = engine.Item{Execution: engine.NewID("flow", "faulty"), Seq: 3, Nonce: "nonce", Body: []byte("body")}
	faultyHandle = "handle"
	faultyJob    = jobs.Key{Kind: "batch-job", Account: emulator.Account, Region: emulator.Region, Name: "job"}
	faultyWait   = resume.ExternalWait{
		Handle: faultyHandle, Recipient: resume.RecipientStepFunctions, Sealed: []byte("sealed"),
		Opened: epoch, Deadline: epoch.Add(time.Hour), Expires: epoch.Add(2 * time.Hour),
	}
	faultyFork  = engine.ForkID{Log: faultyItem.Execution, Attempt: 1}
	faultyEntry = schedule.Entry{Flow: "flow", Name: "schedule", Text: "text"}
)

func put(text string) change {
	return func(ctx context.Context, to tables) error {
		_, err := to.Put(ctx, "flow", []byte(text))
		return err
	}
}

// withFlow makes a call of the flow that put put.
func withFlow(text string, call func(ctx context.Context, to tables, flow machine.FlowRef) error) change {
	return func(ctx context.Context, to tables) error {
		flow, _, err := engine.ParseFlow("flow", []byte(text))
		if err != nil {
			return err
		}
		return call(ctx, to, flow)
	}
}

func appendItem(ctx context.Context, to tables) error { return to.Append(ctx, faultyItem) }

func openWait(ctx context.Context, to tables) error {
	_, err := to.Open(ctx, faultyHandle, faultyWait)
	return err
}

func bind(ctx context.Context, to tables) error {
	_, err := to.Bind(ctx, faultyJob, resume.Waiter{Handle: faultyHandle}, epoch.Add(time.Hour))
	return err
}

func note(ctx context.Context, to tables) error {
	_, err := to.Note(ctx, faultyJob, jobs.Sighting{Status: jobs.StatusSuccess, At: epoch}, epoch.Add(time.Hour))
	return err
}

func requestStop(ctx context.Context, to tables) error {
	return to.RequestStop(ctx, faultyItem.Execution, engine.StopRequest{Error: "Stopped", Cause: "asked"}, epoch.Add(time.Hour))
}

func enter(ctx context.Context, to tables) error {
	_, _, err := to.Enter(ctx, faultyItem.Execution, engine.EnterOp{At: epoch, Expires: epoch.Add(time.Hour)})
	return err
}

func pause(ctx context.Context, to tables) error { return to.SetPaused(ctx, "flow", true) }

var faultyClaim = engine.ClaimRequest{Lane: 1, Number: 1, Size: 1, First: 2, Items: 9, Expires: epoch.Add(time.Hour)}

func claim(ctx context.Context, to tables) error {
	_, err := to.Claim(ctx, faultyFork, faultyClaim)
	return err
}

func report(ctx context.Context, to tables) error {
	_, err := to.Report(ctx, faultyFork, engine.FailureReport{Lane: 1, Failed: 1, Expires: epoch.Add(time.Hour)})
	return err
}

// expiredJoins puts a join record that has expired and was not deleted yet.
func expiredJoins(ctx context.Context, to tables) error {
	partition := binary.BigEndian.AppendUint32(bytes.Clone(faultyFork.Log[:]), uint32(faultyFork.Attempt))
	_, err := to.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &to.log, Item: map[string]types.AttributeValue{
		"p": &types.AttributeValueMemberB{Value: partition}, "s": &types.AttributeValueMemberB{Value: []byte{0}},
		"expires": &types.AttributeValueMemberN{Value: fmt.Sprint(epoch.Add(-time.Hour).Unix())},
	}})
	return err
}

func join(ctx context.Context, to tables) error {
	_, err := to.Join(ctx, faultyFork, engine.LaneEnd{Lane: 2, Seq: 5, Expires: epoch.Add(time.Hour)})
	return err
}

func setSchedule(ctx context.Context, to tables) error { return to.SetSchedule(ctx, faultyEntry, "") }

func setSweepPlace(ctx context.Context, to tables) error {
	return to.SetSweepPlace(ctx, []byte("place"))
}

// all makes one call after the other.
func all(calls ...change) change {
	return func(ctx context.Context, to tables) error {
		for _, call := range calls {
			if err := call(ctx, to); err != nil {
				return err
			}
		}
		return nil
	}
}

// unindexed puts a definition as one whose name has no entry of the newest.
func unindexed(ctx context.Context, to tables) error {
	if err := put(faultyFlow)(ctx, to); err != nil {
		return err
	}
	_, err := to.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &to.log, Key: map[string]types.AttributeValue{
		"p": &types.AttributeValueMemberB{Value: []byte("newest")}, "s": &types.AttributeValueMemberB{Value: []byte("flow\x00")},
	}})
	return err
}

// expiring puts an item that expires.
func expiring(ctx context.Context, to tables) error {
	_, err := to.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &to.log, Item: map[string]types.AttributeValue{
		"p": &types.AttributeValueMemberB{Value: faultyItem.Execution[:]}, "s": &types.AttributeValueMemberB{Value: make([]byte, 8)},
		"expires": &types.AttributeValueMemberN{Value: fmt.Sprint(epoch.Add(time.Hour).Unix())},
	}})
	return err
}

// faulty has each entry of the package.
var faulty = []faultsOf{
	{name: "Log.Append", call: appendItem},
	{name: "Log.Latest", reads: true, before: appendItem, call: func(ctx context.Context, to tables) error {
		_, err := to.Latest(ctx, faultyItem.Execution)
		return err
	}},
	{name: "Log.Items", reads: true, before: appendItem, call: func(ctx context.Context, to tables) error {
		_, err := to.Items(ctx, faultyItem.Execution, 0, 10)
		return err
	}},
	{name: "Log.Get", reads: true, before: appendItem, call: func(ctx context.Context, to tables) error {
		_, err := to.Get(ctx, faultyItem.Key())
		return err
	}},
	{name: "Log.Extend", before: expiring, call: func(ctx context.Context, to tables) error {
		return to.Extend(ctx, epoch.Add(2*time.Hour), engine.ItemKey{Execution: faultyItem.Execution})
	}},
	{name: "Log.Executions", reads: true, call: func(ctx context.Context, to tables) error {
		_, _, err := to.Executions(ctx, engine.Selection{}, "", 10)
		return err
	}},
	{name: "Log.Join", call: join},
	{name: "Log.Join", before: expiredJoins, call: join},
	{name: "Log.Claim", call: claim},
	{name: "Log.Claim", before: expiredJoins, call: claim},
	{name: "Log.Report", call: report},
	{name: "Log.Report", before: expiredJoins, call: report},
	{name: "Log.Raise", before: claim, call: func(ctx context.Context, to tables) error {
		before := engine.NewJoinRecord().WithClaim(faultyClaim)
		return to.Raise(ctx, faultyFork, before, engine.JoinRecord{Cursor: 4, Claims: before.Claims}, epoch.Add(time.Hour))
	}},
	{name: "Log.Joined", reads: true, before: join, call: func(ctx context.Context, to tables) error {
		_, err := to.Joined(ctx, faultyFork)
		return err
	}},
	{name: "Log.Put", before: put(otherFlow), call: put(faultyFlow)},
	{name: "Log.Put", before: unindexed, call: put(otherFlow)},
	{name: "Log.Newest", reads: true, before: unindexed, call: func(ctx context.Context, to tables) error {
		_, err := to.Newest(ctx, "flow")
		return err
	}},
	{name: "Log.Definitions", reads: true, before: put(faultyFlow), call: func(ctx context.Context, to tables) error {
		_, err := to.Definitions(ctx, "flow")
		return err
	}},
	{name: "Log.Flow", reads: true, before: put(faultyFlow), call: withFlow(faultyFlow, func(ctx context.Context, to tables, flow machine.FlowRef) error {
		_, err := to.Flow(ctx, flow)
		return err
	})},
	{name: "Log.FlowText", reads: true, before: put(faultyFlow), call: withFlow(faultyFlow, func(ctx context.Context, to tables, flow machine.FlowRef) error {
		_, err := to.FlowText(ctx, flow)
		return err
	})},
	{name: "Log.DeleteFlow", before: all(put(faultyFlow), put(otherFlow)), call: withFlow(otherFlow, func(
		ctx context.Context, to tables, flow machine.FlowRef,
	) error {
		return to.DeleteFlow(ctx, flow)
	})},
	{name: "Log.SetNotify", before: put(faultyFlow), call: withFlow(faultyFlow, func(ctx context.Context, to tables, flow machine.FlowRef) error {
		return to.SetNotify(ctx, flow, machine.Notify{Target: "https://example.com"})
	})},
	{name: "Log.NotifyOf", reads: true, before: put(faultyFlow), call: withFlow(faultyFlow, func(ctx context.Context, to tables, flow machine.FlowRef) error {
		_, err := to.NotifyOf(ctx, flow)
		return err
	})},
	{name: "Log.SetProperties", before: put(faultyFlow), call: withFlow(faultyFlow, func(ctx context.Context, to tables, flow machine.FlowRef) error {
		return to.SetProperties(ctx, flow, "", "properties")
	})},
	{name: "Log.SetSchedule", call: setSchedule},
	{name: "Log.Schedules", reads: true, before: setSchedule, call: func(ctx context.Context, to tables) error {
		_, err := to.Schedules(ctx, "flow", "")
		return err
	}},
	{name: "Log.SetSweepPlace", call: setSweepPlace},
	{name: "Log.SweepPlace", reads: true, before: setSweepPlace, call: func(ctx context.Context, to tables) error {
		_, err := to.SweepPlace(ctx)
		return err
	}},

	{name: "Waits.Record", reads: true, before: openWait, call: func(ctx context.Context, to tables) error {
		_, err := to.Record(ctx, faultyHandle)
		return err
	}},
	{name: "Waits.Close", call: func(ctx context.Context, to tables) error {
		record, err := to.Close(ctx, faultyHandle, closeFaulty)
		return stillOpen(record, err)
	}},
	{name: "Waits.CloseEarly", call: func(ctx context.Context, to tables) error {
		record, err := to.CloseEarly(ctx, faultyHandle, closeFaulty, func() {})
		return stillOpen(record, err)
	}},
	{name: "Waits.Begin", call: func(ctx context.Context, to tables) error {
		_, err := to.Begin(ctx, faultyHandle, token.BeginOp{By: "runner", At: epoch})
		return err
	}},
	{name: "Waits.Reply", call: func(ctx context.Context, to tables) error {
		_, err := to.Reply(ctx, faultyHandle, token.ReplyOp{Reply: value.Object()})
		return err
	}},
	{name: "Waits.Poll", call: func(ctx context.Context, to tables) error {
		_, err := to.Poll(ctx, faultyHandle, token.PollOp{Job: "job", Number: 1})
		return err
	}},
	{name: "Waits.Beat", call: func(ctx context.Context, to tables) error {
		_, err := to.Beat(ctx, faultyHandle, epoch)
		return err
	}},
	{name: "Waits.Open", call: openWait},
	{name: "Waits.JobRecord", reads: true, before: bind, call: func(ctx context.Context, to tables) error {
		_, err := to.JobRecord(ctx, faultyJob)
		return err
	}},
	{name: "Waits.ExternalWait", reads: true, before: openWait, call: func(ctx context.Context, to tables) error {
		_, _, err := to.ExternalWait(ctx, faultyHandle)
		return err
	}},
	{name: "Waits.Deliver", before: openWait, call: func(ctx context.Context, to tables) error {
		return to.Deliver(ctx, faultyHandle, resume.DeliverySent)
	}},
	{name: "Waits.List", reads: true, before: openWait, call: func(ctx context.Context, to tables) error {
		if _, err := to.List(ctx, "", 10); err != nil {
			return err
		}
		_, err := to.List(ctx, faultyHandle, 10)
		return err
	}},
	{name: "Waits.Bind", call: bind},
	{name: "Waits.Note", before: bind, call: note},
	{name: "Waits.Note", call: note},
	{name: "Waits.Unmatched", reads: true, before: note, call: func(ctx context.Context, to tables) error {
		_, _, err := to.Unmatched(ctx, "", 10)
		return err
	}},
	{name: "Waits.JobRecord", reads: true, before: bind, call: func(ctx context.Context, to tables) error {
		_, err := to.JobRecord(ctx, faultyJob)
		return err
	}},
	{name: "Waits.Release", before: bind, call: func(ctx context.Context, to tables) error {
		return to.Release(ctx, faultyJob, []string{faultyHandle})
	}},
	{name: "Waits.Enter", call: enter},
	{name: "Waits.Leave", before: all(enter, enter), call: func(ctx context.Context, to tables) error { return to.Leave(ctx, faultyItem.Execution) }},
	{name: "Waits.Recount", before: enter, call: func(ctx context.Context, to tables) error {
		return to.Recount(ctx, faultyItem.Execution, engine.RootRecord{Open: 1, Entered: epoch}, 0)
	}},
	{name: "Waits.Root", reads: true, before: enter, call: func(ctx context.Context, to tables) error {
		_, err := to.Root(ctx, faultyItem.Execution)
		return err
	}},
	{name: "Waits.StopDescendants", call: func(ctx context.Context, to tables) error {
		return to.StopDescendants(ctx, faultyItem.Execution, engine.StopRequest{Error: "Stopped", Cause: "asked"}, epoch.Add(time.Hour))
	}},
	{name: "Waits.SetPaused", call: pause},
	{name: "Waits.Paused", reads: true, before: pause, call: func(ctx context.Context, to tables) error {
		_, err := to.Paused(ctx, "flow", epoch.Add(time.Second)) // later than any read, so each call reads
		return err
	}},
	{name: "Waits.RequestStop", call: requestStop},
	{name: "Waits.StopRequest", reads: true, before: requestStop, call: func(ctx context.Context, to tables) error {
		_, _, err := to.StopRequest(ctx, faultyItem.Execution)
		return err
	}},
}

var closeFaulty = token.CloseOp{Outcome: token.Success(value.Object()), By: token.ClosedByCallback, At: epoch}

// stillOpen returns an error for a close that leaves its token open: a caller would respond with
// 200.
func stillOpen(record token.Record, err error) error {
	if err == nil && record.Open() {
		return errors.New("the token is open after its close")
	}
	return err
}

func TestFaultTable(t *testing.T) {
	t.Parallel()
	endpoint := *emulator.Config(t).BaseEndpoint
	entries := make([]faults.Entry, len(faulty))
	for i, f := range faulty {
		entries[i] = faults.Entry{Name: "dynamo." + f.name, New: f.through()}
	}
	faults.Compare(t, endpoint, "DynamoDB", entries...)
}

// through makes calls through proxies: those that change something in tables of their own.
func (f faultsOf) through() func(t *testing.T, p *faults.Proxy) faults.Call {
	var shared *tables
	return func(t *testing.T, p *faults.Proxy) faults.Call {
		t.Helper()
		direct := shared
		if direct == nil {
			direct = f.prepare(t)
		}
		if f.reads {
			shared = direct
		}
		client := dynamodb.NewFromConfig(environment.Bounded(p.Config(emulator.Config(t)), p.ResponseLimit()))
		to := tables{dynamo.NewLog(client, direct.log, atEpoch), dynamo.NewWaits(client, direct.waits, atEpoch), direct.Bucket, client, direct.log, direct.waits}
		call := faults.Call{Do: func(ctx context.Context) error { return f.call(ctx, to) }, Word: wordOf, Limited: true}
		if !f.reads {
			call.Overtake = func() error { return f.call(t.Context(), *direct) }
			call.State = func() []string { return append(direct.dump(t, direct.log), direct.dump(t, direct.waits)...) }
		}
		return call
	}
}

func (f faultsOf) prepare(t *testing.T) *tables {
	t.Helper()
	made := newTables(t, atEpoch)
	if f.before != nil {
		if err := f.before(t.Context(), made); err != nil {
			t.Fatal(err)
		}
	}
	return &made
}

func wordOf(err error) string {
	conflict, ok := errors.AsType[*engine.ConflictError](err)
	switch {
	case ok && conflict.Nonce == faultyItem.Nonce: // the worker continues
		return "own write"
	case ok || errors.Is(err, engine.ErrConflict):
		return "conflict"
	}
	return ""
}

// dump returns the items of a table: the record of a root once for each open descendant, because an
// effect may be there twice.
func (ts tables) dump(t *testing.T, table string) (items []string) {
	t.Helper()
	found, err := ts.client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)})
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range found.Items {
		text, times := "", 1
		if open, ok := item["o"].(*types.AttributeValueMemberN); ok {
			times, _ = strconv.Atoi(open.Value)
			delete(item, "o")
		}
		for _, name := range slices.Sorted(maps.Keys(item)) {
			value, _ := json.Marshal(item[name]) // of texts, numbers and bytes
			text += name + string(value) + " "
		}
		items = append(items, slices.Repeat([]string{text}, times)...)
	}
	return items
}
