package stack_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/cli"
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
	// ClosedBy is who closes the token when the script is played.
	ClosedBy string `json:"closedBy"`
}

// report is what run --json prints.
type report struct {
	Status  string          `json:"status"`
	Output  json.RawMessage `json:"output"`
	Error   string          `json:"error"`
	History []event         `json:"history"`
}

type event struct{ StepName, Type, Time, EventDetail string }

// inVirtualTimeOnly are the cases that come out otherwise in real time, each with
// the reason.
var inVirtualTimeOnly = map[string]string{
	"polling/given up after the last poll":            "four waits of ten seconds and the calls take about 41 s, in which the job is done",
	"batch-callback/resumed by its event":             "its job is simulated; the flows of this package have real ones",
	"dms-callback/resumed by its event":               "its job is simulated; the flows of this package have real ones",
	"dms-callback-failed/failed by a bad stop reason": "its job is simulated; the flows of this package have real ones",
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
				runCase(t, s, "events/"+name+"/flow.yaml", fmt.Sprintf("case-%d", i), c)
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

// runCase runs one execution to its end; if it waits for somebody, it is
// answered as the flow's script says.
func runCase(t *testing.T, s stack, flow, execution string, c scenarioCase) {
	t.Helper()
	answered := c.Calls["echo"] > 0
	if answered {
		run := s.follow(t, "run", flow, "--name", execution, "--input", string(c.Input))
		succeed(t, s, run.token(), `{"status":"ok"}`)
		run.wait()
	}
	got := s.do(t, "run", flow, "--name", execution, "--input", string(c.Input), "--json")
	if want := map[string]int{"Succeeded": cli.ExitSucceeded, "Failed": cli.ExitFailed}[c.Status]; got.exit != want {
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
}

var aJob = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)

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

// calls counts the calls by function.
func (r report) calls(t *testing.T) map[string]int {
	t.Helper()
	count := map[string]int{}
	for _, e := range r.History {
		if e.Type != "TaskScheduled" {
			continue
		}
		var detail struct{ ResourceARN string }
		if err := json.Unmarshal([]byte(e.EventDetail), &detail); err != nil {
			t.Fatal(err)
		}
		count[path.Base(detail.ResourceARN)]++
	}
	return count
}

func succeed(t *testing.T, s stack, token, output string) {
	t.Helper()
	if got := s.do(t, "tokens", "succeed", token, "--output", output); got.exit != cli.ExitSucceeded {
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
	f.t.Fatalf("nobody is asked:\n%s", strings.Join(said, "\n"))
	return ""
}

// wait answers the exit code.
func (f *following) wait() int {
	f.t.Helper()
	for range f.lines { // until its end
	}
	<-f.ended
	return f.exit()
}
