package cli

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Metrics are served with the API and its key, and each write is in the log with how it arrived.
func TestDevServesMetricsAndLogsWrites(t *testing.T) {
	t.Parallel()
	d := startDev(t, program(t), inStore(t), "--api")
	d.do("start", callbackFlow, "--name", "one")
	d.until("callback", "show", "callback/one")
	d.do("stop", "callback/one")
	d.until("Stopped", "show", "callback/one")
	d.do("start", callbackFlow, "--name", "two")
	d.until("callback", "show", "callback/two")
	if status, _ := d.post(d.says.Callbacks+"forged", "{}"); status != http.StatusNotFound {
		t.Errorf("a forged token: status %d", status)
	}
	status, text := d.ask(d.says.API+"/metrics", "Accept", "*/*")
	ages := regexp.MustCompile(`(?m)^(waitless_wake_age_milliseconds_\w+|waitless_oldest_open_wait_seconds) .*$`)
	var got []string
	for line := range strings.Lines(ages.ReplaceAllString(text, "$1")) {
		if !strings.HasPrefix(line, "#") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	want := []string{
		`waitless_callback_refusals_total{reason="NotFound"} 1`, "waitless_delivery_failures_total 0", "waitless_executions_failed_total 0",
		"waitless_executions_started_total 2", "waitless_executions_stopped_total 1", "waitless_executions_succeeded_total 0",
		"waitless_executions_timed_out_total 0", "waitless_oldest_open_wait_seconds", "waitless_open_waits 1", "waitless_retries_total 0",
		"waitless_spans_dropped_total 0",
		"waitless_wake_age_milliseconds_sum", "waitless_wake_age_milliseconds_count",
	}
	if diff := cmp.Diff(want, got); diff != "" || status != http.StatusOK {
		t.Errorf("status %d\n%s", status, diff)
	}
	d.says.APIKey = ""
	if status, text := d.ask(d.says.API+"/metrics", "Accept", "*/*"); status != http.StatusUnauthorized || strings.Contains(text, "_total") {
		t.Errorf("without the key: status %d, %s", status, text)
	}
	d.interrupt()
	for line, want := range map[string]int{
		`"POST /flows/\{flow\}/executions" object="/flows/callback/executions one" status=201`:                       1,
		`"POST /flows/\{flow\}/executions" object="/flows/callback/executions two" status=201`:                       1,
		`"POST /flows/\{flow\}/executions/\{execution\}/stop" object=/flows/callback/executions/one/stop status=202`: 1,
	} {
		line = `level=INFO msg=audit caller=socket source=\S+ operation=` + line
		if log := d.stderr.String(); len(regexp.MustCompile(line).FindAllString(log, -1)) != want {
			t.Errorf("the log lacks %s:\n%s", line, log)
		}
	}
}
