package release_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/internal/suite/releasetest"
	"github.com/waitless/waitless/pkg/release"
)

const root = "../.."

// The files with stored and sent bytes are those of the recorded commit: a later commit adds files
// with another format number.
func TestStoredFormsOfReleaseAreKept(t *testing.T) {
	t.Parallel()
	commit := releasetest.Recorded(t, root)
	files := strings.Fields(string(releasetest.Git(t, root, "ls-tree", "-r", "--name-only", commit)))
	kept := 0
	for _, file := range files {
		if matched, _ := filepath.Match("*.v[0-9]*.*", filepath.Base(file)); !matched || !strings.Contains(file, "/testdata/") {
			continue
		}
		now, err := os.ReadFile(filepath.Join(root, file))
		if err != nil || !bytes.Equal(now, releasetest.Git(t, root, "show", commit+":"+file)) {
			t.Errorf("%s is not that of commit %s (%v); give a changed form a new format number", file, commit, err)
		}
		kept++
	}
	if kept < 10 {
		t.Errorf("only %d files", kept)
	}
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
