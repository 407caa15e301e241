package events_test

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/waitless/waitless/events"
)

// TestEveryFolderIsListed checks that each folder is in one of the two lists, with a description.
func TestEveryFolderIsListed(t *testing.T) {
	t.Parallel()
	inputs, err := filepath.Glob("*/input.json")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("found %d folders (%v)", len(inputs), err)
	}
	listed := slices.Concat(events.Samples(), events.Deployed())
	if len(listed) != len(inputs) {
		t.Errorf("%d folders are listed, want %d", len(listed), len(inputs))
	}
	for _, input := range inputs {
		folder := filepath.Dir(input)
		if !slices.Contains(listed, folder) || events.Description(folder) == "" {
			t.Errorf("%s: listed %t, described %q", folder, slices.Contains(listed, folder), events.Description(folder))
		}
	}
}

// TestSamplesAreComplete checks that every folder with a flow is a sample, and has the files that
// its script and its settings name.
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
	named := map[string]*regexp.Regexp{
		"script.yaml": regexp.MustCompile(`(?m)event: (\S+)$`), "waitless.yaml": regexp.MustCompile(`(?m)^  \S+: exec:sh (\S+)`),
	}
	for _, sample := range samples {
		files := events.Files(sample)
		for _, name := range []string{"flow.yaml", "input.json", "waitless.yaml"} {
			if _, err := fs.Stat(files, name); err != nil {
				t.Errorf("%s: %v", sample, err)
			}
		}
		for in, pattern := range named {
			text, _ := fs.ReadFile(files, in) // not every sample has a script
			for _, match := range pattern.FindAllSubmatch(text, -1) {
				if _, err := fs.Stat(files, string(match[1])); err != nil {
					t.Errorf("%s: %s names a file that it lacks: %v", sample, in, err)
				}
			}
		}
	}
}
