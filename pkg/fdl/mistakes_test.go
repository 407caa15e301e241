package fdl_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/waitless/waitless/pkg/fdl"
)

var update = flag.Bool("update", false, "write the answers to the flows of mistakes and the actions of the schema instead of comparing them")

const mistakes = "../internal/cli/testdata/mistakes"

// TestMistakes parses flows with one common mistake each. What it reports is also what the command
// prints.
func TestMistakes(t *testing.T) {
	t.Parallel()
	if *update && os.Getenv("CI") != "" {
		t.Fatal("-update in CI would agree with anything")
	}
	for file, c := range mistakeCases(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			c.test(t, file)
		})
	}
}

// A mistakeCase is a flow and the problems that are reported about it.
type mistakeCase struct{ flow, want string }

// mistakeCases are the flows with mistakes, by file.
func mistakeCases(tb testing.TB) map[string]mistakeCase {
	tb.Helper()
	files, err := filepath.Glob(mistakes + "/*.txt")
	if err != nil || len(files) < 30 {
		tb.Fatalf("found %d flows with mistakes, want at least 30 (%v)", len(files), err)
	}
	cases := map[string]mistakeCase{}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		cases[file] = mistakeCase{flow: string(archive.Files[0].Data), want: string(archive.Files[1].Data)}
	}
	return cases
}

func (c mistakeCase) test(t *testing.T, file string) {
	t.Helper()
	flow, problems := fdl.Parse([]byte(c.flow))
	got := lines(problems)
	if *update {
		text := txtar.Format(&txtar.Archive{Files: []txtar.File{{Name: "flow.yaml", Data: []byte(c.flow)}, {Name: "want", Data: []byte(got)}}})
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	} else if got != c.want {
		t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
	}
	number := 1
	switch name := filepath.Base(file); {
	case strings.Contains(name, "six-at-once"):
		number = 6
	case name == "ref-of-a-template.txt":
		number = 3
	}
	if flow != nil || len(problems) != number {
		t.Errorf("got flow %v and %d problems, want none and %d", flow, len(problems), number)
	}
}
