package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waitless/waitless/events"
)

// samples lists each folder of events/ once, with commands that run it: init knows its name, and so
// does make sample.
func TestSamplesListsEachFolder(t *testing.T) {
	t.Parallel()
	golden(t, "samples.txt", do(t, "samples").transcript("samples"))
	got := do(t, "samples", "--json")
	conforms(t, "samples", got.stdout)
	var report struct{ Samples []sampleEntry }
	if err := json.Unmarshal([]byte(got.stdout), &report); err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, entry := range report.Samples {
		listed = append(listed, entry.Name)
		if !slices.Contains(entry.Commands, runsOnStack(entry.Name)) {
			t.Errorf("%s has the commands %q", entry.Name, entry.Commands)
		}
		if writes := slices.Contains(entry.Commands, runsHere(entry.Name)); writes != slices.Contains(events.Samples(), entry.Name) {
			t.Errorf("%s: init writes it: %t", entry.Name, writes)
		}
	}
	slices.Sort(listed)
	if folders := foldersOfEvents(t); !slices.Equal(listed, folders) {
		t.Errorf("listed %q, want %q", listed, folders)
	}
}

func foldersOfEvents(t *testing.T) (names []string) {
	t.Helper()
	inputs, err := filepath.Glob("../../../events/*/input.json")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("found %d folders (%v)", len(inputs), err)
	}
	for _, input := range inputs {
		names = append(names, filepath.Base(filepath.Dir(input)))
	}
	return names
}

// make sample starts the flow of a sample on the stack, deploys the template of another, and
// reports an unknown name.
func TestMakeSampleKnowsEachSample(t *testing.T) {
	t.Parallel()
	lookAt(t, "../../../Makefile")
	recipe := func(name string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "make", "--dry-run", "--no-print-directory", "sample", "NAME="+name, "SAM=Makefile", "STACK_NAME=orders")
		cmd.Dir, cmd.Env = "../../..", []string{"PATH=" + os.Getenv("PATH")}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, sample := range foldersOfEvents(t) {
		want := "waitless start events/" + sample + "/flow.yaml --input @events/" + sample + "/input.json --stack orders"
		if slices.Contains(events.Deployed(), sample) {
			want = "--template events/" + sample + "/template.yaml"
		}
		if got, err := recipe(sample); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %v\n%s\nlacks %s", sample, err, got, want)
		}
	}
	if got, err := recipe("poling"); err != nil || !strings.Contains(got, "no sample") || !strings.Contains(got, "polling") {
		t.Errorf("%v: %s", err, got)
	}
}
