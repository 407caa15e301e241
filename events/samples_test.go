package events_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/waitless/waitless/events"
)

// TestSamplesAreComplete checks that every folder with a flow is a sample, and has the files that its script names.
func TestSamplesAreComplete(t *testing.T) {
	t.Parallel()
	flows, err := filepath.Glob("*/flow.yaml")
	if err != nil || len(flows) == 0 {
		t.Fatalf("found %d flows (%v)", len(flows), err)
	}
	samples := events.Samples()
	if len(samples) != len(flows) {
		t.Errorf("%d samples, want %d", len(samples), len(flows))
	}
	for _, s := range samples {
		var names []string
		for _, f := range s.Files {
			names = append(names, f.Name)
			if text, err := os.ReadFile(filepath.Join(s.Name, f.Name)); err != nil || !bytes.Equal(text, f.Text) {
				t.Errorf("%s/%s: the embedded text differs (%v)", s.Name, f.Name, err)
			}
		}
		if names[0] != "flow.yaml" || !slices.Contains(names, "input.json") {
			t.Errorf("%s: files %q, want the flow first and its input", s.Name, names)
		}
		for _, f := range s.Files {
			for _, named := range regexp.MustCompile(`(?m)event: (\S+)$`).FindAllSubmatch(f.Text, -1) {
				if !slices.Contains(names, string(named[1])) {
					t.Errorf("%s: its script names %s, which it lacks", s.Name, named[1])
				}
			}
		}
	}
}
