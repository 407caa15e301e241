package fnf_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/token"
)

// clients are the vendor's clients: how a program that makes calls runs with each.
var clients = map[string]func(t *testing.T) *exec.Cmd{
	"Python": func(t *testing.T) *exec.Cmd {
		t.Helper()
		return exec.CommandContext(t.Context(), python(t), "testdata/calls.py")
	},
	"Node.js": func(t *testing.T) *exec.Cmd {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "node", "testdata/calls.cjs")
		cmd.Env = []string{"NODE_PATH=" + installed(t, "fnf-npm", "node_modules")}
		return cmd
	},
	"Go": func(t *testing.T) *exec.Cmd {
		t.Helper()
		return exec.CommandContext(t.Context(), installed(t, "fnf-go", "fnf-go"))
	},
}

// installed returns the path of what is below a folder of the tools.
func installed(t *testing.T, name, below string) string {
	t.Helper()
	folder, err := filepath.Abs(filepath.Join("../../../.tools", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "installed")); errors.Is(err, os.ErrNotExist) {
		t.Fatal("the vendor's clients are not installed: `make test` installs them, `make unit` runs the tests that need none")
	}
	return filepath.Join(folder, below)
}

// python is the interpreter that has the vendor's client.
func python(t *testing.T) string {
	t.Helper()
	return installed(t, "clients", "bin/python")
}

// runClient runs a program of the vendor's client for Python against the API, and returns its
// output.
func (b *fixture) runClient(secret string, args ...string) string {
	b.t.Helper()
	return b.run(exec.CommandContext(b.t.Context(), python(b.t.(*testing.T)), args...), "", secret)
}

// run runs a program of a client against the API, and returns its output.
func (b *fixture) run(cmd *exec.Cmd, input, secret string) string {
	b.t.Helper()
	for _, arg := range cmd.Args[1:] {
		if strings.HasPrefix(arg, "testdata/") {
			lookAt(b.t, arg)
		}
	}
	server := httptest.NewServer(b.api)
	b.t.Cleanup(server.Close)
	cmd.Env = append(append(os.Environ(), cmd.Env...), "ACCOUNT_ID=1", "AK_ID="+keyID, "AK_SECRET="+secret, "ENDPOINT="+server.Listener.Addr().String(),
		"HOME="+b.t.TempDir(), "NO_PROXY=*", "PYTHONWARNINGS=ignore")
	cmd.Stdin = strings.NewReader(input)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		b.t.Fatalf("%v: %v\n%s%s", cmd.Args, err, out, stderr.String())
	}
	return string(out)
}

// lookAt reads about a file, so that go test knows what a passed test depends on.
func lookAt(tb testing.TB, file string) {
	tb.Helper()
	if _, err := os.Stat(file); err != nil {
		tb.Fatal(err)
	}
}

// newClientBench is a fixture by the clock of the client.
func newClientBench(t *testing.T) *fixture {
	t.Helper()
	b := newFixture(t)
	b.clock = time.Now
	b.text = b.keys.Sign(token.ID{Execution: [12]byte{1}, Number: 3, Expires: time.Now().Add(time.Hour)})
	return b
}

// The tutorial's own program reports, and is told when it does so again.
func TestTutorialProgram(t *testing.T) {
	t.Parallel()
	b := newClientBench(t)
	if got := b.runClient(secret, "testdata/worker.py", b.text); got != "Task token: "+b.text+"\nReportTaskSucceeded finished\n" {
		t.Errorf("printed %s", got)
	}
	if record := b.held(); record.Outcome == nil || record.Outcome.Output.JSON() != `{"status":"ok"}` {
		t.Errorf("the token holds %+v", record)
	}
	if got := b.runClient(secret, "testdata/worker.py", b.text); !strings.Contains(got, "TaskAlreadyCompleted") {
		t.Errorf("again: printed %s", got)
	}
	if got := b.runClient("another", "testdata/worker.py", b.text); !strings.Contains(got, "SignatureNotMatch") {
		t.Errorf("with another secret: printed %s", got)
	}
}

// eachClient runs a test with each of the vendor's clients.
func eachClient(t *testing.T, test func(t *testing.T, client string)) {
	t.Helper()
	for client := range clients {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			test(t, client)
		})
	}
}

// vendorCalls are calls of the vendor's client.
type vendorCalls struct {
	calls []any
}

// parameters are those of a call.
type parameters = map[string]any

func (c *vendorCalls) add(action string, given parameters) {
	c.calls = append(c.calls, []any{action, given})
}

// make makes the calls with a client, and compares the begin of what is printed about each.
func (c *vendorCalls) make(b *fixture, client string, want []string) {
	b.t.Helper()
	var input strings.Builder
	for _, call := range c.calls {
		if err := json.NewEncoder(&input).Encode(call); err != nil {
			b.t.Fatal(err)
		}
	}
	lines := strings.Split(strings.TrimSpace(b.run(clients[client](b.t.(*testing.T)), input.String(), secret)), "\n")
	if len(lines) != len(want) {
		b.t.Errorf("printed %d lines; want %d: %q", len(lines), len(want), lines)
	}
	for i, line := range lines[:min(len(lines), len(want))] {
		if !strings.HasPrefix(line, want[i]) {
			b.t.Errorf("%s: call %d: printed %s; want %s", client, i+1, line, want[i])
		}
	}
}

// The vendor's client reads each answer, and signs what is hard to sign.
func TestVendorClient(t *testing.T) { t.Parallel(); eachClient(t, testVendorClient) }

func testVendorClient(t *testing.T, client string) {
	t.Helper()
	b := newClientBench(t)
	var calls vendorCalls
	report := calls.add
	const cause = "by hand: ä *~+/=&%20\n'\""
	report("ReportTaskFailed", parameters{"TaskToken": "forged", "Error": "E"})
	report("ReportTaskFailed", parameters{"TaskToken": b.text, "Error": "", "Cause": cause})
	report("ReportTaskSucceeded", parameters{"TaskToken": b.text, "Output": "[]"})
	report("StartExecution", parameters{"FlowName": "f"})
	report("ReportTaskFailed", parameters{"TaskToken": b.text, "Error": "Rejected", "Cause": cause})
	report("ReportTaskSucceeded", parameters{"TaskToken": b.text, "Output": "{}"})
	calls.make(b, client, []string{
		"TaskNotExists 404", "MissingRequiredParams 400", "InvalidArgument 400", "ActionNotSupported 400", `{"EventId":0,"RequestId":"`,
		"TaskAlreadyCompleted 400",
	})
	if outcome := b.held().Outcome; outcome == nil || *outcome != token.Failure("Rejected", cause) {
		t.Errorf("the token holds %+v", outcome)
	}
}

// The vendor's client starts executions, waits for their ends, stops, lists and reads them.
func TestVendorClientManagesExecutions(t *testing.T) {
	t.Parallel()
	eachClient(t, testVendorClientManagesExecutions)
}

func testVendorClientManagesExecutions(t *testing.T, client string) {
	t.Helper()
	m := newManagedWith(t, nil, time.Now)
	go func() { _ = m.system.Serve(t.Context()) }() // its error is that of the context
	m.put("f", onePass)
	m.put("waits", oneAsking)
	ofOne, ofTwo := parameters{"FlowName": "f", "ExecutionName": "one"}, parameters{"FlowName": "waits", "ExecutionName": "two"}
	var calls vendorCalls
	calls.add("StartExecution", parameters{"FlowName": "none"})
	calls.add("StartExecution", parameters{"FlowName": "f", "ExecutionName": "one", "Input": `{"a": "ä *~+/=&%20\n'\""}`})
	calls.add("DescribeExecution", parameters{"FlowName": "f", "ExecutionName": "one", "WaitTimeSeconds": 9})
	calls.add("StartExecution", ofOne)
	calls.add("GetExecutionHistory", parameters{"FlowName": "f", "ExecutionName": "one", "Limit": 1})
	calls.add("StartExecution", ofTwo)
	calls.add("StopExecution", parameters{"FlowName": "waits", "ExecutionName": "two", "Error": "Cancelled", "Cause": "by hand"})
	calls.add("DescribeExecution", parameters{"FlowName": "waits", "ExecutionName": "two", "WaitTimeSeconds": 9})
	calls.add("ListExecutions", parameters{"FlowName": "f", "Limit": 10, "Status": "Succeeded", "ExecutionNamePrefix": "o"})
	calls.make(m.fixture, client, []string{
		"FlowNotExists 404",
		`{"FlowDefinition":"version: v1`,
		`{"FlowDefinition":"version: v1\ntype: flow\nsteps:\n  - type: pass\n    name: One\n    outputMappings: [{target: a, source: $input.a}]\n",` +
			`"FlowName":"f","Input":"{\"a\":\"ä *~+/=&%20\\n'\\\"\"}","Name":"one","Output":"{\"a\":\"ä *~+/=&%20\\n'\\\"\"}","RequestId":`,
		"ExecutionAlreadyExists 400",
		`{"Events":[{"EventId":1,"ScheduleEventId":0,"StepName":"","Type":"ExecutionStarted","Time":"`,
		`{"FlowDefinition":"version: v1`,
		`{"FlowDefinition":"version: v1`,
		`{"FlowDefinition":"version: v1\ntype: flow\nsteps:\n  - type: task\n`,
		`{"Executions":[{"FlowDefinition":"`,
	})
	wantMembers(t, m.now("DescribeExecution FlowName=waits ExecutionName=two"), map[string]any{"Status": "Stopped"})
}

// The vendor's client creates, changes, lists and deletes flows.
func TestVendorClientManagesFlows(t *testing.T) {
	t.Parallel()
	eachClient(t, testVendorClientManagesFlows)
}

func testVendorClientManagesFlows(t *testing.T, client string) {
	t.Helper()
	m := newManagedWith(t, nil, time.Now)
	named := parameters{"Name": "f"}
	var calls vendorCalls
	calls.add("DescribeFlow", named)
	calls.add("CreateFlow", parameters{"Name": "f", "Definition": onePass, "Description": "ä *~+/=&%20", "Type": "FDL", "RoleArn": "acs:ram::1:role/r"})
	calls.add("CreateFlow", parameters{"Name": "f", "Definition": onePass, "Description": "d", "Type": "FDL"})
	calls.add("UpdateFlow", parameters{"Name": "f", "Definition": twoWaits})
	calls.add("UpdateFlow", parameters{"Name": "f", "Definition": "steps: ["})
	calls.add("DescribeFlow", named)
	calls.add("ListFlows", parameters{"Limit": 10})
	nightly := parameters{"FlowName": "f", "ScheduleName": "nightly", "CronExpression": "0 0 2 * * *", "Payload": `{"a":"ä *~+"}`, "Enable": true}
	calls.add("CreateSchedule", nightly)
	calls.add("UpdateSchedule", parameters{"FlowName": "f", "ScheduleName": "nightly", "Enable": false})
	calls.add("DescribeSchedule", parameters{"FlowName": "f", "ScheduleName": "nightly"})
	calls.add("ListSchedules", parameters{"FlowName": "f", "Limit": 10})
	calls.add("DeleteSchedule", parameters{"FlowName": "f", "ScheduleName": "nightly"})
	calls.add("DeleteFlow", named)
	calls.add("ListFlows", parameters{"Limit": 10})
	calls.add("ListSchedules", parameters{"FlowName": "f"})
	calls.make(m.fixture, client, []string{
		"FlowNotExists 404",
		`{"CreatedTime":"`,
		"FlowAlreadyExists 409",
		`{"CreatedTime":"`,
		"InvalidArgument 400",
		`{"CreatedTime":"`,
		`{"Flows":[{"CreatedTime":"`,
		`{"CreatedTime":"`,
		`{"CreatedTime":"`,
		`{"CreatedTime":"`,
		`{"RequestId":"`,
		`{"RequestId":"`,
		`{"RequestId":"`,
		`{"Flows":[],"RequestId":"`,
		"FlowNotExists 404",
	})
}

// The programs of the reference start an execution and wait for its end.
func TestDocumentedPrograms(t *testing.T) {
	t.Parallel()
	for language, client := range map[string]string{"python": "Python", "javascript": "Node.js"} {
		file := filepath.Join(t.TempDir(), "program")
		if err := os.WriteFile(file, []byte(documented(t, "fnf-api", language)), 0o600); err != nil {
			t.Fatal(err)
		}
		m := newManagedWith(t, nil, time.Now)
		go func() { _ = m.system.Serve(t.Context()) }() // its error is that of the context
		m.put("f", onePass)
		cmd := clients[client](t)
		cmd.Args[len(cmd.Args)-1] = file
		if got := m.fixture.run(cmd, "", secret); got != "Succeeded {\"a\":1}\n" {
			t.Errorf("%s: printed %s", language, got)
		}
	}
}

// The program of the guide writes the definition of each flow into a file, page by page.
func TestDocumentedExport(t *testing.T) {
	t.Parallel()
	const flows = 61 // one more than a page has
	m, want := newManagedWith(t, nil, time.Now), map[string]string{}
	for i := range flows {
		name := fmt.Sprintf("flow-%d", i)
		want[name+".yaml"] = strings.Replace(onePass, "name: ", fmt.Sprintf("name: Of%d", i), 1)
		m.put(name, want[name+".yaml"])
	}
	cmd := exec.CommandContext(t.Context(), python(t), "-c", documented(t, "from-alibaba", "python"))
	cmd.Dir = t.TempDir()
	m.fixture.run(cmd, "", secret)
	for name, definition := range want {
		if got, err := os.ReadFile(filepath.Join(cmd.Dir, name)); err != nil || string(got) != definition {
			t.Errorf("%s is %q (%v), want %q", name, got, err, definition)
		}
	}
}

// documented returns the program of a page in a language.
func documented(t *testing.T, page, language string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/reference/" + page + ".md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```"+language+"\n")
	program, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatalf("the reference has no program in %s", language)
	}
	return program
}

// The settings of the reference are those of the program in Go that the tests run.
func TestDocumentedSettingsForGo(t *testing.T) {
	t.Parallel()
	program, err := os.ReadFile("../../../.ci/fnf-go/main.go")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(documented(t, "fnf-api", "go")) {
		if !strings.Contains(string(program), "\t"+line) {
			t.Errorf("the program does not have %s", line)
		}
	}
}

// The table of the reference has every action.
func TestReferenceHasAllActions(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/reference/fnf-api.md")
	if err != nil {
		t.Fatal(err)
	}
	refusal := newManaged(t).request("None").body.Message
	_, list, _ := strings.Cut(refusal, "supported: ")
	for action := range strings.SplitSeq(list, ", ") {
		if !strings.Contains(string(text), "`"+action+"`") {
			t.Errorf("the reference has no %s", action)
		}
	}
}

// now makes a request at the real time.
func (m *managed) now(text string) map[string]any {
	m.t.Helper()
	m.clock = func() time.Time { return now }
	return m.want(text)
}
