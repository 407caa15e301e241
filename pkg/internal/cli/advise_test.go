package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/internal/cli/view"
)

// Each sample has what is advised about it in a file; those that are fine say so.
func TestAdvise(t *testing.T) {
	t.Parallel()
	samples, err := filepath.Glob("../../../events/*/flow.yaml")
	if err != nil || len(samples) < 7 {
		t.Fatalf("found %d samples (%v)", len(samples), err)
	}
	own, err := filepath.Glob("testdata/advise/*.yaml")
	if err != nil || len(own) == 0 {
		t.Fatalf("found %d flows (%v)", len(own), err)
	}
	for _, path := range append(samples, own...) {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		if name == "flow" {
			name = filepath.Base(filepath.Dir(path))
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := do(t, "advise", path)
			if got.exit != view.ExitSucceeded || got.stderr != "" {
				t.Errorf("advice is no error: got %+v", got)
			}
			golden(t, "advise/"+name+".txt", got.transcript("advise", path))
			conforms(t, "advise", do(t, "advise", path, "--json").stdout)
		})
	}
}

func TestAdviseJSON(t *testing.T) {
	t.Parallel()
	args := []string{"advise", pollingFlow, "--json"}
	golden(t, "advise/polling-json.txt", do(t, args...).transcript(args...))
}

func TestAdviseRefusesMistakes(t *testing.T) {
	t.Parallel()
	file, want := mistake(t, "six-at-once", "advise")
	if got := do(t, "advise", file); got != want {
		t.Errorf("got:\n%+v\nwant:\n%+v", got, want)
	}
}

// How many polls fill the history is computed; a loop that nothing else ends makes
// as many.
func TestAdviseKnowsTheLimit(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"testdata/advise/batch.yaml", "testdata/advise/nested.yaml"} {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			var advice adviceReport
			if err := json.Unmarshal([]byte(do(t, "advise", path, "--json").stdout), &advice); err != nil {
				t.Fatal(err)
			}
			loop := advice.Findings[0].Loop
			args := []string{"run", path, "--skip-time", "--json", "--input", `{"slow":true,"queue":"q","definition":"d","n":1}`}
			for _, function := range functionsOfFile(t, path) {
				args = append(args, "--task", function+`=exec:echo '{"job_status":"running","state":"busy"}'`)
			}
			var ran runReport
			if err := json.Unmarshal([]byte(do(t, args...).stdout), &ran); err != nil {
				t.Fatal(err)
			}
			if ran.Error != "FnF.EventLimitExceeded" || ran.Calls[loop.Task] != loop.Polls {
				t.Errorf("%s: %s after %d polls, advise says %d", ran.Error, ran.Cause, ran.Calls[loop.Task], loop.Polls)
			}
		})
	}
}

func functionsOfFile(t *testing.T, path string) []string {
	t.Helper()
	file, err := readFlow(t.Context(), path, &template{})
	if err != nil || file.flow == nil {
		t.Fatalf("%s: %v %v", path, err, file.problems)
	}
	return functionsOf(file.flow)
}
