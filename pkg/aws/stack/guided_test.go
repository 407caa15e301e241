package stack_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/internal/cli/view"
)

// prompt matches the end of the output while the SAM CLI waits for an answer.
var prompt = regexp.MustCompile(`(?:^|\n)([^\n]*(?:\]|Parameter \w+)(?:\x1b\[0m)?: )$`)

// TestGuidedDeployment deploys a stack by `sam deploy --guided`, as the README shows. Enter accepts
// the default of each question, and "y" the changes.
func TestGuidedDeployment(t *testing.T) {
	t.Parallel()
	standard.get(t) // it goes first: the longest tests wait for it
	d := deployment{name: freshName()}
	config := emulator.Config(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	program, err := filepath.Abs(sam())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, program, "deploy", "--guided")
	cmd.Dir = builtProject(t, d.name)
	cmd.Env = append(withoutMake(os.Environ()), variables(config)...)
	cmd.Env = append(cmd.Env, "AWS_DEFAULT_REGION="+config.Region, "SAM_CLI_TELEMETRY=0", "__SAM_CLI_APP_DIR="+folder)
	deploying.Lock()
	questions, printed := pressEnter(t, cmd)
	deploying.Unlock()
	if asked := len(readTemplate(t).Parameters); questions < asked {
		t.Fatalf("%d questions, and the template has %d parameters:\n%s", questions, asked, printed)
	}
	s := stack{name: d.name}
	if err := errors.Join(s.look(t.Context(), config), d.allowOnEmulator(config)); err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	deployed.Lock()
	deployed.stacks = append(deployed.stacks, s)
	deployed.Unlock()
	s.check(t, view.ExitSucceeded, `"job_status":"success"`, "run", "events/polling/flow.yaml", "--input", `{"delay":10}`)
}

// builtProject returns a folder with what `sam build` leaves, and samconfig.toml, which names the
// stack.
func builtProject(t *testing.T, name string) string {
	t.Helper()
	template, err := shipped()
	if err != nil {
		t.Fatal(err)
	}
	built, err := filepath.Abs(filepath.Dir(template))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "samconfig.toml"))
	if err != nil {
		t.Fatal(err)
	}
	named := strings.Replace(string(text), `"waitless"`, `"`+name+`"`, 1)
	dir := t.TempDir()
	if err := errors.Join(
		os.WriteFile(filepath.Join(dir, "samconfig.toml"), []byte(named), 0o600),
		os.Mkdir(filepath.Join(dir, ".aws-sam"), 0o700),
		os.Symlink(built, filepath.Join(dir, ".aws-sam", "build")),
	); err != nil {
		t.Fatal(err)
	}
	return dir
}

// pressEnter runs a program on a terminal until it ends, and answers each question once. It returns
// how many there were.
func pressEnter(t *testing.T, cmd *exec.Cmd) (questions int, printed string) {
	t.Helper()
	master, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: 200, Rows: 50})
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close() //nolint:errcheck // nothing is lost
	asked, pending := map[string]bool{}, ""
	for buffer := make([]byte, 1<<16); ; {
		n, err := master.Read(buffer)
		pending += string(buffer[:n])
		printed += string(buffer[:n])
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, syscall.EIO) {
			t.Fatalf("%v\n%s", err, printed)
		}
		if err != nil { // it has closed the terminal
			break
		}
		found := prompt.FindStringSubmatch(pending)
		if found == nil {
			continue
		}
		if asked[found[1]] {
			_ = cmd.Process.Kill()
			t.Fatalf("%q is asked again:\n%s", found[1], printed)
		}
		asked[found[1]], pending = true, ""
		answer := "\n"
		if strings.Contains(found[1], "Deploy this changeset?") {
			answer = "y\n"
		}
		if _, err := io.WriteString(master, answer); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, printed)
	}
	return len(asked), printed
}
