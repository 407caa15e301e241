package local

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
)

// TestCustomKindsHaveRunners: the runner of a custom kind gets each request as its input. What it
// reports is an error of the kind.
func TestCustomKindsHaveRunners(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	function, asked := filepath.Join(folder, "render.sh"), filepath.Join(folder, "asked")
	text := "cat >>" + asked + "\ncase $1 in fails) echo '{\"errorType\":\"NoVideo\",\"errorMessage\":\"none\"}'; exit 1 ;; esac\necho '{\"job_id\":\"j\"}'\n"
	if err := os.WriteFile(function, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	clock := &Clock{}
	tasks, err := NewFunctions(clock, map[string]string{"custom:a": "exec:sh " + function, "custom:b": "exec:sh " + function + " fails"})
	if err != nil {
		t.Fatal(err)
	}
	s := services{simulated: &simulatedServices{clock: clock}, own: tasks}
	kind, _ := jobs.Find("custom:a")
	stop, err := kind.StopParams("j")
	if err != nil {
		t.Fatal(err)
	}
	if response, err := s.Start(t.Context(), kind, []byte(`{"n":1}`)); err != nil || string(response) != `{"job_id":"j"}` {
		t.Errorf("got %s, %v", response, err)
	}
	if err := s.Stop(t.Context(), kind, stop); err != nil {
		t.Error(err)
	}
	got, err := os.ReadFile(asked)
	want := `{"action":"start","kind":"custom:a","params":{"n":1}}` + "\n" + `{"action":"stop","job_id":"j","kind":"custom:a"}` + "\n"
	if err != nil || string(got) != want {
		t.Errorf("asked %s, %v; want %s", got, err, want)
	}
	failing, _ := jobs.Find("custom:b")
	_, err = s.Start(t.Context(), failing, []byte(`{}`))
	if refused, ok := errors.AsType[*resume.ServiceError](err); !ok || refused.Name != "custom.NoVideo" || refused.Message != "none" {
		t.Errorf("got %v", err)
	}
	if _, err := NewFunctions(clock, map[string]string{"custom:a": "nothing"}); err == nil || !strings.Contains(err.Error(), "exec:COMMAND") {
		t.Errorf("got %v", err)
	}
}
