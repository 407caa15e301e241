package release_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/internal/suite/releasetest"
	"github.com/waitless/waitless/pkg/release"
)

const root = "../.."

// The stored and sent bytes of the recorded commit are read by tests of today: a later commit adds
// files with another format number. A file may move with its package.
func TestStoredFormsOfReleaseAreKept(t *testing.T) {
	t.Parallel()
	commit := releasetest.Recorded(t, root)
	released := storedForms(t, "ls-tree", "-r", "--name-only", commit)
	if len(released) < 10 {
		t.Errorf("only %d files", len(released))
	}
	var now []string
	for _, file := range storedForms(t, "ls-files") {
		content, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		now = append(now, string(content))
	}
	for _, file := range released {
		if !slices.Contains(now, string(releasetest.Git(t, root, "show", commit+":"+file))) {
			t.Errorf("no file has the content of %s of commit %s; give a changed form a new format number", file, commit)
		}
	}
}

// storedForms returns the files with stored and sent bytes that a command of git lists.
func storedForms(t *testing.T, args ...string) []string {
	t.Helper()
	return slices.DeleteFunc(strings.Fields(string(releasetest.Git(t, root, args...))), func(file string) bool {
		matched, _ := filepath.Match("*.v[0-9]*.*", filepath.Base(file))
		return !matched || !strings.Contains(file, "/testdata/")
	})
}

// The changelog has the version as a release, and the recorded commit is in the history.
func TestVersionIsRecorded(t *testing.T) {
	t.Parallel()
	releasetest.Git(t, root, "merge-base", "--is-ancestor", releasetest.Recorded(t, root), "HEAD")
	changes, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(changes), "\n## ["+release.Version+"]") {
		t.Errorf("CHANGELOG.md has no section [%s]", release.Version)
	}
}
