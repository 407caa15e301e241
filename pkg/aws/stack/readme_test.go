package stack_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// notRun are the commands of the README's section that its test does not run,
// each with the reason.
var notRun = map[string]string{
	"sam build":           "make stack does it for the processor at hand",
	"sam deploy --guided": "TestGuidedDeployment answers its questions",
}

// shown is a command that the README tells the reader to type, with what it
// says will be printed.
type shown struct {
	command string
	output  []string
}

// section are the commands of the console blocks of one section.
func section(text, title string) []shown {
	_, text, _ = strings.Cut(text, "\n## "+title+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	var all []shown
	console := false
	for line := range strings.SplitSeq(text, "\n") {
		command, typed := strings.CutPrefix(line, "$ ")
		switch {
		case strings.HasPrefix(line, "```"):
			console = line == "```console"
		case console && typed:
			all = append(all, shown{command: command})
		case console && len(all) > 0:
			last := &all[len(all)-1]
			last.output = append(last.output, line)
		}
	}
	return all
}

// session is a shell script that runs the commands one after the other, as
// a user does in one terminal.
func session(commands []shown) string {
	script := strings.Builder{}
	for _, c := range commands {
		fmt.Fprintf(&script, "{ %s\n} 2>&1\necho \"--- ended with $?\"\n", c.command)
	}
	return script.String()
}

var ended = regexp.MustCompile(`(?m)^--- ended with (\d+)\n`)

// TestReadme runs the README's section on AWS, from `make stack` to `make destroy`, and before the
// end what the guides show for a stack.
func TestReadme(t *testing.T) {
	t.Parallel()
	standard.get(t) // the program is built then, and no other build runs at the same time
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	all := beforeLast(section(string(text), "Deploy to AWS"), guides(t))
	commands := slices.DeleteFunc(slices.Clone(all), func(s shown) bool { return notRun[s.command] != "" })
	if len(all)-len(commands) != len(notRun) || len(commands) < 5 {
		t.Fatalf("the README shows %v", all)
	}
	printed := inTerminal(t, session(commands))
	exits := ended.FindAllStringSubmatch(printed, -1)
	outputs := ended.Split(printed, -1)
	if len(exits) != len(commands) {
		t.Fatalf("%d commands ended:\n%s", len(exits), printed)
	}
	for i, c := range commands {
		if exits[i][1] != "0" {
			t.Errorf("$ %s\nends with %s and prints:\n%s", c.command, exits[i][1], outputs[i])
		}
		if want := normalised(strings.Join(c.output, "\n")); want != "" && normalised(outputs[i]) != want {
			t.Errorf("$ %s\nprints:\n%s\nthe README shows:\n%s", c.command, normalised(outputs[i]), want)
		}
	}
}

// beforeLast puts commands before the last one, which removes the emulator.
func beforeLast(all, more []shown) []shown { return slices.Insert(all, len(all)-1, more...) }

// guides are the commands of the pages that say how to move to a stack.
func guides(t *testing.T) (all []shown) {
	t.Helper()
	pages, err := filepath.Glob(filepath.Join(root, "pkg", "docs", "reference", "from-*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("no guides: %v", err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		commands := section(string(text), "On a stack")
		if len(commands) == 0 {
			t.Errorf("%s shows no command for a stack", page)
		}
		all = append(all, commands...)
	}
	return all
}

// inTerminal runs a script as a reader does who has the programs installed.
func inTerminal(t *testing.T, script string) string {
	t.Helper()
	tools, err := filepath.Abs(filepath.Dir(sam()))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "stack")
	environment := append(slices.DeleteFunc(withoutMake(os.Environ()), ofAWS),
		"STACK_DIR="+dir, fmt.Sprintf("STACK_PORT=%d", freePort(t)), "TZ=UTC",
		"PATH="+strings.Join([]string{folder, tools, vendorTool(t, "clients", "bin"), os.Getenv("PATH")}, string(os.PathListSeparator)))
	run := func(ctx context.Context, program string, args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Dir, cmd.Env = root, environment
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	t.Cleanup(func() {
		if _, err := os.Stat(dir); err == nil {
			t.Error("make destroy left the stack")
			_, _ = run(context.Background(), "make", "destroy")
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	out, err := run(ctx, "bash", "-c", script)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

// ofAWS are the variables that the section sets itself.
func ofAWS(pair string) bool {
	return strings.HasPrefix(pair, "AWS_") || strings.HasPrefix(pair, "WAITLESS_") || strings.HasPrefix(pair, "LAMBDA_ARCH=")
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close() //nolint:errcheck // it was not used
	return listener.Addr().(*net.TCPAddr).Port
}

var (
	elapsed = regexp.MustCompile(`(?m)^ +\d+\.\ds`)
	instant = regexp.MustCompile(`(\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d`)
	blanks  = regexp.MustCompile(`(?m) +$`)
)

// normalised is text without what differs from run to run.
func normalised(text string) string {
	text = aJob.ReplaceAllString(strings.TrimRight(text, "\n"), "JOB")
	text = instant.ReplaceAllString(elapsed.ReplaceAllString(text, "ELAPSED"), "INSTANT")
	return blanks.ReplaceAllString(text, "")
}
