package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mistakes are flows with the mistakes that people make, and what they are
// told. Package fdl has a test of the same folders, without the command.
func mistakes(t *testing.T) []string {
	t.Helper()
	folders, err := filepath.Glob("testdata/mistakes/*")
	if err != nil || len(folders) < 30 {
		t.Fatalf("found %d folders of mistakes, want at least 30 (%v)", len(folders), err)
	}
	return folders
}

func TestValidateShowsEveryMistake(t *testing.T) {
	t.Parallel()
	for _, folder := range mistakes(t) {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			t.Parallel()
			got := do(t, "validate", folder+"/flow.yaml")
			if want := refusal(t, folder, "validate"); got != want {
				t.Errorf("got:\n%+v\nwant:\n%+v", got, want)
			}
		})
	}
}

// refusal is what a command says of the flow in a folder of mistakes.
func refusal(t *testing.T, folder, command string) result {
	t.Helper()
	text, err := os.ReadFile(folder + "/want.txt")
	if err != nil {
		t.Fatal(err)
	}
	problems := "1 problem"
	if n := strings.Count(string(text), "\n"); n > 1 {
		problems = fmt.Sprintf("%d problems", n)
	}
	all := fmt.Sprintf("%swaitless: %s flow.yaml: %s\ntry: mend the places above, then: waitless validate flow.yaml\n", text, command, problems)
	return result{exit: ExitUsage, stderr: strings.ReplaceAll(all, "flow.yaml", folder+"/flow.yaml")}
}

func TestRunRefusesMistakes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"six-at-once", "document-empty", "json-not-closed", "wait-too-long"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := "testdata/mistakes/" + name
			if got, want := do(t, "run", folder+"/flow.yaml", "--skip-time"), refusal(t, folder, "run"); got != want {
				t.Errorf("got:\n%+v\nwant:\n%+v", got, want)
			}
		})
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"valid":        {"validate", pollingFlow},
		"valid-json":   {"validate", pollingFlow, "--json"},
		"warning":      {"validate", "testdata/flows/warning.yaml"},
		"warning-json": {"validate", "testdata/flows/warning.yaml", "--json"},
		"invalid-json": {"validate", "testdata/mistakes/wait-negative/flow.yaml", "--json"},
		"missing-json": {"validate", "testdata/flows/none.yaml", "--json"},
		"folder":       {"validate", "testdata/flows"},
		"strict":       {"validate", "testdata/flows/extended.yaml", "--strict"},
		"strict-json":  {"validate", "testdata/flows/extended.yaml", "--strict", "--json"},
		"strict-fine":  {"validate", pollingFlow, "--strict"},
		"not-strict":   {"validate", "testdata/flows/extended.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := do(t, args...)
			golden(t, "validate/"+name+".txt", got.transcript(args...))
			if strings.HasSuffix(name, "-json") && got.stdout != "" {
				conforms(t, "validate", got.stdout)
			}
		})
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	if got := do(t, "version"); got.exit != 0 || got.stderr != "" || !strings.HasPrefix(got.stdout, "waitless ") {
		t.Errorf("got %+v", got)
	}
	if got := do(t, "--version"); got != do(t, "version") {
		t.Errorf("--version: %+v", got)
	}
	got := do(t, "version", "--json")
	conforms(t, "version", got.stdout)
	var v versionReport
	if err := json.Unmarshal([]byte(got.stdout), &v); err != nil || v.Version == "" {
		t.Errorf("got %q: %v", got.stdout, err)
	}
}
