package docs_test

import (
	"fmt"
	"strings"
	"testing"
)

// changeWords is by how many words entries of the changelog are compared.
const changeWords = 8

// changeProblems returns the entries of a section that begin alike, and the headings of the first
// release but "Added".
func changeProblems(changelog string) (found []string) {
	release, first, _ := strings.Cut(changelog, "\n## [0.1.0]")
	for _, section := range strings.Split(release, "\n### ") {
		found = append(found, repeatedChanges(section)...)
	}
	for _, section := range strings.Split(first, "\n### ")[1:] {
		if heading, _, _ := strings.Cut(section, "\n"); heading != "Added" {
			found = append(found, "0.1.0 has the heading "+heading+"; a first release has only additions")
		}
		found = append(found, repeatedChanges(section)...)
	}
	return found
}

func repeatedChanges(section string) (found []string) {
	seen := map[string]bool{}
	for _, entry := range strings.Split(section, "\n- ")[1:] {
		words := strings.Fields(entry)
		begin := strings.Join(words[:min(changeWords, len(words))], " ")
		if seen[begin] {
			found = append(found, fmt.Sprintf("two entries begin %q", begin))
		}
		seen[begin] = true
	}
	return found
}

// The changelog says each change once: merges have brought entries back.
func TestChangelogSaysEachChangeOnce(t *testing.T) {
	t.Parallel()
	for _, problem := range changeProblems(readFile(t, "../../CHANGELOG.md")) {
		t.Error(problem)
	}
}

func TestRepeatedChangesAreFound(t *testing.T) {
	t.Parallel()
	const entry = "- One two three four five six\n  seven eight nine.\n"
	for text, want := range map[string]int{
		"## [Unreleased]\n\n### Added\n\n" + entry + entry:                                 1,
		"## [Unreleased]\n\n### Added\n\n" + entry + "\n### Fixed\n\n" + entry:             0,
		"## [Unreleased]\n\n### Fixed\n\n- A.\n\n## [0.1.0] - 2026-11-23\n\n### Added\n\n": 0,
		"## [Unreleased]\n\n## [0.1.0] - 2026-11-23\n\n### Fixed\n\n- A.\n":                1,
	} {
		if got := changeProblems(text); len(got) != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
