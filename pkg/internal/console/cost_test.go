package console

import (
	"slices"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// hasEvent waits until the history of an execution has an event of that type.
func (f *fixture) hasEvent(flow, name, kind string) {
	f.t.Helper()
	for after := ""; ; {
		events, later, err := f.api.History(f.t.Context(), flow, name, after, false, 1)
		if err != nil {
			f.t.Fatal(err)
		}
		if slices.ContainsFunc(events, func(e machine.HistoryEvent) bool { return e.Type == kind }) {
			return
		}
		if after = later; later == "" {
			f.t.Fatalf("%s/%s ended without %s", flow, name, kind)
		}
	}
}

// The sample of the page of the prices takes what that page says: 4 reads, 7 writes and 3 messages,
// for $9.04 to $12.28 a million.
func TestTheCostOfAnExecution(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("ask", approval)
	f.begin("ask", "one", value.Object())
	f.hasEvent("ask", "one", "TaskSubmitted")
	if _, _, err := f.api.Succeed(t.Context(), "ask/one/Ask", value.Object()); err != nil {
		t.Fatal(err)
	}
	f.hasEvent("ask", "one", "ExecutionSucceeded")
	shown := f.get("/executions/ask/one/cost")
	for _, want := range []string{
		`Reads of DynamoDB</th><td>4</td>`, `Writes of DynamoDB</th><td>7</td>`, `Messages of SQS</th><td>3</td>`, `Requests to the APIs</th><td>2</td>`,
		"$9.04", "$12.28", "<td>1</td>", "us-east-1",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("the page lacks %q: %s", want, shown)
		}
	}
}
