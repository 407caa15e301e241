package stack_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/waitless/waitless/pkg/internal/cli/view"
)

// scenario is want.json of a folder in events/. What it says of virtual time
// is not asked here: real seconds have their own length.
type scenario struct {
	Cases []scenarioCase `json:"cases"`
}

type scenarioCase struct {
	Name   string          `json:"name"`
	Input  json.RawMessage `json:"input"`
	Status string          `json:"status"`
	// Output has "JOB" where the id of a simulated job stands.
	Output  json.RawMessage `json:"output"`
	Error   string          `json:"error"`
	Seconds float64         `json:"seconds"`
	Calls   map[string]int  `json:"calls"` // of each function
	// ClosedBy is who closed the last token, where there is one.
	ClosedBy string `json:"closedBy"`
}

// script is script.yaml of a folder, but for when: who answers, and which job
// events come.
type script struct {
	Answers []struct {
		By     string `yaml:"by"` // "callback", else by hand
		Output any    `yaml:"output"`
	} `yaml:"answers"`
	Events []struct {
		Event string `yaml:"event"` // a file
	} `yaml:"events"`
}

// report is what run --json prints.
type report struct {
	Status  string          `json:"status"`
	Output  json.RawMessage `json:"output"`
	Error   string          `json:"error"`
	History []event         `json:"history"`
}

type event struct {
	Step, Type, Time string
	Detail           json.RawMessage
}

// inVirtualTimeOnly are the cases that come out otherwise in real time, each with
// the reason.
var inVirtualTimeOnly = map[string]string{
	"polling/given up after the last poll": "four waits of ten seconds and the calls take about 41 s, in which the job is done",
}

// TestScenarios runs every folder of events/ on the stack, in real time.
func TestScenarios(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	flows, err := filepath.Glob(root + "/events/*/flow.yaml")
	if err != nil || len(flows) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	left := len(inVirtualTimeOnly)
	for _, flow := range flows {
		name := filepath.Base(filepath.Dir(flow))
		for i, c := range casesOf(t, filepath.Dir(flow)) {
			if inVirtualTimeOnly[name+"/"+c.Name] != "" {
				left--
				continue
			}
			t.Run(name+"/"+c.Name, func(t *testing.T) {
				t.Parallel()
				runCase(t, s, name, fmt.Sprintf("case-%d", i), c)
			})
		}
	}
	if left != 0 {
		t.Errorf("%d cases with a reason to be left out are no cases", left)
	}
}

func casesOf(t *testing.T, folder string) []scenarioCase {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "want.json"))
	if err != nil {
		t.Fatal(err)
	}
	var s scenario
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields() // a key mistyped would check nothing
	if err := decoder.Decode(&s); err != nil || len(s.Cases) == 0 {
		t.Fatalf("%s has %d cases: %v", folder, len(s.Cases), err)
	}
	return s.Cases
}

// runCase runs one execution to its end. If it waits for an outcome, or for a job,
// that goes as the folder's script says.
func runCase(t *testing.T, s stack, folder, execution string, c scenarioCase) {
	t.Helper()
	flow := "events/" + folder + "/flow.yaml"
	if played := scriptOf(t, folder); len(played.Answers)+len(played.Events) > 0 {
		s.play(t, played, folder, execution, string(c.Input))
	}
	got := s.do(t, "run", flow, "--name", execution, "--input", string(c.Input), "--json")
	if want := map[string]int{"Succeeded": view.ExitSucceeded, "Failed": view.ExitFailed}[c.Status]; got.exit != want {
		t.Fatalf("exit %d, want %d: %s", got.exit, want, got.stderr)
	}
	var r report
	if err := json.Unmarshal([]byte(got.stdout), &r); err != nil {
		t.Fatalf("%v: %s", err, got.stdout)
	}
	if r.Status != c.Status || r.Error != c.Error {
		t.Errorf("status %s, error %q; want %s, %q", r.Status, r.Error, c.Status, c.Error)
	}
	if calls := r.calls(t); !maps.Equal(calls, c.Calls) {
		t.Errorf("calls %v, want %v", calls, c.Calls)
	}
	if output := aJob.ReplaceAllString(compact(t, r.Output), "JOB"); output != compact(t, c.Output) {
		t.Errorf("output %s, want %s", output, c.Output)
	}
	if closers := r.closers(t); c.ClosedBy != "" && !slices.Equal(closers, []string{c.ClosedBy}) {
		t.Errorf("closed by %q, want %q", closers, c.ClosedBy)
	}
}

func scriptOf(t *testing.T, folder string) (played script) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "events", folder, "script.yaml"))
	if errors.Is(err, fs.ErrNotExist) {
		return played
	}
	if err == nil {
		err = yaml.Unmarshal(text, &played)
	}
	if err != nil {
		t.Fatalf("the script of %s: %v", folder, err)
	}
	return played
}

// play is what a script says, but for when.
func (s stack) play(t *testing.T, played script, folder, execution, input string) {
	t.Helper()
	if len(played.Events) > 0 {
		s.playReplication(t, folder)
	}
	run := s.follow(t, "run", "events/"+folder+"/flow.yaml", "--name", execution, "--input", input)
	for _, answer := range played.Answers {
		output, err := json.Marshal(answer.Output)
		if err != nil {
			t.Fatal(err)
		}
		if answer.By == "callback" {
			s.checkPosts(t, posted{"/callbacks/" + run.token(), string(output), http.StatusOK, "success"})
		} else {
			succeed(t, s, run.token(), string(output))
		}
	}
	if len(played.Events) > 0 {
		run.await(folder + "/" + execution + " started with")
	}
	for _, event := range played.Events {
		s.playEvent(t, string(read(t, folder, event.Event)), s.startedJob(t, folder+"/"+execution))
	}
	run.wait()
}

// closers are those of the tokens of an execution, in order.
func (r report) closers(t *testing.T) (closers []string) {
	t.Helper()
	for _, e := range r.History {
		var detail struct {
			ClosedBy string `json:"closedBy"`
		}
		if err := json.Unmarshal(e.Detail, &detail); err != nil {
			t.Fatal(err)
		}
		if detail.ClosedBy != "" {
			closers = append(closers, detail.ClosedBy)
		}
	}
	return closers
}

var aJob = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

func compact(t *testing.T, text json.RawMessage) string {
	t.Helper()
	if text == nil {
		return ""
	}
	var out bytes.Buffer
	if err := json.Compact(&out, text); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// calls counts the calls by function: one an attempt, or as many as it polled.
func (r report) calls(t *testing.T) map[string]int {
	t.Helper()
	count, function := map[string]int{}, ""
	for _, e := range r.History {
		var detail struct {
			ResourceARN string
			Polls       int
		}
		if err := json.Unmarshal(e.Detail, &detail); err != nil {
			t.Fatal(err)
		}
		if e.Type == "TaskScheduled" {
			function = "StartJob" // what a step names that waits for a job is what that function starts
			if _, called, ok := strings.Cut(detail.ResourceARN, "/functions/"); ok {
				function = called
			}
			count[function]++
		}
		count[function] += max(detail.Polls-1, 0)
	}
	delete(count, "")
	return count
}

func succeed(t *testing.T, s stack, token, output string) {
	t.Helper()
	if got := s.do(t, "tokens", "succeed", token, "--output", output); got.exit != view.ExitSucceeded {
		t.Fatalf("succeed: %+v", got)
	}
}

// following is a command that runs beside the test.
type following struct {
	t     *testing.T
	lines chan string // of standard error
	ended chan struct{}
	exit  func() int
}

func (s stack) follow(t *testing.T, args ...string) *following {
	t.Helper()
	cmd := s.command(t, args...)
	f := &following{t: t, lines: make(chan string, 1000), ended: make(chan struct{}), exit: func() int { return cmd.ProcessState.ExitCode() }}
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			f.lines <- lines.Text()
		}
		close(f.lines)
		_ = cmd.Wait() // the exit code says it
		close(f.ended)
	}()
	return f
}

// token is the one that the command says can be answered.
func (f *following) token() string {
	f.t.Helper()
	var said []string
	for line := range f.lines {
		said = append(said, line)
		if _, rest, ok := strings.Cut(line, "waitless tokens succeed "); ok {
			text := strings.Fields(rest)[0]
			issued(text)
			return text
		}
	}
	f.t.Fatalf("no token waits:\n%s", strings.Join(said, "\n"))
	return ""
}

// wait returns the exit code.
func (f *following) wait() int {
	f.t.Helper()
	for range f.lines { // until its end
	}
	<-f.ended
	return f.exit()
}
