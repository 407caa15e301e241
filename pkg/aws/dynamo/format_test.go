package dynamo_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/waitless/waitless/pkg/aws/dynamo"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/internal/suite/releasetest"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/schedule"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// TestFormOfTables: tables of the recorded release have these keys and attributes.
func TestFormOfTables(t *testing.T) {
	t.Parallel()
	store := newTables(t, atEpoch)
	if err := errors.Join(fillLog(t, store), fillWaits(t, store)); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, table := range []string{store.log, store.waits} {
		scanned, err := store.client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &table})
		if err != nil || scanned.LastEvaluatedKey != nil {
			t.Fatalf("%v, %v", scanned, err)
		}
		var items []string
		for _, attributes := range scanned.Items {
			items = append(items, shown(t, attributes))
		}
		slices.Sort(items)
		fmt.Fprintf(&text, "%s\n\n", strings.Join(items, "\n"))
	}
	releasetest.Stored(t, "testdata/tables.v1.txt", text.String())
}

// TestFormOfUnmatchedEvents: the function of one release lists what another one stored.
func TestFormOfUnmatchedEvents(t *testing.T) {
	t.Parallel()
	store, key := newTables(t, atEpoch), jobs.Key{Kind: "dms-task", Name: "other"}
	if _, err := store.Note(t.Context(), key, sampleEnd, epoch.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	found, err := store.client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &store.waits, Key: dynamo.JobKey(key)})
	if err != nil {
		t.Fatal(err)
	}
	releasetest.Stored(t, "testdata/unmatched.v1.txt", shown(t, found.Item)+"\n")
}

// fillLog stores an item of each kind in the table of logs.
func fillLog(t *testing.T, store tables) error {
	t.Helper()
	ctx, id := t.Context(), engine.NewID("flow", "run")
	mustAppend(t, store, itemOf("flow/run", 0, machine.StatusRunning, 0), itemOf("flow/run", 1, machine.StatusSucceeded, time.Second))
	flow, putErr := store.Put(ctx, "flow", []byte("version: v1\ntype: flow\nsteps: [{type: succeed, name: A}]\n"))
	_, joinErr := store.Join(ctx, engine.ForkID{Log: id, Attempt: 3}, engine.LaneEnd{Lane: 1, Seq: 4, Failed: true, Expires: epoch})
	return errors.Join(
		putErr, joinErr,
		store.SetNotify(ctx, flow, machine.Notify{Target: "https://example.org"}),
		store.SetProperties(ctx, flow, "", "properties"),
		store.SetSchedule(ctx, schedule.Entry{Flow: "flow", Name: "nightly", Text: "text"}, ""),
		store.SetSweepPlace(ctx, []byte("place")),
	)
}

// fillWaits stores an item of each kind in the table of waits.
func fillWaits(t *testing.T, store tables) error {
	t.Helper()
	ctx, wait := t.Context(), sampleWait(1)
	wait.Sealed = []byte("sealed")
	handle := waiterOf(2).Handle
	_, beginErr := store.Begin(ctx, handle, token.BeginOp{By: "mark", At: epoch, In: 7})
	_, replyErr := store.Reply(ctx, handle, token.ReplyOp{Reply: value.String("asked")})
	_, pollErr := store.Poll(ctx, handle, token.PollOp{Job: "job", Number: 3})
	_, beatErr := store.Beat(ctx, handle, epoch)
	_, closeErr := store.Close(ctx, handle, token.CloseOp{By: token.ClosedByHand, At: epoch, Outcome: token.Success(value.String("ok"))})
	_, openErr := store.Open(ctx, wait.Handle, wait)
	_, bindErr := store.Bind(ctx, batchJob, waiterOf(3), epoch.Add(time.Hour))
	other := jobs.Key{Kind: "dms-task", Name: "other"}
	_, otherErr := store.Bind(ctx, other, waiterOf(4), epoch.Add(time.Hour))
	_, noteErr := store.Note(ctx, other, sampleEnd, epoch.Add(time.Hour))
	return errors.Join(
		beginErr, replyErr, pollErr, beatErr, closeErr, openErr, bindErr, otherErr, noteErr,
		store.Release(ctx, other, []string{waiterOf(4).Handle}),
		store.Deliver(ctx, wait.Handle, resume.DeliverySent),
		store.RequestStop(ctx, engine.NewID("flow", "run"), engine.StopRequest{Error: "Operator", Cause: "enough"}, epoch.Add(time.Hour)),
	)
}

// shown returns the attributes of an item in the order of their names.
func shown(t *testing.T, attributes map[string]types.AttributeValue) string {
	t.Helper()
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		switch v := attributes[name].(type) {
		case *types.AttributeValueMemberB:
			fmt.Fprintf(&text, " %s=B%+q", name, v.Value)
		case *types.AttributeValueMemberS:
			fmt.Fprintf(&text, " %s=S%q", name, v.Value)
		case *types.AttributeValueMemberN:
			fmt.Fprintf(&text, " %s=N%s", name, v.Value)
		case *types.AttributeValueMemberNS:
			slices.Sort(v.Value)
			fmt.Fprintf(&text, " %s=NS%s", name, v.Value)
		default:
			t.Errorf("attribute %s is %T", name, v)
		}
	}
	return text.String()[1:]
}

// A damaged record is a defect, which ends its wait (rule 13).
func TestDamagedRecordIsADefect(t *testing.T) {
	t.Parallel()
	store, handle := newTables(t, atEpoch), waiterOf(1).Handle
	closing := token.CloseOp{By: token.ClosedByHand, At: epoch, Outcome: token.Success(value.String("ok"))}
	store.set(t, keyOf("T"+handle), "o", &types.AttributeValueMemberB{Value: closing.Apply(token.Record{}).Encode()[:5]})
	_, readErr := store.Record(t.Context(), handle)
	_, closeErr := store.Close(t.Context(), handle, closing)
	for call, err := range map[string]error{"read": readErr, "close": closeErr} {
		if !errors.Is(err, token.ErrDamaged) || engine.CodeOf(err) != engine.CodeDefect {
			t.Errorf("%s: error %v", call, err)
		}
	}
}

// A record of a newer release is an error that is not a defect, so its wake returns to the queue
// however often it comes. The record stays as it is.
func TestRecordOfNewerReleaseIsKept(t *testing.T) {
	t.Parallel()
	store, handle := newTables(t, atEpoch), waiterOf(1).Handle
	closing := token.CloseOp{By: token.ClosedByHand, At: epoch, Outcome: token.Success(value.String("ok"))}
	newer := token.Record{}.Encode()
	newer[0]++
	store.set(t, keyOf("T"+handle), "o", &types.AttributeValueMemberB{Value: newer})
	_, readErr := store.Record(t.Context(), handle)
	_, closeErr := store.Close(t.Context(), handle, closing)
	for call, err := range map[string]error{"read": readErr, "close": closeErr} {
		if !errors.Is(err, token.ErrNewer) || engine.CodeOf(err) != engine.CodeTooNew {
			t.Errorf("%s: error %v", call, err)
		}
	}
	found, err := store.client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &store.waits, Key: keyOf("T" + handle)})
	if err != nil || shown(t, found.Item) != fmt.Sprintf("k=S%q o=B%+q", "T"+handle, newer) {
		t.Errorf("the record is %v, error %v", found, err)
	}
}
