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

// The vendor's client reads each answer, and signs what is hard to sign.
func TestVendorClient(t *testing.T) {
	t.Parallel()
	b := newClientBench(t)
	var calls strings.Builder
	encoder := json.NewEncoder(&calls)
	report := func(action string, given map[string]string) {
		if err := encoder.Encode([]any{action, given}); err != nil {
			t.Fatal(err)
		}
	}
	const cause = "by hand: ä *~+/=&%20\n'\""
	report("ReportTaskFailed", map[string]string{"TaskToken": "forged", "Error": "E"})
	report("ReportTaskFailed", map[string]string{"TaskToken": b.text, "Cause": cause})
	report("ReportTaskSucceeded", map[string]string{"TaskToken": b.text, "Output": "[]"})
	report("StartExecution", map[string]string{"FlowName": "f"})
	report("ReportTaskFailed", map[string]string{"TaskToken": b.text, "Error": "Rejected", "Cause": cause})
	report("ReportTaskSucceeded", map[string]string{"TaskToken": b.text, "Output": "{}"})
	lines := strings.Split(strings.TrimSpace(b.runClient(calls.String(), secret, "testdata/calls.py")), "\n")
	for i, want := range []string{
		"TaskNotExists 404", "MissingRequiredParams 400", "InvalidArgument 400", "ActionNotSupported 400", `{"EventId":0,"RequestId":"`,
		"TaskAlreadyCompleted 400",
	} {
		if i >= len(lines) || !strings.HasPrefix(lines[i], want) {
			t.Errorf("call %d: printed %q; want %s", i+1, lines, want)
		}
	}
	if outcome := b.held().Outcome; outcome == nil || *outcome != token.Failure("Rejected", cause) {
		t.Errorf("the token holds %+v", outcome)
	}
}
