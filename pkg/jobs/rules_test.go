package jobs

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Each event of the kinds' folders matches one rule if ReadEvent reads it as an end, or as a hint
// of one, and otherwise none.
func TestRulesAgreeWithReadEvent(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("testdata/kinds/*/*.event.json")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		document, err := decode(text)
		if err != nil {
			t.Fatal(name, err)
		}
		matching, want := 0, 1
		if _, _, err = ReadEvent(text); errors.Is(err, ErrNoEnd) || path("TopicArn").text(document) != "" { // what is published to a topic is no event
			want = 0
		}
		for _, rule := range Rules() {
			pattern, err := decode(rule)
			if err != nil {
				t.Fatal(err)
			}
			if matchesPattern(pattern, document) {
				matching++
			}
		}
		if matching != want {
			t.Errorf("%s matches %d rules, want %d", name, matching, want)
		}
	}
}

// matchesPattern reports whether an event matches a pattern as EventBridge compares them.
func matchesPattern(pattern, event any) bool {
	members, _ := pattern.(map[string]any)
	values, _ := event.(map[string]any)
	for name, want := range members {
		matches := false
		switch want := want.(type) {
		case map[string]any:
			matches = matchesPattern(want, values[name])
		case []any:
			matches = slices.Contains(want, values[name])
			if name == "$or" {
				matches = slices.ContainsFunc(want, func(one any) bool { return matchesPattern(one, event) })
			}
		}
		if !matches {
			return false
		}
	}
	return true
}

// A rule has the final statuses of a kind and no other. Kinds that tell their ends alike share an
// alternative.
func TestRules(t *testing.T) {
	t.Parallel()
	rules := Rules()
	var all strings.Builder
	for _, rule := range rules {
		all.Write(rule)
	}
	for _, want := range []string{
		`{"detail":{"eventType":["REPLICATION_TASK_FAILED","REPLICATION_TASK_STOPPED"]},"detail-type":["DMS Replication Task State Change"]}`,
		`{"detail":{"TranscriptionJobStatus":["COMPLETED","FAILED"]},"detail-type":["Transcribe Job State Change"]}`,
	} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("no rule has %s: %s", want, all.String())
		}
	}
	for _, kind := range Kinds() {
		for _, detailType := range kind.DetailTypes() {
			if kind.ByTopic() {
				continue
			}
			if strings.Count(all.String(), string(quote(detailType))) != 1 {
				t.Errorf("%s: %q is not in one rule", kind.Name, detailType)
			}
		}
	}
}

// A rule that would be longer than AWS accepts is two.
func TestRulesAreWithinTheLimits(t *testing.T) {
	t.Parallel()
	long := alternative{Types: []string{strings.Repeat("x", patternLimit/2)}}
	if !isWithinLimits([]alternative{long}) || isWithinLimits([]alternative{long, long}) {
		t.Error("the limit of the length is not that of AWS")
	}
	for _, rule := range Rules() {
		if len(rule) > patternLimit {
			t.Errorf("%d characters: %s", len(rule), rule)
		}
	}
}
