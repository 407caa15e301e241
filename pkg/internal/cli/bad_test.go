//go:build unix

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
)

// TestBadInput runs the cases of testdata/bad with the built program: what users and their
// functions do wrong. A section sh is a script of a shell; the sections behind it, up to the next
// script, are how it ended and what it printed. -update writes them. Every other section is a file.
// A shell finds the program as waitless, and as waitless-clock one with a clock that
// WAITLESS_FAILPOINTS_CLOCK moves.
func TestBadInput(t *testing.T) {
	t.Parallel()
	cases, err := filepath.Glob("testdata/bad/*.txt")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range cases {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			s := &badScript{T: t, folder: t.TempDir()}
			s.link("waitless", program(t))
			s.link("waitless-clock", watched.program(t))
			s.run(path)
		})
	}
}

// badScript is a script under way, in a folder of its own.
type badScript struct {
	*testing.T
	folder string
}

// run writes the files of a case and runs its scripts, in their order.
func (s *badScript) run(path string) {
	s.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		s.Fatal(err)
	}
	got := &txtar.Archive{Comment: archive.Comment}
	for _, section := range archive.Files {
		switch {
		case isOutput(section.Name):
		case section.Name == "sh":
			got.Files = append(append(got.Files, section), s.shell(string(section.Data))...)
		default:
			s.write(section.Name, section.Data)
			got.Files = append(got.Files, section)
		}
	}
	golden(s.T, strings.TrimPrefix(path, "testdata/"), string(txtar.Format(got)))
}

// isOutput reports whether the section has what a script printed, or how it ended.
func isOutput(name string) bool {
	return name == "stdout" || name == "stderr" || strings.HasPrefix(name, "exit ")
}

func (s *badScript) write(name string, content []byte) {
	s.Helper()
	mode := os.FileMode(0o600)
	if bytes.HasPrefix(content, []byte("#!")) {
		mode = 0o700
	}
	if err := os.WriteFile(filepath.Join(s.folder, name), content, mode); err != nil {
		s.Fatal(err)
	}
}

func (s *badScript) link(name, program string) {
	s.Helper()
	programs := filepath.Join(s.folder, "bin")
	if err := os.MkdirAll(programs, 0o700); err != nil {
		s.Fatal(err)
	}
	if err := os.Symlink(program, filepath.Join(programs, name)); err != nil {
		s.Fatal(err)
	}
}

// shell runs a script and returns its exit code and output as sections. A script that does not end
// is killed with all that it started.
func (s *badScript) shell(script string) []txtar.File {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), 2*time.Minute)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "sh", "-c", script)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.folder, &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(s.folder, "bin")+":"+os.Getenv("PATH"), "TZ=UTC", "LANG=C.UTF-8", "NO_COLOR=1", "WAITLESS_STORE=store")
	err := cmd.Run()
	if ended := (*exec.ExitError)(nil); err != nil && !errors.As(err, &ended) || ctx.Err() != nil {
		s.Fatalf("%s: %v", script, err)
	}
	all := []txtar.File{{Name: fmt.Sprintf("exit %d", exitCode(err))}}
	for _, output := range []txtar.File{{Name: "stdout", Data: stdout.Bytes()}, {Name: "stderr", Data: stderr.Bytes()}} {
		if len(output.Data) > 0 {
			output.Data = []byte(s.steady(withoutIDs(string(output.Data))))
			all = append(all, output)
		}
	}
	return all
}

var unsteady = []struct {
	text  *regexp.Regexp
	shown string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "INSTANT"},
	{regexp.MustCompile(`until (\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d`), "until TIME"}, // the date is shown if it is another day
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`), "DATE-AND-TIME......"},
	{regexp.MustCompile(`(?m)^ *(\d+h)?(\d+m)?[\d.]+s  `), "  TIME  "},
	{regexp.MustCompile(`\d{6}\.(log|sst)`), "NUMBER.$1"},
	{regexp.MustCompile(`\d+ \(MANIFEST\)`), "BYTES (MANIFEST)"},
	{regexp.MustCompile(`file \d+: block .*mismatch \w+ != \w+`), "file NUMBER: block: crc32c checksum mismatch"},
	{maskedToken, "...000000"},
}

// steady puts words in the place of what is another with each run.
func (s *badScript) steady(text string) string {
	for _, u := range unsteady {
		text = u.text.ReplaceAllString(text, u.shown)
	}
	return strings.ReplaceAll(text, s.folder, "FOLDER")
}

// A case is the same at any time of day: a wait that ends after midnight is shown with its date.
func TestBadInputIsIndependentOfTheClock(t *testing.T) {
	t.Parallel()
	s := &badScript{T: t, folder: "/nowhere"}
	early, late := s.steady("  0.1s  Wait waits until 11:30:00\n"), s.steady("  0.1s  Wait waits until 2026-02-01 00:30:00\n")
	if early != late {
		t.Errorf("before noon %q, before midnight %q", early, late)
	}
}
