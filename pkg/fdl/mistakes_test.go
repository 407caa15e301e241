package fdl_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/fdl"
)

var update = flag.Bool("update", false, "write what the flows of mistakes are answered instead of comparing it")

const mistakes = "../cli/testdata/mistakes"

// Each folder has a flow with one mistake of the kind that people make and
// what they are told. Its want.txt is also what the command prints.
func TestMistakes(t *testing.T) {
	t.Parallel()
	if *update && os.Getenv("CI") != "" {
		t.Fatal("-update in CI would agree with anything")
	}
	flows, err := filepath.Glob(mistakes + "/*/flow.yaml")
	if err != nil || len(flows) < 30 {
		t.Fatalf("found %d flows with mistakes, want at least 30 (%v)", len(flows), err)
	}
	for _, file := range flows {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			t.Parallel()
			testMistake(t, file)
		})
	}
}

func testMistake(t *testing.T, file string) {
	t.Helper()
	flow, problems := fdl.Parse(readFile(t, file))
	got := lines(problems)
	wantFile := filepath.Join(filepath.Dir(file), "want.txt")
	if *update {
		if err := os.WriteFile(wantFile, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want := string(readFile(t, wantFile)); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	number := 1
	if strings.Contains(file, "six-at-once") {
		number = 6
	}
	if flow != nil || len(problems) != number {
		t.Errorf("got flow %v and %d problems, want none and %d", flow, len(problems), number)
	}
}
