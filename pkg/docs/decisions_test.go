package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// decisionStatus is what the column status of the index may say.
var decisionStatus = regexp.MustCompile(`^(accepted|moved|superseded by (\d+)( until the first tag)?)$`)

// TestDecisionsAreIndexed compares the index of decisions with the records.
func TestDecisionsAreIndexed(t *testing.T) {
	t.Parallel()
	tables := tablesOf(readFile(t, "decisions/README.md"))
	if len(tables) != 1 {
		t.Fatalf("the index has %d tables", len(tables))
	}
	files, err := filepath.Glob("decisions/[0-9]*.md")
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range tables[0].rows[1:] {
		number, question, status := row[0], row[1], row[4]
		if linked := regexp.MustCompile(`^\[(\d+)\]\((.*)\)$`).FindStringSubmatch(number); linked != nil {
			number = linked[1]
			files = slices.DeleteFunc(files, func(file string) bool { return file == "decisions/"+linked[2] })
			checkDecision(t, "decisions/"+linked[2], fmt.Sprintf("# %s. %s\n\nStatus: %s. Date: %s.\n", number, question, status, row[3]))
		} else if status != "moved" {
			t.Errorf("row %s has no link to a record", number)
		}
		if number != fmt.Sprint(i+1) || !decisionStatus.MatchString(status) {
			t.Errorf("row %d has the number %s and the status %q", i+1, number, status)
		}
	}
	for _, file := range files {
		t.Errorf("%s has no row in the index", file)
	}
}

func checkDecision(t *testing.T, file, head string) {
	t.Helper()
	text := readFile(t, file)
	if !strings.HasPrefix(text, head) {
		t.Errorf("%s does not begin as its row in the index says:\n%s", file, head)
	}
	for _, part := range []string{"**Options.**", "**Choice.**", "**Reason.**"} {
		if !strings.Contains(text, part) {
			t.Errorf("%s has no %s", file, part)
		}
	}
}

// TestLinksLeadToFiles follows the relative links of all documents outside of the reference.
func TestLinksLeadToFiles(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#:]+)\)`)
	files := []string{"../../README.md", "../../CHANGELOG.md"}
	for _, pattern := range []string{"decisions/*.md", "../../.github/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		for _, match := range link.FindAllStringSubmatch(readFile(t, file), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), match[1])); err != nil {
				t.Errorf("%s: link to %s: %v", file, match[1], err)
			}
		}
	}
}
