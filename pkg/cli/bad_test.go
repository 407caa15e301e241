//go:build unix

package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// What people and their functions get wrong, a script each: the commands as
// somebody types them, what the built program answers, its exit code, and what
// the store has then. They are datadriven scripts, and not testscripts, since
// they are to show what is answered word for word, exit codes too; -rewrite
// writes what the program of today answers.
//
//	file NAME    writes a file
//	sh           runs a shell's script
//
// A shell finds the program as waitless, and as waitless-clock one whose clock
// WAITLESS_FAILPOINTS_CLOCK puts ahead or back.
func TestBadInput(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/bad", func(t *testing.T, path string) {
		t.Helper()
		t.Parallel()
		s := &badScript{T: t, folder: t.TempDir()}
		s.link("waitless", program(t))
		s.link("waitless-clock", watched.program(t))
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			t.Helper()
			switch d.Cmd {
			case "file":
				s.write(d.CmdArgs[0].Key, d.Input+"\n")
				return ""
			case "sh":
				return s.shell(d.Input)
			}
			d.Fatalf(t, "there is no command %s", d.Cmd)
			return ""
		})
	})
}

// badScript is a script under way, in a folder of its own.
type badScript struct {
	*testing.T
	folder string
}

func (s *badScript) write(name, content string) {
	s.Helper()
	mode := os.FileMode(0o600)
	if strings.HasPrefix(content, "#!") {
		mode = 0o700
	}
	if err := os.WriteFile(filepath.Join(s.folder, name), []byte(content), mode); err != nil {
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

// shell runs a script, which is killed with all that it started should it not
// end.
func (s *badScript) shell(script string) string {
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
	r := result{exitCode(err), stdout.String(), stderr.String()}
	_, shown, _ := strings.Cut(r.transcript(), "\n")
	return s.steady(shown)
}

var unsteady = []struct {
	text  *regexp.Regexp
	shown string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "INSTANT"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`), "DATE-AND-TIME......"},
	{regexp.MustCompile(`(?m)^ *(\d+h)?(\d+m)?[\d.]+s  `), "  TIME  "},
	{regexp.MustCompile(`\d{6}\.(log|sst)`), "NUMBER.$1"},
	{regexp.MustCompile(`\d+ \(MANIFEST\)`), "BYTES (MANIFEST)"},
	{regexp.MustCompile(`file \d+: block .*mismatch \w+ != \w+`), "file NUMBER: block: crc32c checksum mismatch"},
	{regexp.MustCompile(`until \d\d:\d\d:\d\d`), "until TIME"},
	{maskedToken, "...000000"},
}

// steady puts words in the place of what is another with each run.
func (s *badScript) steady(text string) string {
	for _, u := range unsteady {
		text = u.text.ReplaceAllString(text, u.shown)
	}
	return strings.ReplaceAll(text, s.folder, "FOLDER")
}
