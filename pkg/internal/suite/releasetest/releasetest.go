// Package releasetest gives tests the tree of the released commit.
package releasetest

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Recorded returns the commit of the last release, from pkg/release/released.txt. Root is the
// folder of the repository.
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

// Flows are the files of the flow `journey`, which has in flight what an execution may have, and of
// its sub-flow `child`.
func Flows(root string) []string {
	folder := filepath.Join(root, "pkg", "internal", "suite", "releasetest", "testdata")
	return []string{filepath.Join(folder, "child.yaml"), filepath.Join(folder, "journey.yaml")}
}

// Input is the input of the execution of the flow `journey` with that name, which its sub-flow gets
// too.
func Input(name string) string { return `{"name":"` + name + `","items":[1,2,3]}` }

// Calls are how often an execution calls the function of each step, its sub-flow's too. The step
// Poll calls as often as it has to.
var Calls = map[string]int{"First": 1, "Woken": 1, "Ask": 1, "Told": 1, "Item": 3, "Approve": 1, "Last": 1}

// Stored compares what is stored, or sent, with the file that has it for this format. A missing
// file is written, and the test fails until it is there. No flag rewrites one: stores and queues of
// the release have these bytes.
func Stored(tb testing.TB, file, got string) {
	tb.Helper()
	want, err := os.ReadFile(file) //nolint:gosec // G304: a file of the test
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			tb.Fatal(err)
		}
		tb.Errorf("%s is new; commit it", file)
	case err != nil:
		tb.Fatal(err)
	case got != string(want):
		tb.Errorf("%s: the stored bytes changed; a change needs a new format number, see pkg/docs/decisions/43-formats.md\ngot:\n%s\nwant:\n%s", file, got, want)
	}
}
