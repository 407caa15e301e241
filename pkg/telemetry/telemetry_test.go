package telemetry_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/telemetry"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

var epoch = time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)

// newBatch returns a batch of the stack s, and what it writes.
func newBatch() (*telemetry.Batch, *bytes.Buffer) {
	lines := new(bytes.Buffer)
	return &telemetry.Batch{Stack: "s", Level: "WARN", Now: func() time.Time { return epoch }, Out: lines}, lines
}

func TestBatchWritesOneLine(t *testing.T) {
	t.Parallel()
	batch, lines := newBatch()
	batch.Flush()
	batch.Add(telemetry.WakeAge, "", 12)
	batch.Add(telemetry.WakeAge, "", 7)
	batch.Add(telemetry.ExecutionsStarted, "", 1)
	batch.Add(telemetry.ExecutionsStarted, "", 1)
	batch.Flush()
	batch.Flush()
	want := `{"ExecutionsStarted":2,"Stack":"s","WakeAge":[12,7],"_aws":{"CloudWatchMetrics":[{"Namespace":"Waitless","Dimensions":[["Stack"]],` +
		`"Metrics":[{"Name":"ExecutionsStarted","Unit":"Count"},{"Name":"WakeAge","Unit":"Milliseconds"}]}],"Timestamp":1769853600000},` +
		`"level":"WARN","timestamp":"2026-01-31T10:00:00.000Z"}` + "\n"
	if diff := cmp.Diff(want, lines.String()); diff != "" {
		t.Error(diff)
	}
}

func TestBatchWritesOneLineForEachReason(t *testing.T) {
	t.Parallel()
	batch, lines := newBatch()
	batch.Level = ""
	callbacks := telemetry.CountRefusals(batch, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodGet} {
		callbacks.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), method, "/callbacks/secret", http.NoBody))
	}
	batch.Flush()
	want := `{"CallbackRefusals":2,"Reason":"NotFound","Stack":"s","_aws":{"CloudWatchMetrics":[{"Namespace":"Waitless","Dimensions":[["Stack","Reason"]],` +
		`"Metrics":[{"Name":"CallbackRefusals","Unit":"Count"}]}],"Timestamp":1769853600000},"level":"INFO","timestamp":"2026-01-31T10:00:00.000Z"}` + "\n"
	if diff := cmp.Diff(want, lines.String()); diff != "" {
		t.Error(diff)
	}
}

func TestLinesAreBounded(t *testing.T) {
	t.Parallel()
	batch, lines := newBatch()
	for range 1000 {
		batch.Add(telemetry.WakeAge, "", 1)
	}
	batch.Flush()
	if got := strings.Count(lines.String(), "1,1") * 2; got > 100 {
		t.Errorf("the line has over %d values", got)
	}
	var none *telemetry.Batch
	none.Add(telemetry.WakeAge, "", 1)
	none.Flush()
}

// The lines of an execution with one callback: of its start, its two wakes and the closed token.
func TestBytesOfAnExecution(t *testing.T) {
	t.Parallel()
	batch, lines := newBatch()
	batch.Stack = "waitless-production"
	batch.Add(telemetry.ExecutionsStarted, "", 1)
	batch.Flush()
	telemetry.CountWake(batch, engine.Wake{Due: epoch, Sent: epoch}, epoch.Add(40*time.Millisecond), engine.Disposition{})
	batch.Flush()
	telemetry.CountWake(batch, engine.Wake{Due: epoch, Sent: epoch}, epoch.Add(40*time.Millisecond), engine.Disposition{})
	batch.Add(telemetry.ExecutionsSucceeded, "", 1)
	batch.Flush()
	if got := lines.Len(); got < 800 || got > 1000 {
		t.Errorf("an execution writes %d bytes; the reference says 0.8 to 1 KB", got)
	}
}

const text = `version: v1
type: flow
steps:
  - type: task
    name: Fetch
    resourceArn: acs:fc:::services/s/functions/fetch
    retry: [{errors: [NotReady], intervalSeconds: 20, maxAttempts: 2}, {errors: [AtOnce], intervalSeconds: 0, maxAttempts: 1}]
    catch: [{errors: [Caught], goto: End}]
  - {type: succeed, name: End}
`

// functions return the next of these errors, the empty text for success.
type functions struct{ errors []string }

func (f *functions) Call(context.Context, machine.Call) (token.Outcome, error) {
	next := f.errors[0]
	f.errors = f.errors[1:]
	if next != "" {
		return token.Failure(next, ""), nil
	}
	return token.Success(value.Object()), nil
}

func (*functions) TimeLimits(context.Context, *flow.Flow) (map[string]time.Duration, error) {
	return nil, nil
} //nolint:nilnil // no limits

func TestCommitsAreCounted(t *testing.T) {
	t.Parallel()
	totals := telemetry.NewTotals(
		telemetry.ExecutionsStarted, telemetry.ExecutionsFailed, telemetry.ExecutionsSucceeded, telemetry.Retries, telemetry.CallbackRefusals)
	calls := &functions{[]string{"NotReady", "NotReady", "", "NotReady", "NotReady", "NotReady", "Caught", "AtOnce", "Other"}}
	system := local.New(local.Config{
		Store: &store.Memory{}, Clock: local.NewVirtualClock(epoch), Functions: calls, Observer: telemetry.Executions{Sink: totals},
	})
	flow, err := system.Client.PutFlow(t.Context(), "f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"retried-twice", "fails", "caught", "fails-otherwise"} {
		if _, err := system.Start(t.Context(), engine.StartRequest{Flow: flow, Execution: name}); err != nil {
			t.Fatal(err)
		}
		if err := system.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	want := `# HELP waitless_callback_refusals_total Requests of callbacks that were rejected.
# TYPE waitless_callback_refusals_total counter
# HELP waitless_executions_failed_total Executions that failed.
# TYPE waitless_executions_failed_total counter
waitless_executions_failed_total 2
# HELP waitless_executions_started_total Executions that were accepted, sub-flows included.
# TYPE waitless_executions_started_total counter
waitless_executions_started_total 4
# HELP waitless_executions_succeeded_total Executions that succeeded.
# TYPE waitless_executions_succeeded_total counter
waitless_executions_succeeded_total 2
# HELP waitless_retries_total Failed attempts that a retry policy repeats.
# TYPE waitless_retries_total counter
waitless_retries_total 5
`
	if diff := cmp.Diff(want, scrape(t, totals)); diff != "" {
		t.Error(diff)
	}
}

func scrape(t *testing.T, totals *telemetry.Totals) string {
	t.Helper()
	response := httptest.NewRecorder()
	totals.ServeHTTP(response, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	return response.Body.String()
}

func TestWakesAreCounted(t *testing.T) {
	t.Parallel()
	totals := telemetry.NewTotals()
	for receives, wake := range []engine.Wake{
		{Due: epoch, Sent: epoch.Add(-time.Hour)}, {Due: epoch.Add(-time.Hour), Sent: epoch.Add(time.Second)}, {Due: epoch.Add(-time.Hour)},
	} {
		wake.Receives = receives
		telemetry.CountWake(totals, wake, epoch.Add(1500*time.Millisecond), engine.Disposition{Conflicts: receives})
	}
	totals.Add(telemetry.CallbackRefusals, "Not\"Found", 2)
	want := `# HELP waitless_callback_refusals_total Requests of callbacks that were rejected.
# TYPE waitless_callback_refusals_total counter
waitless_callback_refusals_total{reason="Not\"Found"} 2
# HELP waitless_conflicts_total Commits that another worker preceded.
# TYPE waitless_conflicts_total counter
waitless_conflicts_total 3
# HELP waitless_wake_age_milliseconds Age of wakes at their first receipt, since they were due.
# TYPE waitless_wake_age_milliseconds summary
waitless_wake_age_milliseconds_sum 2000
waitless_wake_age_milliseconds_count 2
`
	if diff := cmp.Diff(want, scrape(t, totals)); diff != "" {
		t.Error(diff)
	}
}

// The table of the reference has the metrics that the code writes.
func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, m := range telemetry.All() {
		want = append(want, fmt.Sprintf("| `%s` | %s | %s |", m.Name, m.Unit, m.Help))
	}
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "| `") && strings.Count(line, "|") == 4 && strings.HasSuffix(line, ". |\n") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A zero has a price, and says nothing.
func TestZerosAreNotWritten(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	b := &telemetry.Batch{Stack: "s", Now: time.Now, Out: &out}
	for _, m := range telemetry.All() {
		if m != telemetry.WakeAge {
			b.Add(m, "", 0)
		}
	}
	if b.Flush(); out.Len() > 0 {
		t.Errorf("written: %s", &out)
	}
	b.Add(telemetry.WakeAge, "", 0) // of a percentile
	b.Add(telemetry.OpenWaits, "", 2)
	if b.Flush(); !strings.Contains(out.String(), `"OpenWaits":2`) || !strings.Contains(out.String(), `"WakeAge":0`) {
		t.Errorf("written: %s", &out)
	}
}
