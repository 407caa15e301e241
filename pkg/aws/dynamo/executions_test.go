package dynamo_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/waitless/waitless/pkg/aws/dynamo"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// scans counts the queries of a client, and the entries that they read.
type scans struct {
	dynamodb.HTTPClient
	queries, entries int
}

func (s *scans) Do(request *http.Request) (*http.Response, error) {
	response, err := s.HTTPClient.Do(request)
	if err != nil || !strings.HasSuffix(request.Header.Get("X-Amz-Target"), ".Query") {
		return response, err
	}
	body, err := io.ReadAll(response.Body)
	response.Body = io.NopCloser(bytes.NewReader(body))
	var page struct{ ScannedCount int }
	if err == nil {
		err = json.Unmarshal(body, &page)
	}
	s.queries, s.entries = s.queries+1, s.entries+page.ScannedCount
	return response, err
}

// A list of a range of time reads the entries of that time, whatever else it selects.
func TestListReadsItsRangeOfTime(t *testing.T) {
	t.Parallel()
	counted := &scans{}
	store := newTables(t, atEpoch, func(o *dynamodb.Options) { counted.HTTPClient, o.HTTPClient = o.HTTPClient, counted })
	const executions, shards = 40, 8
	for i := range executions {
		mustAppend(t, store, itemOf(fmt.Sprintf("flow%d/run-%d", i%2, i), 0, machine.StatusStarting, time.Duration(i)*time.Second))
	}
	in := func(seconds int) time.Time { return epoch.Add(time.Duration(seconds) * time.Second) }
	for _, tt := range []struct {
		of             engine.Selection
		found, entries int
	}{
		{engine.Selection{}, executions, executions},
		{engine.Selection{Since: in(10), Before: in(20)}, 10, 10},
		{engine.Selection{Flow: "flow1", Since: in(10), Before: in(20)}, 5, 10},
		{engine.Selection{Flow: "none", Since: in(30)}, 0, 10},
		{engine.Selection{Statuses: []machine.Status{machine.StatusFailed, machine.StatusStopped}, Before: in(15)}, 0, 15},
	} {
		counted.queries, counted.entries = 0, 0
		ids, _, err := store.Executions(t.Context(), tt.of, "", 100)
		if err != nil || len(ids) != tt.found || counted.entries != tt.entries || counted.queries != shards {
			t.Errorf("%+v: %d found in %d entries with %d queries, %v; want %d in %d with %d",
				tt.of, len(ids), counted.entries, counted.queries, err, tt.found, tt.entries, shards)
		}
	}
}

// Executions that began before the number of partitions was raised are listed once, with the status
// of their end.
func TestListAfterTheIndexIsSpread(t *testing.T) {
	t.Parallel()
	store := newTables(t, atEpoch)
	const executions = 40
	before, after := store.Log, dynamo.NewLog(store.client, store.log, atEpoch).Spread(dynamo.MostShards)
	for i := range executions {
		id := fmt.Sprintf("flow/run-%d", i)
		if err := before.Append(t.Context(), itemOf(id, 0, machine.StatusStarting, time.Duration(i)*time.Second)); err != nil {
			t.Fatal(err)
		}
		if err := after.Append(t.Context(), itemOf(id, 1, machine.StatusSucceeded, time.Duration(i)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	var listed []engine.ID
	for next := ""; len(listed) == 0 || next != ""; {
		var ids []engine.ID
		var err error
		if ids, next, err = after.Executions(t.Context(), engine.Selection{Statuses: []machine.Status{machine.StatusSucceeded}}, next, 7); err != nil {
			t.Fatal(err)
		}
		listed = append(listed, ids...)
	}
	for i, id := range listed {
		if want := engine.NewID("flow", fmt.Sprintf("run-%d", executions-1-i)); id != want {
			t.Fatalf("%d: another execution than the latest one", i)
		}
	}
	running, _, err := after.Executions(t.Context(), engine.Selection{Statuses: []machine.Status{machine.StatusRunning}}, "", executions)
	if err != nil || len(listed) != executions || len(running) != 0 {
		t.Errorf("%d ended, want %d; %d run, want 0; %v", len(listed), executions, len(running), err)
	}
}
