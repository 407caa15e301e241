package main

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/telemetry"
)

// counts are the numbers of metrics by their names.
type counts map[string]float64

// Add implements [telemetry.Sink].
func (c counts) Add(m *telemetry.Metric, _ string, value float64) { c[m.Name] += value }

// TestUnmatchedEventsAreVisible: an event without a wait is counted and named, and one with a wait
// is neither.
func TestUnmatchedEventsAreVisible(t *testing.T) {
	t.Parallel()
	var lines strings.Builder
	got := counts{}
	noted := unmatched(got, slog.New(slog.NewTextHandler(&lines, nil)))
	key := jobs.Key{Kind: "batch-job", Account: "123456789012", Region: "eu-west-1", Name: "arn:of:the:job"}
	noted(key, resume.JobRecord{Waiters: []resume.Waiter{{Handle: "h"}}})
	if len(got) != 0 || lines.Len() != 0 {
		t.Errorf("with a wait: %v, %s", got, lines.String())
	}
	noted(key, resume.JobRecord{})
	want := `msg="job event unmatched" kind=batch-job account=123456789012 region=eu-west-1 job=arn:of:the:job` + "\n"
	if len(got) != 1 || got["JobEventsUnmatched"] != 1 || !strings.HasSuffix(lines.String(), want) {
		t.Errorf("got %v and %swant 1 and %s", got, lines.String(), want)
	}
}

// TestFailedStopsAreCounted: a job that could not be stopped is counted, another warning is not,
// and both are told.
func TestFailedStopsAreCounted(t *testing.T) {
	t.Parallel()
	got, told := counts{}, 0
	warn := countStops(got, func(error) { told++ })
	warn(errors.New("describe job n: throttled"))
	if len(got) != 0 {
		t.Errorf("another warning: %v", got)
	}
	warn(fmt.Errorf("poll: %w", &resume.StopError{Job: "n", Err: errors.New("refused")}))
	if got["JobStopFailures"] != 1 || told != 2 {
		t.Errorf("got %v, told of %d", got, told)
	}
}
