package function_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// variables are those that the template gives the functions.
var variables = []string{
	"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=secret",
	"WAITLESS_LOG_TABLE=log", "WAITLESS_WAITS_TABLE=waits", "WAITLESS_WAKE_QUEUE=http://127.0.0.1/123456789012/wakes",
	"WAITLESS_TASK_QUEUE=http://127.0.0.1/123456789012/tasks", "WAITLESS_DESCENDANT_QUEUE=http://127.0.0.1/123456789012/descendants",
	"WAITLESS_WAKE_QUEUE_ARN=arn:aws:sqs:us-east-1:000000000000:wakes", "WAITLESS_TIMERS=timers", "WAITLESS_TIMER_ROLE=role", "WAITLESS_DEAD_LETTERS=letters",
	"WAITLESS_LONGEST_DELAY=900", "WAITLESS_TIME_LIMIT=30", "WAITLESS_EXECUTION_DAYS=90", "WAITLESS_RETENTION_DAYS=30",
	"WAITLESS_TOKEN_KEY=key", "WAITLESS_STACK=stack", "WAITLESS_STATUS_EVENTS=off",
	"WAITLESS_EVENT_BUS=default", "WAITLESS_JOB_QUEUE=http://127.0.0.1/123456789012/jobs", "WAITLESS_POLL_QUEUE=http://127.0.0.1/123456789012/polls",
	"WAITLESS_POLL_QUEUE_ARN=arn:aws:sqs:us-east-1:000000000000:polls",
	"WAITLESS_DELIVERY_QUEUE=http://127.0.0.1/123456789012/deliveries", "WAITLESS_VALUES_BUCKET=values",
	"WAITLESS_NOTICE_QUEUE=http://127.0.0.1/123456789012/notices",
	"WAITLESS_ACCOUNT=123456789012", "WAITLESS_CALLBACK_URL=https://callbacks.example",
	"WAITLESS_WAKE_DEAD_LETTERS=http://127.0.0.1/123456789012/letters",
}

// BenchmarkColdStart is the time from the start of a function's process to its
// first request for an invocation. The budget of the interpreter is 2.3 times
// that of an empty handler of the same build, and 3 ms more.
func BenchmarkColdStart(b *testing.B) {
	dir := b.TempDir()
	for _, function := range []string{
		"empty", "echo", "getjobstatus", "startjob", "callservice", "jobevents", "callback", "fnf", "api", "taskrunner", "janitor", "interpreter",
	} {
		binary := buildForStart(b, dir, function)
		b.Run(function, func(b *testing.B) {
			for b.Loop() {
				startOnce(b, binary)
			}
		})
	}
}

func buildForStart(b *testing.B, dir, function string) string {
	b.Helper()
	source := "github.com/waitless/waitless/functions/" + function
	if function == "empty" {
		source = "./testdata/empty"
	}
	binary := filepath.Join(dir, function)
	build := exec.CommandContext(b.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-tags", "lambda.norpc", "-o", binary, source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%s: %v\n%s", build, err, out)
	}
	return binary
}

// startOnce starts a function and ends it when it asks for its first
// invocation.
func startOnce(b *testing.B, binary string) {
	b.Helper()
	asked := make(chan struct{}, 1)
	api := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	defer api.Close()
	cmd := exec.CommandContext(b.Context(), binary)
	cmd.Env = append(variables, "AWS_LAMBDA_RUNTIME_API="+strings.TrimPrefix(api.URL, "http://"))
	var log strings.Builder
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	const patience = 10 * time.Second
	select {
	case <-asked:
	case <-time.After(patience):
		b.Errorf("it asks for nothing: %s", log.String())
	}
	b.StopTimer()
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // it was killed, so it never ends well
	b.StartTimer()
}
