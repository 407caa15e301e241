package fnf_test

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/token"
)

// python is the interpreter that has the vendor's client.
func python(t *testing.T) string {
	t.Helper()
	folder, err := filepath.Abs("../../../.tools/clients")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "installed")); errors.Is(err, os.ErrNotExist) {
		t.Fatal("the vendor's client is not installed: `make test` installs it, `make unit` runs the tests that need none")
	}
	return filepath.Join(folder, "bin", "python")
}

// runClient runs a program of the vendor's client against the API, and answers
// what it prints.
func (b *fixture) runClient(input, secret string, args ...string) string {
	b.t.Helper()
	if _, err := os.Stat(args[0]); err != nil { // so that go test knows what a passed test depends on
		b.t.Fatal(err)
	}
	server := httptest.NewServer(b.api)
	b.t.Cleanup(server.Close)
	cmd := exec.CommandContext(b.t.Context(), python(b.t.(*testing.T)), args...)
	cmd.Env = append(os.Environ(), "ACCOUNT_ID=1", "AK_ID="+keyID, "AK_SECRET="+secret, "ENDPOINT="+server.Listener.Addr().String(),
		"HOME="+b.t.TempDir(), "NO_PROXY=*", "PYTHONWARNINGS=ignore")
	cmd.Stdin = strings.NewReader(input)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		b.t.Fatalf("%s: %v\n%s%s", args[0], err, out, stderr.String())
	}
	return string(out)
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
	if got := b.runClient("", secret, "testdata/worker.py", b.text); got != "Task token: "+b.text+"\nReportTaskSucceeded finished\n" {
		t.Errorf("printed %s", got)
	}
	if record := b.held(); record.Outcome == nil || record.Outcome.Output.JSON() != `{"status":"ok"}` {
		t.Errorf("the token holds %+v", record)
	}
	if got := b.runClient("", secret, "testdata/worker.py", b.text); !strings.Contains(got, "TaskAlreadyCompleted") {
		t.Errorf("again: printed %s", got)
	}
	if got := b.runClient("", "another", "testdata/worker.py", b.text); !strings.Contains(got, "SignatureNotMatch") {
		t.Errorf("with another secret: printed %s", got)
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

// make makes the calls, and compares the begin of what is printed about each.
func (c *vendorCalls) make(b *fixture, want []string) {
	b.t.Helper()
	var input strings.Builder
	for _, call := range c.calls {
		if err := json.NewEncoder(&input).Encode(call); err != nil {
			b.t.Fatal(err)
		}
	}
	lines := strings.Split(strings.TrimSpace(b.runClient(input.String(), secret, "testdata/calls.py")), "\n")
	if len(lines) != len(want) {
		b.t.Errorf("printed %d lines; want %d: %q", len(lines), len(want), lines)
	}
	for i, line := range lines[:min(len(lines), len(want))] {
		if !strings.HasPrefix(line, want[i]) {
			b.t.Errorf("call %d: printed %s; want %s", i+1, line, want[i])
		}
	}
}

// The vendor's client reads each answer, and signs what is hard to sign.
func TestVendorClient(t *testing.T) {
	t.Parallel()
	b := newClientBench(t)
	var calls vendorCalls
	report := calls.add
	const cause = "by hand: ä *~+/=&%20\n'\""
	report("ReportTaskFailed", parameters{"TaskToken": "forged", "Error": "E"})
	report("ReportTaskFailed", parameters{"TaskToken": b.text, "Cause": cause})
	report("ReportTaskSucceeded", parameters{"TaskToken": b.text, "Output": "[]"})
	report("StartExecution", parameters{"FlowName": "f"})
	report("ReportTaskFailed", parameters{"TaskToken": b.text, "Error": "Rejected", "Cause": cause})
	report("ReportTaskSucceeded", parameters{"TaskToken": b.text, "Output": "{}"})
	calls.make(b, []string{
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
	calls.make(m.fixture, []string{
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
	m := newManagedWith(t, nil, time.Now)
	named := parameters{"Name": "f"}
	var calls vendorCalls
	calls.add("DescribeFlow", named)
	calls.add("CreateFlow", parameters{"Name": "f", "Definition": onePass, "Description": "ä *~+/=&%20", "Type": "FDL", "RoleArn": "acs:ram::1:role/r"})
	calls.add("CreateFlow", parameters{"Name": "f", "Definition": onePass, "Description": "", "Type": "FDL"})
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
	calls.make(m.fixture, []string{
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

// The program of the reference starts an execution and waits for its end.
func TestDocumentedProgram(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/reference/fnf-api.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```python\n")
	program, _, found := strings.Cut(rest, "```")
	file := filepath.Join(t.TempDir(), "program.py")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil || !found {
		t.Fatalf("the reference has no program, or %v", err)
	}
	m := newManagedWith(t, nil, time.Now)
	go func() { _ = m.system.Serve(t.Context()) }() // its error is that of the context
	m.put("f", onePass)
	if got := m.runClient("", secret, file); got != "Succeeded {\"a\":1}\n" {
		t.Errorf("printed %s", got)
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
