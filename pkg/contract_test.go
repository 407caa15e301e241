package pkg

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	statedRule = regexp.MustCompile(`(?m)^//  ([0-9]+)\. `)
	citedRules = regexp.MustCompile(`\brules? ([0-9]+)(?:(?:,| and| or| to|-) ?([0-9]+))*`)
	number     = regexp.MustCompile(`[0-9]+`)
)

// statedRules returns the numbers of the rules that the package comment of the engine states.
func statedRules(comment string) map[string]bool {
	stated := map[string]bool{}
	for _, match := range statedRule.FindAllStringSubmatch(comment, -1) {
		stated[match[1]] = true
	}
	return stated
}

// unstatedRules returns the citations of a text with a number that is not stated.
func unstatedRules(text string, stated map[string]bool) (found []string) {
	for _, citation := range citedRules.FindAllString(strings.ReplaceAll(text, "\n// ", " "), -1) {
		for _, n := range number.FindAllString(citation, -1) {
			if !stated[n] {
				found = append(found, citation)
			}
		}
	}
	return found
}

// Comments and tests cite the rules of the engine's contract by number, and pkg/engine/doc.go
// states each.
func TestCitedRulesAreStated(t *testing.T) {
	t.Parallel()
	comment, err := os.ReadFile("engine/doc.go")
	if err != nil {
		t.Fatal(err)
	}
	stated := statedRules(string(comment))
	const rules = 33
	if len(stated) != rules {
		t.Errorf("pkg/engine/doc.go states %d rules, want %d", len(stated), rules)
	}
	for _, root := range []string{".", "../functions"} {
		err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") || name == "contract_test.go" {
				return err
			}
			text, err := os.ReadFile(name)
			for _, citation := range unstatedRules(string(text), stated) {
				t.Errorf("%s cites %q, which pkg/engine/doc.go does not state", name, citation)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestUnstatedRulesAreFound(t *testing.T) {
	t.Parallel()
	stated := statedRules("//  1. Load first.\n//  2. Call.\n")
	for text, want := range map[string]int{
		"see rule 1": 0, "rules 1 and 2": 0, "rules 1, 3": 1, "(rule 14)": 1, "rules 1 to 3": 1, "by rules\n// 1-4": 1, "a rule of 5": 0,
	} {
		if got := unstatedRules(text, stated); len(got) != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
