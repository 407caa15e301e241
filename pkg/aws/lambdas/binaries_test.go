package lambdas_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestBinaries builds the functions as they are deployed and calls each through a stand-in of Lambda's Runtime API.
func TestBinaries(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds three binaries and runs them, which takes seconds: run without -short")
	}
	dir := buildFunctions(t)

	t.Run("startjob", func(t *testing.T) {
		t.Parallel()
		f := startFunction(t, filepath.Join(dir, "startjob"))
		started := checkMembers(t, f.call(`{"delay":20}`).want(t, "response"), "job_id")
		checkError(t, f.call(`[1]`), "InvalidArgument", `input is array [1]: want a JSON object`)
		again := checkMembers(t, f.call(`null`).want(t, "response"), "job_id")
		if started["job_id"] == again["job_id"] {
			t.Errorf("two jobs are both %s", started["job_id"])
		}
		f.stop()
		f.wantLog(fmt.Sprintf(`"request_id":"request-1","kind":"simulated","job_id":%q,"status":"started"}`, started["job_id"]))
	})
	t.Run("getjobstatus", func(t *testing.T) {
		t.Parallel()
		f := startFunction(t, filepath.Join(dir, "getjobstatus"))
		checkBody(t, f.call(`{"job_id":"`+jobID+`","delay":20,"try_count":1}`),
			`{"job_id":"`+jobID+`","job_status":"success","try_count":2}`)
		checkBody(t, f.call(`{"job_id":"`+jobID+`","delay":1e12}`), `{"job_id":"`+jobID+`","job_status":"running","try_count":1}`)
		checkError(t, f.call(`{"job_id":"job-1"}`), "JobNotFound",
			`job_id is string "job-1": want the UUIDv7 that StartJob or SubmitJob returned`)
		checkError(t, f.call(`{"job_id":"`+jobID+`","delay":"20"}`), "InvalidArgument",
			`delay is string "20": want a number of seconds such as 20 or 20.5 (leave it out for 60)`)
		f.stop()
		f.wantLog(`"request_id":"request-1","job_id":"` + jobID + `","status":"success"}`)
		f.wantLog(`"request_id":"request-3","error":"JobNotFound",`)
	})
	t.Run("echo", func(t *testing.T) {
		t.Parallel()
		f := startFunction(t, filepath.Join(dir, "echo"))
		checkBody(t, f.call(` {"b": 1e0, "a" : "<>"} `), ` {"b": 1e0, "a" : "<>"} `)
		checkBody(t, f.call(``), `{}`)
	})
}

func checkBody(t *testing.T, got answer, want string) {
	t.Helper()
	if body := got.want(t, "response"); string(body) != want {
		t.Errorf("got %s, want %s", body, want)
	}
}

func checkError(t *testing.T, got answer, name, message string) {
	t.Helper()
	var e struct{ ErrorType, ErrorMessage string }
	if err := json.Unmarshal(got.want(t, "error"), &e); err != nil {
		t.Fatalf("%s: %v", got.body, err)
	}
	if e.ErrorType != name || e.ErrorMessage != message {
		t.Errorf("got %s: %s\nwant %s: %s", e.ErrorType, e.ErrorMessage, name, message)
	}
}

// buildFunctions answers the folder of the three binaries, each named after its directory.
func buildFunctions(t *testing.T) string {
	t.Helper()
	const functions = "github.com/waitless/waitless/functions/"
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-tags", "lambda.norpc", "-o", dir+string(filepath.Separator),
		functions+"startjob", functions+"getjobstatus", functions+"echo")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, out)
	}
	return dir
}

// answer is what a function posted to the Runtime API: body is sent to .../{requestID}/{kind}, where kind is
// "response" or "error".
type answer struct {
	requestID, kind string
	body            []byte
}

func (a answer) want(t *testing.T, kind string) []byte {
	t.Helper()
	if a.kind != kind {
		t.Fatalf("got the %s %s, want a(n) %s", a.kind, a.body, kind)
	}
	return a.body
}

// process is a function's binary and the Runtime API that it runs against.
type process struct {
	t        *testing.T
	cmd      *exec.Cmd
	log      *bytes.Buffer // to be read after stop only
	exited   chan struct{}
	payloads chan string
	answers  chan answer
	calls    int
}

// startFunction runs a binary until the test ends.
func startFunction(t *testing.T, binary string) *process {
	t.Helper()
	f := &process{
		t: t, cmd: exec.Command(binary), log: new(bytes.Buffer),
		exited: make(chan struct{}), payloads: make(chan string), answers: make(chan answer),
	}
	api := httptest.NewServer(f.runtimeAPI())
	t.Cleanup(api.Close)
	f.cmd.Env = append(slices.Clone(variables), "AWS_LAMBDA_RUNTIME_API="+strings.TrimPrefix(api.URL, "http://"))
	f.cmd.Stderr = f.log
	if err := f.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = f.cmd.Wait() // it is killed, so it never ends well
		close(f.exited)
	}()
	t.Cleanup(f.stop)
	return f
}

// stop kills the process, as Lambda does, and waits for its end.
func (f *process) stop() {
	_ = f.cmd.Process.Kill()
	<-f.exited
}

// runtimeAPI hands out one payload per request for the next invocation, and passes on what is posted.
func (f *process) runtimeAPI() http.Handler {
	const invocation = "/2018-06-01/runtime/invocation/"
	requests := 0
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+invocation+"next", func(w http.ResponseWriter, r *http.Request) {
		select {
		case payload := <-f.payloads:
			requests++
			w.Header().Set("Lambda-Runtime-Aws-Request-Id", fmt.Sprintf("request-%d", requests))
			w.Header().Set("Lambda-Runtime-Deadline-Ms", fmt.Sprint(time.Now().Add(time.Minute).UnixMilli()))
			_, _ = io.WriteString(w, payload)
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("POST "+invocation+"{request}/{kind}", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			body = []byte(err.Error())
		}
		w.WriteHeader(http.StatusAccepted)
		select {
		case f.answers <- answer{r.PathValue("request"), r.PathValue("kind"), body}:
		case <-r.Context().Done():
		}
	})
	return mux
}

// call invokes the function once and answers what it posted.
func (f *process) call(payload string) answer {
	f.t.Helper()
	f.calls++
	select {
	case f.payloads <- payload:
	case <-f.exited:
		f.t.Fatalf("the process ended before call %d\n%s", f.calls, f.log)
	}
	select {
	case a := <-f.answers:
		if want := fmt.Sprintf("request-%d", f.calls); a.requestID != want {
			f.t.Fatalf("got an answer to %s, want one to %s", a.requestID, want)
		}
		return a
	case <-f.exited:
		f.t.Fatalf("the process ended in call %d\n%s", f.calls, f.log)
	}
	panic("unreachable")
}

// wantLog wants text in the log, once.
func (f *process) wantLog(text string) {
	f.t.Helper()
	if n := strings.Count(f.log.String(), text); n != 1 {
		f.t.Errorf("got %d times %s, want it once in the log\n%s", n, text, f.log)
	}
}
