package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waitless/waitless/events"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/internal/advise"
	"github.com/waitless/waitless/pkg/internal/cli/view"
)

// What init says to type next works in each sample, and the run ends as the sample
// does.
func TestInitNextCommandsRun(t *testing.T) {
	t.Parallel()
	for _, sample := range events.Samples() {
		t.Run(sample, func(t *testing.T) {
			t.Parallel()
			folder := filepath.Join(t.TempDir(), "a project's folder")
			got := do(t, "init", folder, "--sample", sample, "--json")
			conforms(t, "init", got.stdout)
			var report initReport
			if err := json.Unmarshal([]byte(got.stdout), &report); err != nil {
				t.Fatal(err)
			}
			for _, path := range report.Files {
				if _, err := os.Stat(path); err != nil {
					t.Error(err)
				}
			}
			for i, command := range report.Next {
				want := view.ExitSucceeded
				if strings.HasSuffix(command, " dev") {
					testDevOf(t, folder)
					continue
				}
				if strings.Contains(command, " run ") && endsAs(t, sample) == "Failed" {
					want = view.ExitFailed
				}
				testNextCommand(t, strings.Join(append([]string{report.Next[0]}, report.Next[i]), " && "), want)
			}
		})
	}
}

// init --run shows the run of each sample to its end, and then what to type next.
func TestInitRunsTheSample(t *testing.T) {
	t.Parallel()
	for _, sample := range events.Samples() {
		folder := filepath.Join(t.TempDir(), "project")
		args := []string{"init", folder, "--sample", sample, "--run"}
		got := doWith(t, "", fixedTime, args...)
		want, exit := endsAs(t, sample), view.ExitSucceeded
		if want == "Failed" {
			exit = view.ExitFailed
		}
		if got.exit != exit || !strings.Contains(got.stderr, " "+strings.ToLower(want)) || !strings.HasSuffix(got.stdout, "\n  waitless dev\n") {
			t.Errorf("%s: exit %d, want %d\n%s\n%s", sample, got.exit, exit, got.stderr, got.stdout)
		}
		if sample == defaultSample {
			golden(t, "init/run.txt", withoutIDs(strings.ReplaceAll(got.transcript(args...), folder, "project")))
		}
	}
	if got := do(t, "init", t.TempDir(), "--run", "--json"); got.exit != view.ExitUsage || !strings.Contains(got.stderr, "exclude each other") {
		t.Errorf("%+v", got)
	}
}

// TestInitMachine checks that the commands which init --asl prints run, and that --run shows the
// machine.
func TestInitMachine(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "a project's folder")
	got := do(t, "init", folder, "--asl", "--json")
	conforms(t, "init", got.stdout)
	var report initReport
	if err := json.Unmarshal([]byte(got.stdout), &report); err != nil {
		t.Fatal(err)
	}
	for _, command := range report.Next[1:] {
		if !strings.HasSuffix(command, " dev") {
			testNextCommand(t, report.Next[0]+" && "+command, view.ExitSucceeded)
		}
	}
	if command := strings.Join(report.Next, "\n"); !strings.Contains(command, "run poller.asl.json") {
		t.Errorf("no command runs the machine:\n%s", command)
	}
	got = do(t, "init", filepath.Join(t.TempDir(), "b"), "--asl", "--run")
	if got.exit != view.ExitSucceeded || !strings.Contains(got.stderr, `Get Final Job Status returned "SUCCEEDED"`) || !strings.Contains(got.stderr, " 30.0s ") {
		t.Errorf("%+v", got)
	}
	if got := do(t, "init", t.TempDir(), "--asl", "--sample", "retry"); got.exit != view.ExitUsage || !strings.Contains(got.stderr, "exclude each other") {
		t.Errorf("%+v", got)
	}
}

// testDevOf runs dev in the folder of a sample until it says that it stored the sample's flow.
func testDevOf(t *testing.T, folder string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program(t), "dev", "--listen", "127.0.0.1:0")
	cmd.Dir = folder
	out, err := cmd.StdoutPipe()
	if err := errors.Join(err, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	var said string
	for lines := bufio.NewScanner(out); said == "" && lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "flows ") {
			said = lines.Text()
		}
	}
	if _ = cmd.Process.Kill(); !strings.Contains(said, "a-project-s-folder") {
		t.Errorf("dev says %q", said)
	}
	_ = cmd.Wait() // it was killed
}

func testNextCommand(t *testing.T, command string, want int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-c", command)
	cmd.Env = []string{"PATH=" + filepath.Dir(program(t)) + string(os.PathListSeparator) + os.Getenv("PATH")}
	if out, err := cmd.CombinedOutput(); exitCode(err) != want {
		t.Errorf("%s: exit %d, want %d:\n%s", command, exitCode(err), want, out)
	}
}

// endsAs is how the first case of a sample ends.
func endsAs(t *testing.T, sample string) string {
	t.Helper()
	text, err := os.ReadFile("../../../events/" + sample + "/want.json")
	if err != nil {
		t.Fatal(err)
	}
	var want struct{ Cases []struct{ Status string } }
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	return want.Cases[0].Status
}

func TestInitListsItsFiles(t *testing.T) {
	t.Parallel()
	for _, sample := range []string{"polling", "callback", "batch-callback", "retry", defaultSample} {
		folder := filepath.Join(t.TempDir(), "project")
		args := []string{"init", folder, "--sample", sample}
		got := do(t, args...).transcript(args...)
		settings, err := os.ReadFile(filepath.Join(folder, "waitless.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		got += "-- waitless.yaml --\n" + string(settings)
		golden(t, "init/"+sample+".txt", strings.ReplaceAll(got, folder, "project"))
	}
}

func TestInitTakesTheFolderForASample(t *testing.T) {
	t.Parallel()
	for folder, sample := range map[string]string{"polling": "polling", "polls": "orders"} {
		got := do(t, "init", filepath.Join(t.TempDir(), folder), "--json")
		if !strings.Contains(got.stdout, `"sample": "`+sample+`"`) {
			t.Errorf("%s: %+v; want sample %s", folder, got, sample)
		}
	}
	got := do(t, "init", filepath.Join(t.TempDir(), "polling"), "--sample", "orders", "--json")
	if !strings.Contains(got.stdout, `"sample": "orders"`) {
		t.Errorf("%+v; want sample orders", got)
	}
}

// A file that is there stays as it is, and nothing is written beside it.
func TestInitOverwritesNothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"flow.yaml", "input.json", "waitless.yaml", "script.yaml", "echo.sh"} {
		folder := t.TempDir()
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		got := do(t, "init", folder, "--sample", "callback")
		want := result{exit: view.ExitUsage, stderr: "waitless: init " + folder + ": " + name + " exists, and nothing was written\ntry: waitless init ANOTHER-DIR\n"}
		if got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		entries, err := os.ReadDir(folder)
		text, readErr := os.ReadFile(path)
		if err != nil || readErr != nil || len(entries) != 1 || string(text) != "mine" {
			t.Errorf("%d files, %s has %q (%v, %v)", len(entries), name, text, err, readErr)
		}
	}
}

// A link without a target is a file of the user, too.
func TestInitFollowsNoLink(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.Symlink(filepath.Join(folder, "elsewhere"), filepath.Join(folder, "input.json")); err != nil {
		t.Fatal(err)
	}
	if got := do(t, "init", folder); got.exit != view.ExitUsage || !strings.Contains(got.stderr, "input.json exists") {
		t.Errorf("got %+v", got)
	}
}

func TestInitFailsWithoutWriteAccess(t *testing.T) {
	t.Parallel()
	if got := do(t, "init", "/dev/null/project"); got.exit != view.ExitUsage || !strings.Contains(got.stderr, "try: waitless init ANOTHER-DIR") {
		t.Errorf("got %+v", got)
	}
}

// The folder that init names is where `cd` goes, whatever its name begins with.
func TestInitNamesAFolderForCD(t *testing.T) {
	t.Parallel()
	for folder, want := range map[string]string{
		"project": "cd project", "-dash": "cd ./-dash", "-": "cd ./-", "-P x": "cd './-P x'", "/tmp/-a": "cd /tmp/-a",
	} {
		if got := nextCommands(folder, "flow.yaml")[0]; got != want {
			t.Errorf("%q: %s, want %s", folder, got, want)
			continue
		}
		if filepath.IsAbs(folder) {
			continue
		}
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "bash", "-c", want+" && pwd -P")
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.HasSuffix(string(out), "/"+folder+"\n") {
			t.Errorf("%s: %v: %s", want, err, out)
		}
	}
}

// A sample that is not a tutorial's own text has nothing to advise. The others say so.
func TestInitSamplesPassAdvise(t *testing.T) {
	t.Parallel()
	tutorials := []string{"batch-poller", "callback", "polling"}
	for _, sample := range events.Samples() {
		flow, err := fs.ReadFile(events.Files(sample), "flow.yaml")
		if err != nil {
			t.Fatal(err)
		}
		settings, err := fs.ReadFile(events.Files(sample), settingsFile)
		if err != nil {
			t.Fatal(err)
		}
		parsed, _ := fdl.Parse(flow)
		isTutorial := slices.Contains(tutorials, sample)
		saysSo := strings.Contains(string(settings), "waitless advise has suggestions")
		if advised := len(advise.Flow(parsed)) > 0; advised != isTutorial || saysSo != isTutorial {
			t.Errorf("%s: a tutorial=%t, advised=%t, says so=%t", sample, isTutorial, advised, saysSo)
		}
	}
}
