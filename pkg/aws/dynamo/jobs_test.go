package dynamo_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/waitless/waitless/pkg/aws/dynamo"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

const (
	jobID  = "4c0a8a3e-7f3a-4a3f-9a58-3c2f3e3a7b11"
	jobARN = "arn:aws:batch:eu-central-1:123456789012:job/" + jobID
)

var batchJob = jobs.Key{Kind: "batch-job", Account: "123456789012", Region: "eu-central-1", Name: jobARN}

// tokenOf is the id of a token that is kept for 90 days.
func tokenOf(number uint32, flags token.Flags) token.ID {
	return token.ID{
		Execution: engine.NewID("flow", "run-1"), Number: number, Flags: flags,
		Expires: epoch.Add(90 * 24 * time.Hour).Truncate(time.Second),
	}
}

func waiterOf(number uint32) resume.Waiter {
	return resume.Waiter{Handle: testKeys.Handle(tokenOf(number, 0)), Run: jobs.Run{BeginText: jobARN, Since: epoch}, JobID: jobID}
}

// sampleEnd is what the event of a Batch job tells.
var sampleEnd = jobs.Sighting{
	Status: jobs.StatusSuccess, At: epoch.Truncate(time.Second), BeginText: jobARN,
	Output: json.RawMessage(`{"job_id":"` + jobID + `","job_key":"` + jobARN + `","kind":"batch-job","status":"SUCCEEDED"}`),
}

// sampleWait has the sealed token of a Step Functions execution.
func sampleWait(number uint32) resume.ExternalWait {
	id := tokenOf(number, token.FlagExternal)
	return resume.ExternalWait{
		Handle: testKeys.Handle(id), Recipient: resume.RecipientStepFunctions, Sealed: []byte(strings.Repeat("s", 500)),
		Job: batchJob, JobID: jobID,
		Opened: epoch.Add(time.Duration(number)), Deadline: epoch.Add(time.Hour), Expires: id.Expires,
	}
}

// metered are empty tables, and what is consumed of them.
func metered(t *testing.T) (tables, func(what string, err error, want capacity)) {
	t.Helper()
	var m meter
	store := newTables(t, atEpoch, m.options)
	return store, func(what string, err error, want capacity) {
		t.Helper()
		if got := m.take(); err != nil || got != want {
			t.Errorf("%s consumed %+v, error %v; want %+v", what, got, err, want)
		}
	}
}

// oneWrite is what each step of a wait on a job costs.
var oneWrite = capacity{write: 1}

func TestAWaitOnAJobIsOneWriteForTheWaiterOneForTheEventAndOneForTheOutcome(t *testing.T) {
	t.Parallel()
	store, want := metered(t)
	expires := tokenOf(1, 0).Expires
	_, err := store.Bind(t.Context(), batchJob, waiterOf(1), expires)
	want("the waiter", err, oneWrite)
	_, err = store.Bind(t.Context(), batchJob, waiterOf(1), expires)
	want("the waiter again", err, oneWrite)
	met, err := store.Note(t.Context(), batchJob, sampleEnd, epoch.Add(24*time.Hour))
	want("the event", err, oneWrite)
	outcome := token.Success(value.Object(value.Member{Key: "job_key", Value: value.String(jobARN)}))
	_, err = store.Close(t.Context(), met.Waiters[0].Handle, token.CloseOp{Outcome: outcome, By: token.ClosedByEvent, At: epoch})
	want("the outcome", err, oneWrite)
	_, err = store.Note(t.Context(), batchJob, sampleEnd, epoch.Add(24*time.Hour))
	want("the event again", err, oneWrite)
	earlier := sampleEnd
	earlier.At = earlier.At.Add(-time.Second)
	_, err = store.Note(t.Context(), batchJob, earlier, epoch.Add(24*time.Hour))
	want("an earlier event", err, oneWrite)
	want("the release", store.Release(t.Context(), batchJob, []string{waiterOf(1).Handle}), oneWrite)
}

func TestAnEventBeforeItsWaiterTakesAWriteMoreAndTwoOfTheIndex(t *testing.T) {
	t.Parallel()
	store, want := metered(t)
	_, err := store.Note(t.Context(), batchJob, sampleEnd, epoch.Add(24*time.Hour))
	want("the event", err, capacity{write: 2, index: 1})
	_, err = store.Bind(t.Context(), batchJob, waiterOf(1), tokenOf(1, 0).Expires)
	want("the waiter", err, capacity{write: 1, index: 1})
	_, err = store.Bind(t.Context(), batchJob, waiterOf(2), tokenOf(2, 0).Expires.Add(-time.Hour))
	want("one who is to be kept less long", err, capacity{write: 2})
}

// Most jobs of an account have no waiter.
func TestAnUnmatchedEventIsTwoWritesAndOneOfTheIndex(t *testing.T) {
	t.Parallel()
	store, want := metered(t)
	note := func(what string, after time.Duration, cost capacity) {
		t.Helper()
		end := sampleEnd
		end.At = end.At.Add(after)
		_, err := store.Note(t.Context(), batchJob, end, epoch.Add(24*time.Hour))
		want(what, err, cost)
	}
	note("the event", 0, capacity{write: 2, index: 1})
	note("the event again", 0, oneWrite)
	note("an earlier event", -time.Second, oneWrite)
	note("a later event", time.Second, capacity{write: 2, index: 2})
	events, _, err := store.Unmatched(t.Context(), "", 10)
	if err != nil || len(events) != 1 {
		t.Errorf("%d events, error %v", len(events), err)
	}
}

// A release before the list of events binds a waiter and leaves the event in the index.
func TestAnEventBoundByAnEarlierReleaseIsNotListed(t *testing.T) {
	t.Parallel()
	store := newTables(t, atEpoch)
	later := batchJob
	later.Name += "-later"
	for _, key := range []jobs.Key{batchJob, later} {
		if _, err := store.Note(t.Context(), key, sampleEnd, epoch.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	waiter := waiterOf(1)
	store.set(t, dynamo.JobKey(batchJob), "w"+waiter.Handle, &types.AttributeValueMemberB{Value: resume.Encode(waiter)})
	for _, limit := range []int{1, 10} {
		events, _, err := store.Unmatched(t.Context(), "", limit)
		if err != nil || len(events) != 1 || events[0].Key != later {
			t.Errorf("limit %d: listed %+v, error %v; want %s", limit, events, err, later)
		}
	}
}

// An item that has expired is swept some time later.
func TestAnExpiredEventIsNotListed(t *testing.T) {
	t.Parallel()
	now := epoch
	store := newTables(t, func() time.Time { return now })
	if _, err := store.Note(t.Context(), batchJob, sampleEnd, epoch.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	for after, want := range map[time.Duration]int{0: 1, time.Hour: 1, time.Hour + 2*time.Second: 0} {
		now = epoch.Add(after)
		if events, _, err := store.Unmatched(t.Context(), "", 10); err != nil || len(events) != want {
			t.Errorf("after %s: %d events, error %v; want %d", after, len(events), err, want)
		}
	}
}

// What has expired is swept some time later, and until then it is not what an
// event is kept by.
func TestAnEventAfterTheExpiryIsKeptAsOneOfItsOwn(t *testing.T) {
	t.Parallel()
	store, want := metered(t)
	_, err := store.Bind(t.Context(), batchJob, waiterOf(1), epoch.Add(-2*time.Second))
	want("the waiter", err, oneWrite)
	_, err = store.Note(t.Context(), batchJob, sampleEnd, epoch.Add(24*time.Hour))
	want("the event", err, capacity{write: 2})
	met, err := store.Note(t.Context(), batchJob, sampleEnd, epoch.Add(48*time.Hour))
	want("the event again", err, oneWrite)
	expires := meetings{store}.Expires(t, batchJob)
	if expires.Before(epoch.Add(24*time.Hour)) || expires.After(epoch.Add(25*time.Hour)) || met.End == nil {
		t.Errorf("known is %+v, until %s", met, expires)
	}
}

func TestAnExternalWaitIsThreeWritesAndTwoOfTheIndex(t *testing.T) {
	t.Parallel()
	store, want := metered(t)
	wait := sampleWait(1)
	_, err := store.Open(t.Context(), wait.Handle, wait)
	want("the wait", err, capacity{write: 1, index: 1})
	_, err = store.Open(t.Context(), wait.Handle, wait)
	want("the wait again", err, oneWrite)
	_, err = store.Close(t.Context(), wait.Handle, token.CloseOp{Outcome: token.Success(value.Null()), By: token.ClosedByEvent, At: epoch})
	want("the outcome", err, oneWrite)
	_, _, err = store.ExternalWait(t.Context(), wait.Handle)
	want("the look before the delivery", err, capacity{read: 1})
	want("the delivery", store.Deliver(t.Context(), wait.Handle, resume.DeliverySent), capacity{write: 1, index: 1})
}

// TestManyAreReleased: an expression has a limit of its own.
func TestManyAreReleased(t *testing.T) {
	t.Parallel()
	const many = 250
	store := newTables(t, atEpoch)
	var handles []string
	for i := range uint32(many) {
		waiter := waiterOf(i)
		handles = append(handles, waiter.Handle)
		if _, err := store.Bind(t.Context(), batchJob, waiter, epoch.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Release(t.Context(), batchJob, handles[1:]); err != nil {
		t.Fatal(err)
	}
	met, err := store.Note(t.Context(), batchJob, sampleEnd, epoch.Add(time.Hour))
	if err != nil || len(met.Waiters) != 1 || met.Waiters[0].Handle != handles[0] {
		t.Errorf("left are %+v, error %v", met, err)
	}
}

// set changes an attribute of an item behind the back of the store.
func (s tables) set(t *testing.T, key map[string]types.AttributeValue, name string, value types.AttributeValue) {
	t.Helper()
	_, err := s.client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: &s.waits, Key: key, UpdateExpression: aws.String("SET #n = :v"),
		ExpressionAttributeNames: map[string]string{"#n": name}, ExpressionAttributeValues: map[string]types.AttributeValue{":v": value},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func keyOf(text string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"k": &types.AttributeValueMemberS{Value: text}}
}

// TestTheListGoesOnAfterWhatTheIndexStillHas: the index lags behind the table.
func TestTheListGoesOnAfterWhatTheIndexStillHas(t *testing.T) {
	t.Parallel()
	const many, left = 230, 5
	store := newTables(t, atEpoch)
	for i := range uint32(many) {
		wait := sampleWait(i)
		if _, err := store.Open(t.Context(), wait.Handle, wait); err != nil {
			t.Fatal(err)
		}
		if i < many-left {
			store.set(t, keyOf("T"+wait.Handle), "d", &types.AttributeValueMemberS{Value: "sent"})
		}
	}
	for _, limit := range []int{1, left, 2 * left, many} {
		list, err := store.List(t.Context(), "", limit)
		if err != nil || len(list) != min(limit, left) || list[0].Handle != sampleWait(many-left).Handle {
			t.Errorf("%d of at most %d are listed, error %v", len(list), limit, err)
		}
	}
}

func TestTheListAfterAWaitThatNobodyKnows(t *testing.T) {
	t.Parallel()
	store := newTables(t, atEpoch)
	_, err := store.List(t.Context(), "EQEBgone", 10)
	if !errors.Is(err, resume.ErrNoWait) || !strings.Contains(err.Error(), "EQEBgone") {
		t.Errorf("error %v", err)
	}
}

func TestADamagedJobIsAnErrorThatNamesIt(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"e", "wEQEB"} {
		store := newTables(t, atEpoch)
		store.set(t, dynamo.JobKey(batchJob), name, &types.AttributeValueMemberB{Value: []byte("damaged")})
		_, err := store.Bind(t.Context(), batchJob, waiterOf(1), epoch.Add(time.Hour))
		if !errors.Is(err, resume.ErrDamaged) || !strings.Contains(err.Error(), jobARN) {
			t.Errorf("attribute %s: error %v", name, err)
		}
	}
}

func TestADamagedExternalWaitIsAnErrorThatNamesIt(t *testing.T) {
	t.Parallel()
	store := newTables(t, atEpoch)
	wait := sampleWait(1)
	if _, err := store.Open(t.Context(), wait.Handle, wait); err != nil {
		t.Fatal(err)
	}
	store.set(t, keyOf("T"+wait.Handle), "f", &types.AttributeValueMemberB{Value: []byte("damaged")})
	_, _, err := store.ExternalWait(t.Context(), wait.Handle)
	_, again := store.Open(t.Context(), wait.Handle, wait)
	_, listed := store.List(t.Context(), "", 1)
	for what, err := range map[string]error{"wait": err, "open": again, "deliver": store.Deliver(t.Context(), wait.Handle, resume.DeliverySent), "list": listed} {
		if !errors.Is(err, resume.ErrDamaged) || !strings.Contains(fmt.Sprint(err), wait.Handle) {
			t.Errorf("%s: error %v", what, err)
		}
	}
}
