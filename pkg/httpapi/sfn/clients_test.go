package sfn_test

import (
	"errors"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/httpapi/sfn"
	"github.com/waitless/waitless/pkg/local"
)

// codes are those of errors in the sources.
var codes = regexp.MustCompile(`(?:invalid\(|Request[A-Za-z]*, |BadRequest, |ServerError, |TooLarge, |codeInvalid = )"([A-Z][A-Za-z]+)"`)

const reference = "../../docs/reference/sfn-api.md"

// The programs of the reference run: one starts an execution, waits for its end and reads its
// history, one creates a state machine, and one tests a state. The emulator of AWS has the vendor's client of Python.
func TestDocumentedPrograms(t *testing.T) {
	t.Parallel()
	python, err := filepath.Abs("../../../.tools/emulator/bin/python")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(python); errors.Is(err, os.ErrNotExist) {
		t.Fatal("the vendor's client is not installed: `make test` installs it, `make unit` runs the tests that need none")
	}
	text, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	wanted := []string{
		"SUCCEEDED {\"a\":1}\n1 ExecutionStarted\n2 PassStateEntered\n3 PassStateExited\n4 ExecutionSucceeded\n",
		"\"hello\"\n\"good day\"\n",
		`SUCCEEDED 42 Ship {"FunctionName":"price","Payload":{"id":7}}` + "\nRETRIABLE {'retryIndex': 0, 'retryBackoffIntervalSeconds': 4}\n",
	}
	programs := strings.Split(string(text), "```python\n")[1:]
	if len(programs) != len(wanted) {
		t.Fatalf("the reference has %d programs", len(programs))
	}
	f := newFixtureBy(t, local.NewClock(nil))
	go func() { _ = f.system.Serve(t.Context()) }() // its error is that of the context
	f.put("f", onePass)
	server := httptest.NewServer(sfn.Handler(f.config))
	t.Cleanup(server.Close)
	for i, want := range wanted {
		program, _, _ := strings.Cut(programs[i], "```")
		cmd := exec.CommandContext(t.Context(), python, "-c", program)
		cmd.Env = append(os.Environ(), "AWS_ENDPOINT_URL_SFN="+server.URL, "AWS_ACCESS_KEY_ID="+keyID, "AWS_SECRET_ACCESS_KEY="+secret,
			"AWS_SESSION_TOKEN=", "AWS_DEFAULT_REGION=eu-west-1", "HOME="+t.TempDir(), "NO_PROXY=*")
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != want {
			t.Errorf("printed %s, %v; want %s", out, err, want)
		}
	}
}

// The reference has every action and every code.
func TestReferenceIsComplete(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t)
	_, _, response := f.do(signed(t, "None", "{}"))
	_, list, _ := strings.Cut(strings.TrimRight(response, "\"}\n"), "ACTION: ")
	names := strings.Split(list, ", ")
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range codes.FindAllStringSubmatch(string(source), -1) {
			names = append(names, match[1])
		}
	}
	if len(names) < 30+30 {
		t.Errorf("there are %q", names)
	}
	for _, name := range names {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("the reference has no %s", name)
		}
	}
}
