package jobs

import (
	"testing"
	"time"
)

// TestRunsOfCrawlers: while a crawler runs, its description has the run before it, which tells
// whether the awaited run still goes on.
func TestRunsOfCrawlers(t *testing.T) {
	t.Parallel()
	kind, _ := Find("glue-crawler")
	before := time.Date(2026, 3, 3, 5, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		file  string
		since time.Time
		want  bool
	}{
		"the run after that":      {"described.running.json", before.Add(24 * time.Hour), true},
		"it is stopping":          {"described.stopping.json", before.Add(24 * time.Hour), true},
		"the first run":           {"described.first-run.json", before, true},
		"the run has ended":       {"described.running.json", before, false},
		"and no other run began":  {"described.success.json", before.Add(24 * time.Hour), false},
		"a later run has ended":   {"described.running.json", before.Add(-time.Hour), false},
		"the run before just now": {"described.running.json", before.Add(time.Minute), true},
	} {
		_, seen, err := kind.ReadDescription("111122223333", "eu-central-1", "orders", file(t, kind.Name, tt.file))
		if got := kind.Runs(Run{Since: tt.since}, seen); err != nil || got != tt.want {
			t.Errorf("%s: got %t, %v; want %t", name, got, err, tt.want)
		}
	}
}
