package stack_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/internal/cli/view"
)

// The tutorial's own program, with the vendor's client, reports the outcome of a
// step. Its key is in a secret of the stack's.
func TestTheVendorsClient(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	text, run := s.waiting(t, "vendor")
	host := s.named(t)
	if got := worker(t, host, "the secret of another", text); !strings.Contains(got, "SignatureNotMatch") {
		t.Errorf("with another secret: %s", got)
	}
	if got := worker(t, host, fnfSecret, text); got != "Task token: "+text+"\nReportTaskSucceeded finished\n" {
		t.Errorf("printed %s", got)
	}
	if exit := run.wait(); exit != view.ExitSucceeded {
		t.Errorf("exit %d", exit)
	}
	s.check(t, view.ExitSucceeded, `{"s":"ok"}`, "run", "events/callback/flow.yaml", "--name", "vendor")
	if got := worker(t, host, fnfSecret, text); !strings.Contains(got, "TaskAlreadyCompleted") {
		t.Errorf("again: %s", got)
	}
}

// Without their secrets the stack has no such APIs.
func TestTheVendorsAPIIsOff(t *testing.T) {
	t.Parallel()
	s := hasty.get(t)
	for _, method := range []string{http.MethodPost, http.MethodGet} {
		for _, path := range []string{"/?Action=ReportTaskSucceeded", "/sfn/"} {
			if got := s.call(t, method, path, ""); got.status != http.StatusNotFound {
				t.Errorf("%s %s: %+v", method, path, got)
			}
		}
	}
}

// named is an address where the public callback API answers as at its own name:
// the vendor's client takes only an address and a port.
func (s stack) named(t *testing.T) (host string) {
	t.Helper()
	public, err := url.Parse(s.outputs["CallbackEndpoint"])
	if err != nil {
		t.Fatal(err)
	}
	gateway, err := url.Parse(*emulator.Config(t).BaseEndpoint)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(gateway)
		r.Out.Host = public.Host
	}})
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// worker runs the tutorial's program, and answers what it prints.
func worker(t *testing.T, host, secret, text string) string {
	t.Helper()
	return vendorProgram(t, host, secret, "", "worker.py", text)
}

// vendorProgram runs a program of the vendor's client for Python, and returns its output.
func vendorProgram(t *testing.T, host, secret, input string, args ...string) string {
	t.Helper()
	args[0] = filepath.Join(root, "pkg", "httpapi", "fnf", "testdata", args[0])
	return runVendor(t, exec.CommandContext(t.Context(), vendorTool(t, "clients", "bin/python"), args...), host, fnfKey, secret, input)
}

// vendorTool returns the path of what is below the folder of an installed client.
func vendorTool(t *testing.T, name, below string) string {
	t.Helper()
	folder, err := filepath.Abs(filepath.Join(root, ".tools", name))
	if err == nil {
		_, err = os.Stat(filepath.Join(folder, "installed"))
	}
	if err != nil {
		t.Fatalf("the vendor's clients are not installed: `make test` installs them, `make unit` runs the tests that need none: %v", err)
	}
	return filepath.Join(folder, below)
}

// runVendor runs a program of one of the vendor's clients with a key, and returns its output.
func runVendor(t *testing.T, cmd *exec.Cmd, host, key, secret, input string) string {
	t.Helper()
	cmd.Stdin = strings.NewReader(input)
	cmd.Env = append(cmd.Env,
		"PATH="+os.Getenv("PATH"), "HOME="+t.TempDir(), "NO_PROXY=*", "PYTHONWARNINGS=ignore",
		"ACCOUNT_ID=1", "AK_ID="+key, "AK_SECRET="+secret, "ENDPOINT="+host,
	)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// Each of the vendor's clients reads with a key that may read and start, and does nothing else.
func TestTheVendorsClientsAreLimited(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	host, testdata := s.named(t), filepath.Join(root, "pkg", "httpapi", "fnf", "testdata")
	node := exec.CommandContext(t.Context(), "node", filepath.Join(testdata, "calls.cjs"))
	node.Env = []string{"NODE_PATH=" + vendorTool(t, "fnf-npm", "node_modules")}
	const calls = `["ListFlows",{"Limit":1}]["DeleteFlow",{"Name":"limited"}]["StartExecution",{"FlowName":"limited"}]` +
		`["ListSchedules",{"FlowName":"limited"}]["CreateSchedule",{"FlowName":"limited","ScheduleName":"s","CronExpression":"@every 1h"}]`
	want := []string{`{"`, "AccessDenied 403", "FlowNotExists 404", "FlowNotExists 404", "AccessDenied 403"}
	for _, cmd := range []*exec.Cmd{
		exec.CommandContext(t.Context(), vendorTool(t, "clients", "bin/python"), filepath.Join(testdata, "calls.py")),
		exec.CommandContext(t.Context(), vendorTool(t, "fnf-go", "fnf-go")), node,
	} {
		lines := strings.Split(strings.TrimSpace(runVendor(t, cmd, host, readerKey, fnfSecret, strings.ReplaceAll(calls, "][", "]\n[")+"\n")), "\n")
		if len(lines) != len(want) {
			t.Errorf("%v: printed %q", cmd.Args, lines)
		}
		for i, line := range lines[:min(len(lines), len(want))] {
			if !strings.HasPrefix(line, want[i]) {
				t.Errorf("%v: call %d: printed %s; want %s", cmd.Args, i+1, line, want[i])
			}
		}
	}
}

// vendorCall is a call of the vendor's client.
type vendorCall struct {
	action     string
	parameters map[string]any
}

// vendor makes calls, and returns a line about each: the response, or the code and the status of an
// error.
func (s stack) vendor(t *testing.T, calls ...vendorCall) []string {
	t.Helper()
	var input strings.Builder
	for _, call := range calls {
		if err := json.NewEncoder(&input).Encode([]any{call.action, call.parameters}); err != nil {
			t.Fatal(err)
		}
	}
	return strings.Split(strings.TrimSpace(vendorProgram(t, s.named(t), fnfSecret, input.String(), "calls.py")), "\n")
}

// The end of an execution is the outcome of the task with whose token the vendor's client started
// it.
func TestTheVendorsClientStartsAReport(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	text, run := s.waiting(t, "reported")
	const definition = "version: v1\ntype: flow\nsteps: [{type: pass, name: A, outputMappings: [{target: status, source: ok}]}]\n"
	lines := s.vendor(t,
		vendorCall{"CreateFlow", map[string]any{"Name": "reporting", "Definition": definition, "Description": "d", "Type": "FDL"}},
		vendorCall{"StartExecution", map[string]any{"FlowName": "reporting", "ExecutionName": "one", "CallbackFnFTaskToken": text}})
	if len(lines) != 2 || !strings.Contains(lines[1], `"Name":"one"`) {
		t.Errorf("got %q", lines)
	}
	if exit := run.wait(); exit != view.ExitSucceeded {
		t.Errorf("exit %d", exit)
	}
	s.check(t, view.ExitSucceeded, `{"s":"ok"}`, "run", "events/callback/flow.yaml", "--name", "reported")
}

// The vendor's client creates a flow on the stack, runs it to its end, and reads what happened.
func TestTheVendorsClientManages(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	const definition = "version: v1\ntype: flow\nsteps:\n  - {type: wait, name: A, duration: 1}\n"
	flow := map[string]any{"Name": "managed", "Definition": definition, "Description": "d", "Type": "FDL", "RoleArn": "r"}
	execution := map[string]any{"FlowName": "managed", "ExecutionName": "one"}
	wait := map[string]any{"FlowName": "managed", "ExecutionName": "one", "WaitTimeSeconds": 9}
	want := []string{
		`"Description":"d"`, "FlowAlreadyExists 409", `"Name":"one"`, `"Status":"Succeeded"`, "ExecutionAlreadyExists 400", `"Type":"ExecutionSucceeded"`,
		`"Executions":[{`, `"Flows":[{`, `{"RequestId":"`, "FlowNotExists 404",
	}
	lines := s.vendor(t,
		vendorCall{"CreateFlow", flow}, vendorCall{"CreateFlow", flow}, vendorCall{"StartExecution", execution}, vendorCall{"DescribeExecution", wait},
		vendorCall{"StartExecution", execution}, vendorCall{"GetExecutionHistory", execution},
		vendorCall{"ListExecutions", map[string]any{"FlowName": "managed"}}, vendorCall{"ListFlows", map[string]any{"Limit": 1}},
		vendorCall{"DeleteFlow", map[string]any{"Name": "managed"}}, vendorCall{"DescribeFlow", map[string]any{"Name": "managed"}},
	)
	if len(lines) != len(want) {
		t.Fatalf("printed %q", lines)
	}
	for i, line := range lines {
		if !strings.Contains(line, want[i]) {
			t.Errorf("call %d: printed %s; want %s", i+1, line, want[i])
		}
	}
}
