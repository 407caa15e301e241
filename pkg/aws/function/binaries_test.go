package function_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var uuidV7 = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// TestBinaries builds the functions of the seeds as they are deployed, and calls each through a
// fake of Lambda's Runtime API.
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
		checkError(t, f.call(`[1]`), "InvalidArgument", `input is array [1]: want an object`)
		again := checkMembers(t, f.call(`null`).want(t, "response"), "job_id")
		if started["job_id"] == again["job_id"] {
			t.Errorf("two jobs are both %s", started["job_id"])
		}
		f.callSamples("startjob", func(_, response []byte) { checkMembers(t, response, "job_id") })
		f.refusesOwnQueues()
		f.stop()
		f.wantLog(fmt.Sprintf(`"request_id":"request-1","kind":"simulated","job_id":%q,"status":"started"}`, started["job_id"]))
	})
	t.Run("callservice", func(t *testing.T) {
		t.Parallel()
		f := startFunction(t, filepath.Join(dir, "callservice"))
		checkError(t, f.call(`{"operation":"dynamodb:PutItems","params":{}}`), "InvalidArgument", `service "dynamodb" has no operation "PutItems"`)
		checkError(t, f.call(`{"operation":"dynamodb:GetItem","params":{"TableName":"a"}}`), "InvalidArgument",
			`the params: missing required field Key`)
		checkError(t, f.call(`[1]`), "InvalidArgument", `the input is not an object with operation, params and idempotencyKey`)
		f.stop()
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
		f.callSamples("getjobstatus", func(_, response []byte) { // of a job that started long ago
			if m := checkMembers(t, response, "job_id", "job_status", "try_count"); m["job_status"] != "success" {
				t.Errorf("got %s, want success", response)
			}
		})
		f.stop()
		f.wantLog(`"request_id":"request-1","job_id":"` + jobID + `","status":"success"}`)
		f.wantLog(`"request_id":"request-2","job_id":"` + jobID + `","status":"running"}`)
		f.wantLog(`"request_id":"request-3","error":"JobNotFound",`)
	})
	t.Run("echo", func(t *testing.T) {
		t.Parallel()
		f := startFunction(t, filepath.Join(dir, "echo"))
		checkBody(t, f.call(` {"b": 1e0, "a" : "<>"} `), ` {"b": 1e0, "a" : "<>"} `)
		checkBody(t, f.call(``), `{}`)
		f.callSamples("echo", func(event, response []byte) {
			if !bytes.Equal(response, event) {
				t.Errorf("got %s, want the event: %s", response, event)
			}
		})
		f.stop()
		f.wantLog(`"request_id":"request-1","bytes":24}`)
	})
}

// callSamples calls the function with the events of the samples, which `sam local invoke` uses too.
func (f *process) callSamples(name string, check func(event, response []byte)) {
	f.t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "events", "*", name+".json"))
	if err != nil || len(files) == 0 {
		f.t.Errorf("events/*/%s.json: got no file, want at least one: %v", name, err)
	}
	for _, file := range files {
		event, err := os.ReadFile(file)
		if err != nil || !json.Valid(event) {
			f.t.Fatalf("%s: %v", file, err)
		}
		check(event, f.call(string(event)).want(f.t, "response"))
	}
}

// refusesOwnQueues: StartJob may send to the queues of its stack, but no flow makes it do so.
func (f *process) refusesOwnQueues() {
	f.t.Helper()
	for _, queue := range []string{"WakeQueue", "TaskQueue", "DescendantQueue", "DeliveryQueue", "NoticeQueue", "JobQueue", "PollQueue"} {
		got := f.call(fmt.Sprintf(`{"kind":"sqs-message","params":{"QueueUrl":"http://127.0.0.1/123456789012/%s","MessageBody":"{}"}}`, queue))
		if body := string(got.want(f.t, "error")); !strings.Contains(body, `"sqs.AccessDenied"`) {
			f.t.Errorf("%s: %s", queue, body)
		}
	}
}

// checkMembers wants exactly these members, given in sorted order, and a UUIDv7 as job_id.
func checkMembers(t *testing.T, response []byte, want ...string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(response, &m); err != nil {
		t.Fatalf("%s: %v", response, err)
	}
	if got := slices.Sorted(maps.Keys(m)); !slices.Equal(got, want) {
		t.Errorf("got the members %s, want %s", strings.Join(got, " "), strings.Join(want, " "))
	}
	if id, _ := m["job_id"].(string); !uuidV7.MatchString(id) {
		t.Errorf("got %s, want a UUIDv7 as job_id", response)
	}
	return m
}

func checkBody(t *testing.T, got reply, want string) {
	t.Helper()
	if body := got.want(t, "response"); string(body) != want {
		t.Errorf("got %s, want %s", body, want)
	}
}

func checkError(t *testing.T, got reply, name, message string) {
	t.Helper()
	var e struct{ ErrorType, ErrorMessage string }
	if err := json.Unmarshal(got.want(t, "error"), &e); err != nil {
		t.Fatalf("%s: %v", got.body, err)
	}
	if e.ErrorType != name || e.ErrorMessage != message {
		t.Errorf("got %s: %s\nwant %s: %s", e.ErrorType, e.ErrorMessage, name, message)
	}
}

// buildFunctions returns the folder of the three binaries, each named after its directory.
func buildFunctions(t *testing.T) string {
	t.Helper()
	const functions = "github.com/waitless/waitless/functions/"
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-tags", "lambda.norpc", "-o", dir+string(filepath.Separator),
		functions+"startjob", functions+"getjobstatus", functions+"callservice", functions+"echo")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, out)
	}
	return dir
}

// reply is what a function posted to the Runtime API: body is sent to .../{requestID}/{kind}, where
// kind is "response" or "error".
type reply struct {
	requestID, kind string
	body            []byte
}

func (a reply) want(t *testing.T, kind string) []byte {
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
	replies  chan reply
	calls    int
}

// startFunction runs a binary until the test ends.
func startFunction(t *testing.T, binary string) *process {
	t.Helper()
	f := &process{
		t: t, cmd: exec.Command(binary), log: new(bytes.Buffer),
		exited: make(chan struct{}), payloads: make(chan string), replies: make(chan reply),
	}
	api := httptest.NewServer(f.runtimeAPI())
	t.Cleanup(api.Close)
	f.cmd.Env = append(readTemplate(t).variables(filepath.Base(binary)), "AWS_LAMBDA_RUNTIME_API="+strings.TrimPrefix(api.URL, "http://"))
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

// runtimeAPI hands out one payload per request for the next invocation, and passes on what is
// posted.
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
		case f.replies <- reply{r.PathValue("request"), r.PathValue("kind"), body}:
		case <-r.Context().Done():
		}
	})
	return mux
}

// call invokes the function once and returns what it posted.
func (f *process) call(payload string) reply {
	f.t.Helper()
	f.calls++
	select {
	case f.payloads <- payload:
	case <-f.exited:
		f.t.Fatalf("the process ended before call %d\n%s", f.calls, f.log)
	}
	select {
	case a := <-f.replies:
		if want := fmt.Sprintf("request-%d", f.calls); a.requestID != want {
			f.t.Fatalf("got a reply to %s, want one to %s", a.requestID, want)
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
