// Package releasetest gives tests the tree of the released commit.
package releasetest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Recorded returns the commit of the last release, from pkg/release/released.txt. Root is the folder of the repository.
func Recorded(tb testing.TB, root string) (commit string) {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(root, "pkg", "release", "released.txt")) //nolint:gosec // G304: of the repository
	if err != nil {
		tb.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	_, commit, ok := strings.Cut(lines[len(lines)-1], " ")
	if !ok {
		tb.Fatalf("pkg/release/released.txt: the last line is %q; want a version and a commit; `make record` writes it", lines[len(lines)-1])
	}
	return commit
}

// Unpack returns a new folder with the files of a commit.
func Unpack(tb testing.TB, root, commit string) (folder string) {
	tb.Helper()
	folder = tb.TempDir()
	unpack := exec.CommandContext(tb.Context(), "tar", "-x", "-C", folder) //nolint:gosec // G204: a new folder
	unpack.Stdin = bytes.NewReader(Git(tb, root, "archive", commit))
	if out, err := unpack.CombinedOutput(); err != nil {
		tb.Fatalf("unpack commit %s: %v\n%s", commit, err, out)
	}
	return folder
}

// Git returns what git prints in the repository.
func Git(tb testing.TB, root string, args ...string) []byte {
	tb.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(tb.Context(), "git", append([]string{"-C", root}, args...)...) //nolint:gosec // G204: of a test
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		tb.Fatalf("git %s: %v: %s; this needs a clone of the repository with its history: `git fetch --unshallow` completes one",
			strings.Join(args, " "), err, stderr.Bytes())
	}
	return out
}
