package cli

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
)

const inTheStackTest = "the test of pkg/aws/stack has a stack, and runs them"

// notRun are pages, and sections of the README, whose commands TestDocumentedCommands does not run,
// each with the reason.
var notRun = map[string]string{
	"README.md#Deploy to AWS": inTheStackTest,
	"aws.md":                  "they need SAM and a stack: pkg/aws/stack and pkg/aws/samlocal test what they do",
	"operations.md":           "they need an AWS account",
	"metrics.md#Alarms":       inTheStackTest,
	"recovery.md":             inTheStackTest,

	"from-alibaba.md#On a stack":           inTheStackTest,
	"from-step-functions.md#On a stack":    inTheStackTest,
	"from-sfn-callback-urls.md#On a stack": inTheStackTest,
}

// A fence is a fenced block of a Markdown text.
type fence struct {
	file     string // its path in the repository
	section  string
	line     int // of its first line of text
	language string
	text     []string
}

// A shown command is one that a text tells the reader to type, with what it
// says will be printed.
type shown struct {
	file    string
	line    int
	command string
	output  []string // empty when the text shows none
}

var fenceMark = regexp.MustCompile("^```+(.*)$")

// fences are the fenced blocks of a Markdown text.
func fences(file, text string) []fence {
	var all []fence
	inside, section := false, ""
	for i, l := range strings.Split(text, "\n") {
		mark := fenceMark.FindStringSubmatch(l)
		switch {
		case mark != nil && !inside:
			all, inside = append(all, fence{file: file, section: section, line: i + 2, language: strings.TrimSpace(mark[1])}), true
		case mark != nil:
			inside = false
		case inside:
			last := &all[len(all)-1]
			last.text = append(last.text, l)
		case strings.HasPrefix(l, "## "):
			section = strings.TrimPrefix(l, "## ")
		}
	}
	return all
}

// commands are what a console block shows.
func (f fence) commands() []shown {
	var all []shown
	for i, l := range f.text {
		if command, ok := strings.CutPrefix(l, "$ "); ok {
			all = append(all, shown{file: f.file, line: f.line + i, command: command})
		} else if len(all) > 0 {
			last := &all[len(all)-1]
			last.output = append(last.output, l)
		}
	}
	return all
}

// check compares what a command printed and how it ended with what is shown.
func (s shown) check(printed string, exit int) error {
	failure := func(l string) bool { return strings.HasPrefix(l, "waitless: ") }
	if shownExit := slices.ContainsFunc(s.output, failure); shownExit != (exit != 0) {
		return fmt.Errorf("line %d: $ %s\nends with %d and prints:\n%s", s.line, s.command, exit, printed)
	}
	if len(s.output) == 0 {
		return nil
	}
	if want, got := normalised(strings.Join(s.output, "\n")), normalised(printed); got != want {
		return fmt.Errorf("line %d: $ %s\nprints:\n%s\nthe text shows:\n%s", s.line, s.command, got, want)
	}
	return nil
}

// compare fails the test unless the command printed what its page shows. With -update it writes
// that into the page.
func (s shown) compare(t *testing.T, printed string, exit int) {
	t.Helper()
	err := s.check(printed, exit)
	switch {
	case err == nil:
	case *update:
		s.rewrite(t, printed)
	default:
		t.Errorf("%s, %v", s.file, err)
	}
}

var rewriting sync.Mutex

// rewrite replaces the lines below the command that differ from what was printed in more than an id
// or a time.
func (s shown) rewrite(t *testing.T, printed string) {
	t.Helper()
	rewriting.Lock()
	defer rewriting.Unlock()
	text, err := os.ReadFile(s.file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(wholeToken.ReplaceAllString(strings.TrimRight(printed, "\n"), "TOKEN"), "\n")
	for i := range min(len(lines), len(s.output)) {
		if normalised(lines[i]) == normalised(s.output[i]) {
			lines[i] = s.output[i]
		}
	}
	head := "$ " + s.command + "\n"
	before, after := head+strings.Join(s.output, "\n")+"\n", head+strings.Join(lines, "\n")+"\n"
	if err := os.WriteFile(s.file, []byte(strings.Replace(string(text), before, after, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// slow is why a command is left out of short runs, empty when it is not.
func (s shown) slow() string {
	switch {
	case strings.HasPrefix(s.command, "make ") || strings.HasPrefix(s.command, "go "):
		return "takes seconds: it builds"
	case strings.HasPrefix(s.command, "waitless run ") && !strings.Contains(s.command, "--skip-time"):
		return "takes the time that its flow waits"
	}
	return ""
}

var (
	timeOfDay = regexp.MustCompile(`\d\d:\d\d:\d\d(\.\d{3}Z)?\b`)
	date      = regexp.MustCompile(`\b\d{4}-\d\d-\d\d([T ])`)
	// wholeToken is a token in what a command prints, tokenSaid what is shown of one, inStoreFlag
	// what it adds for a store that is not the default one.
	wholeToken  = regexp.MustCompile(`[A-Za-z0-9_-]{30}\.[A-Za-z0-9_-]{43}`)
	tokenSaid   = regexp.MustCompile(`\btoken \.\.\.\S+ `)
	inStoreFlag = regexp.MustCompile(`(?m) --store \S+$`)
	port        = regexp.MustCompile(`\b127\.0\.0\.1:\d+\b`)
	keyOfURL    = regexp.MustCompile(`\?key=[0-9A-Z]{26}\b`)
	storeRow    = regexp.MustCompile(`(?m)^(store +).*$`)
	processJob  = regexp.MustCompile(`"job-\d+"`)      // of events/job-poller/job.sh
	begun       = regexp.MustCompile(`(?m)  Running$`) // a worker may be quicker than the answer of start
	tenths      = regexp.MustCompile(`(\d)\.\ds\b`)
	versions    = regexp.MustCompile(`\bwaitless \S+ \(commit \S+, go\S+ \w+/\w+\)`)
)

// normalised is text without what differs from run to run.
func normalised(text string) string {
	text = withoutIDs(strings.TrimRight(text, "\n"))
	text = timeOfDay.ReplaceAllString(text, "00:00:00")
	text = date.ReplaceAllString(text, "0000-00-00$1")
	text = wholeToken.ReplaceAllString(text, "TOKEN")
	text = tokenSaid.ReplaceAllString(text, "token ... ")
	text = inStoreFlag.ReplaceAllString(text, "")
	text = port.ReplaceAllString(text, "127.0.0.1:PORT")
	text = keyOfURL.ReplaceAllString(text, "?key=KEY")
	text = storeRow.ReplaceAllString(text, "${1}STORE")
	text = begun.ReplaceAllString(text, "  Starting")
	text = tenths.ReplaceAllString(text, "$1.0s")
	text = processJob.ReplaceAllString(text, `"job-1"`)
	return versions.ReplaceAllString(text, "waitless VERSION")
}

func isConsole(f fence) bool { return f.language == "console" }

// documents are the blocks of the README and of the reference.
func documents(t *testing.T) (all []fence) {
	t.Helper()
	pages, err := filepath.Glob("../../docs/reference/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages of the reference: %v", err)
	}
	for _, page := range append(pages, "../../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fences(page, string(text))...)
	}
	return all
}

// session names the commands that a reader types one after the other: those of a section of a page.
func (f fence) session() string { return filepath.Base(f.file) + "#" + f.section }

// TestDocumentedCommands runs the commands of console blocks, and compares what they print with
// what the block shows. With -update it writes what they print.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	lookAt(t, "../../../Makefile")
	sessions, skipped := map[string][]shown{}, map[string]bool{}
	for _, f := range documents(t) {
		commands, page := f.commands(), filepath.Base(f.file)
		switch {
		case !isConsole(f):
		case notRun[page] != "" || notRun[f.session()] != "":
			skipped[page], skipped[f.session()] = true, true
		case len(commands) == 0:
			t.Errorf("%s, line %d: a console block without a line that begins with $", f.file, f.line)
		default:
			sessions[f.session()] = append(sessions[f.session()], commands...)
		}
	}
	for session, commands := range sessions {
		if slices.ContainsFunc(commands, shown.serves) {
			t.Run(session, func(t *testing.T) {
				t.Parallel()
				testSession(t, commands)
			})
			continue
		}
		for _, s := range commands {
			t.Run(fmt.Sprintf("%s line %d", filepath.Base(s.file), s.line), func(t *testing.T) {
				t.Parallel()
				testCommand(t, s)
			})
		}
	}
	for session, reason := range notRun {
		if !skipped[session] {
			t.Errorf("%s shows no command, so it needs no reason (%s) to be left out", session, reason)
		}
	}
}

// commandLine is a line that a reader types.
var commandLine = regexp.MustCompile(`(^|\s)(\$ )?(waitless|make|go|sam|curl) \S`)

// A block of the README that shows commands is a console block, whose commands are run.
func TestReadmeShowsCommandsInConsoleBlocks(t *testing.T) {
	t.Parallel()
	for _, f := range documents(t) {
		for i, l := range f.text {
			if strings.HasSuffix(f.file, "README.md") && !isConsole(f) && commandLine.MatchString(l) {
				t.Errorf("README.md, line %d: a command in a block of %s, where no test runs it: %s", f.line+i, f.language, l)
			}
		}
	}
}

func testCommand(t *testing.T, s shown) {
	t.Helper()
	if reason := s.slow(); reason != "" && testing.Short() {
		t.Skip(reason)
	}
	printed, exit := inShell(t, s.command)
	s.compare(t, printed, exit)
}

// serves reports whether the command goes on while others are typed in another terminal.
func (s shown) serves() bool {
	return strings.HasPrefix(s.command, "waitless dev") || slices.Contains(s.output, "report the outcome from another terminal:")
}

// looks reports whether the command changes nothing. A reader types it when there is something to
// see.
func (s shown) looks() bool {
	return strings.Contains(s.command, "waitless list") || strings.HasPrefix(s.command, "waitless show")
}

// defaultAddress is where a reader's dev listens, and storeFiles begins the names of files in the
// reader's store.
const defaultAddress, storeFiles = "127.0.0.1:8787", ".waitless/"

// testSession runs the commands of a section on one store. TOKEN is the token that one of them
// printed.
func testSession(t *testing.T, commands []shown) {
	t.Helper()
	env, text, address := shellEnv(t), "", ""
	for _, s := range commands {
		if s.serves() {
			printed := beginInShell(t, env, s)
			text, address = wholeToken.FindString(printed), port.FindString(printed)
			continue
		}
		command := strings.NewReplacer("TOKEN", text, defaultAddress, address, storeFiles, "$WAITLESS_STORE/").Replace(s.command)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		printed, exit := shell(t, env, command)
		for s.check(printed, exit) != nil && s.looks() && engine.Sleep(ctx, 50*time.Millisecond) == nil {
			printed, exit = shell(t, env, command)
		}
		cancel()
		s.compare(t, printed, exit)
	}
}

// beginInShell starts a command that serves, and compares the first lines that it prints with what
// is shown. dev listens at a port that is free.
func beginInShell(t *testing.T, env []string, s shown) (printed string) {
	t.Helper()
	command := s.command
	if strings.HasPrefix(command, "waitless dev") {
		command += " --listen 127.0.0.1:0"
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", "exec "+command)
	cmd.Dir, cmd.Env = "../../..", env
	stdout, err := cmd.StdoutPipe()
	cmd.Stderr = cmd.Stdout
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(stdout)
	for n := 0; n < len(s.output) && lines.Scan(); n++ {
		printed += lines.Text() + "\n"
	}
	s.compare(t, printed, 0)
	return printed
}

// inShell runs a command as a reader does in the folder of the repository, with
// the program installed. What go install makes goes to a folder of the test.
func inShell(t *testing.T, command string) (printed string, exit int) {
	t.Helper()
	return shell(t, shellEnv(t), command)
}

// shellEnv is the environment of a reader who has installed the program, with a store of its own.
func shellEnv(t *testing.T) []string {
	t.Helper()
	// A make that runs the tests would tell the one in the README about itself.
	env := slices.DeleteFunc(os.Environ(), func(pair string) bool { return strings.HasPrefix(pair, "MAKE") || strings.HasPrefix(pair, "MFLAGS") })
	return append(env, "TZ=UTC", "WAITLESS_STORE="+filepath.Join(t.TempDir(), ".waitless"), "GOBIN="+t.TempDir(),
		"PATH="+filepath.Dir(program(t))+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// shell runs a command in an environment.
func shell(t *testing.T, env []string, command string) (printed string, exit int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", command)
	cmd.Dir, cmd.Env = "../../..", env
	out, err := cmd.CombinedOutput()
	return string(out), exitCode(err)
}

// Flows of the README, and files with settings of the reference, are valid.
func TestDocumentedFlowsAndSettings(t *testing.T) {
	t.Parallel()
	flows, files := 0, 0
	for _, f := range documents(t) {
		text := []byte(strings.Join(f.text, "\n"))
		var problems flow.Problems
		switch {
		case strings.HasSuffix(f.file, "README.md") && f.language == "yaml":
			flows++
			_, problems = fdl.Parse(text)
		case f.text[0] == "# "+settingsFile:
			files++
			problems = new(settings).parse(text)
		}
		if len(problems) > 0 {
			t.Errorf("%s, line %d: %v", f.file, f.line, problems)
		}
	}
	if flows == 0 || files == 0 {
		t.Errorf("found %d flows and %d files with settings", flows, files)
	}
}

func TestFencesAndCommands(t *testing.T) {
	t.Parallel()
	text := strings.Join([]string{
		"## Title", "```console", "$ waitless version", "waitless 1.2.3 (commit abcd, go1.26.1 linux/arm64)", "$ true", "```", "```yaml", "version: v1", "```",
		"```console", "$ waitless run f --skip-time", "   10.3s  f/run-abcdefghijkl2345 began at 10:11:12", "", "waitless: f: failed", "```",
	}, "\n")
	all := fences("page.md", text)
	if len(all) != 3 || all[2].section != "Title" || !isConsole(all[0]) || isConsole(all[1]) || !isConsole(all[2]) || all[1].text[0] != "version: v1" {
		t.Fatalf("got %+v", all)
	}
	first, second, failing := all[0].commands()[0], all[0].commands()[1], all[2].commands()[0]
	if first.line != 3 || second.line != 5 || failing.line != 11 || second.command != "true" || len(failing.output) != 3 {
		t.Errorf("got %+v, %+v, %+v", first, second, failing)
	}
	const ok, bad = true, false
	for name, c := range map[string]struct {
		shown   shown
		printed string
		exit    int
		want    bool
	}{
		"another version":           {first, "waitless 9.0.0 (commit 0123, go1.27 linux/amd64)\n", 0, ok},
		"another text":              {first, "waitless is here\n", 0, bad},
		"shown success that failed": {first, "waitless 1.2.3 (commit abcd, go1.26.1 linux/arm64)\n", 1, bad},
		"nothing shown":             {second, "anything", 0, ok},
		"nothing shown, failed":     {second, "", 1, bad},
		"another time":              {failing, "   10.4s  f/run-zzzzzzzzzzzzzzzz began at 23:59:59\n\nwaitless: f: failed\n", 1, ok},
		"another duration":          {failing, "   11.3s  f/run-zzzzzzzzzzzzzzzz began at 23:59:59\n\nwaitless: f: failed\n", 1, bad},
		"shown failure that ended":  {failing, "   10.3s  f/run-abcdefghijkl2345 began at 10:11:12\n\nwaitless: f: failed\n", 0, bad},
	} {
		if err := c.shown.check(c.printed, c.exit); (err == nil) != c.want {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
