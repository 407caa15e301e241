package pkg

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// pythonForTools is a Python whose pip fails if the lock file has the word broken. Each pip that
// installs adds a line to the file runs.
const pythonForTools = `#!/bin/sh
[ "$1" = -m ] || exit 0
mkdir -p "$3/bin"
cat >"$3/bin/pip" <<'END'
#!/bin/sh
[ "$1" = install ] || exit 0
for lock; do :; done
echo >>"$RUNS"
! grep -q broken "$lock"
END
chmod +x "$3/bin/pip"
`

// A tool is installed again if the content of its lock file changed, and only then. A failed
// installation leaves no folder.
func TestToolsAreInstalledByContent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lock, folder, runs, python := filepath.Join(dir, "tool.txt"), filepath.Join(dir, "tools", "tool"), filepath.Join(dir, "runs"), filepath.Join(dir, "python")
	script, err := os.ReadFile("../.ci/install")
	if err := errors.Join(err,
		os.WriteFile(filepath.Join(dir, "install"), script, 0o700), os.WriteFile(python, []byte(pythonForTools), 0o700),
	); err != nil {
		t.Fatal(err)
	}
	at := time.Now()
	for _, step := range []struct {
		name, lock string
		runs       int // of pip, until then
		fails      bool
	}{
		{"new", "a==1", 1, false},
		{"a newer file with the same content", "a==1", 1, false},
		{"another lock", "a==2", 2, false},
		{"the lock of before", "a==1", 3, false},
		{"a lock that cannot be installed", "broken", 4, true},
		{"again", "broken", 5, true},
		{"repaired", "a==1", 6, false},
		{"installed", "a==1", 6, false},
	} {
		at = at.Add(time.Hour)
		if err := errors.Join(os.WriteFile(lock, []byte(step.lock), 0o600), os.Chtimes(lock, at, at)); err != nil {
			t.Fatal(err)
		}
		install := exec.CommandContext(t.Context(), filepath.Join(dir, "install"), "tool", folder)
		install.Env = append(os.Environ(), "PYTHON="+python, "RUNS="+runs)
		out, err := install.CombinedOutput()
		counted, _ := os.ReadFile(runs) // compared below
		_, missing := os.Stat(folder)
		if (err != nil) != step.fails || (missing != nil) != step.fails || bytes.Count(counted, []byte("\n")) != step.runs {
			t.Errorf("%s: %v, folder: %v, %d runs of pip; want %d\n%s", step.name, err, missing, bytes.Count(counted, []byte("\n")), step.runs, out)
		}
	}
}
