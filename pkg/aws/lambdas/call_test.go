package lambdas_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda/messages"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/waitless/waitless/pkg/aws/lambdas"
	"github.com/waitless/waitless/pkg/aws/lambdas/getjobstatus"
	"github.com/waitless/waitless/pkg/aws/lambdas/startjob"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/jobs/simulated"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

const jobID = "019b76da-ab84-7f01-bf03-040506070809" // started 2026-01-01T00:00:00.900Z

var (
	aJob   = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`)
	uuidV7 = regexp.MustCompile(`^` + aJob.String() + `$`)
)

// handlers are the functions by the name of their directory, told what the stack tells them.
func handlers(t *testing.T) map[string]lambdas.Call {
	t.Helper()
	started, err := startjob.New(getenv)
	if err != nil {
		t.Fatal(err)
	}
	status, err := getjobstatus.New(getenv)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]lambdas.Call{"startjob": started, "getjobstatus": status, "echo": lambdas.Echo()}
}

// getenv reads [variables].
func getenv(name string) string {
	for _, pair := range variables {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}
	return ""
}

// logged gives a handler a log that the test reads, without its times.
func logged(h lambdas.Call) (lambdas.Call, *bytes.Buffer) {
	var lines bytes.Buffer
	h.Log = slog.New(slog.NewJSONHandler(&lines, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
	return h, &lines
}

func TestHandlersAnswerAndLogOneLine(t *testing.T) {
	t.Parallel()
	all := handlers(t)
	tests := []struct{ name, function, payload, answer, log string }{
		{
			"start", "startjob", `{"secret":"s"}`, `{"job_id":"JOB"}`,
			`{"level":"INFO","msg":"call succeeded","request_id":"r-1","kind":"simulated","job_id":"JOB","status":"started"}`,
		},
		{
			"done", "getjobstatus", `{"job_id":"` + jobID + `","delay":20,"try_count":1}`,
			`{"job_id":"JOB","job_status":"success","try_count":2}`,
			`{"level":"INFO","msg":"call succeeded","request_id":"r-1","job_id":"JOB","status":"success"}`,
		},
		{
			"not done", "getjobstatus", `{"job_id":"` + jobID + `","delay":1e12}`,
			`{"job_id":"JOB","job_status":"running","try_count":1}`,
			`{"level":"INFO","msg":"call succeeded","request_id":"r-1","job_id":"JOB","status":"running"}`,
		},
		{
			"echo logs no token", "echo", `{ "taskToken": "t" }`, `{ "taskToken": "t" }`,
			`{"level":"INFO","msg":"call succeeded","request_id":"r-1","bytes":20}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h, lines := logged(all[tt.function])
			ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "r-1"})
			answer, err := h.Invoke(ctx, []byte(tt.payload))
			if got := aJob.ReplaceAllString(string(answer), "JOB"); err != nil || got != tt.answer {
				t.Errorf("got %s, %v, want %s", answer, err, tt.answer)
			}
			if got := aJob.ReplaceAllString(lines.String(), "JOB"); got != tt.log+"\n" {
				t.Errorf("logged %s, want %s", got, tt.log)
			}
		})
	}
}

// What callers see of an error is its name and what they can mend, and the log says the same.
func TestErrorsHaveNames(t *testing.T) {
	t.Parallel()
	keys := token.Keys{Current: token.Key{ID: 1, Secret: make([]byte, token.SecretSize)}}
	secret := keys.Sign(token.ID{Expires: time.Unix(2_000_000_000, 0)})
	_, simulatedError := simulated.GetJobStatus([]byte(`{"job_id":"`+jobID+`","delay":"20"}`), time.Now())
	_, notFound := simulated.GetJobStatus([]byte(`{"job_id":"job-1"}`), time.Now())
	_, early := simulated.Echo([]byte(`{"since":"2026-01-31T10:00:00Z","ready_after":15}`), time.Time{})
	for name, tt := range map[string]struct {
		err        error
		name, text string
	}{
		"an echo":          {early, "NotReady", early.Error()},
		"a request":        {fmt.Errorf("start: %w", &jobs.RequestError{Name: "InvalidArgument", What: "kind is 7"}), "InvalidArgument", "kind is 7"},
		"a service's":      {fmt.Errorf("start: %w", &resume.ServiceError{Name: "batch.ClientException", Message: "no queue"}), "batch.ClientException", "no queue"},
		"the tutorial's":   {simulatedError, "InvalidArgument", simulatedError.Error()},
		"no tutorial job":  {notFound, "JobNotFound", notFound.Error()},
		"a forged token":   {fmt.Errorf("start: %w", token.ErrInvalid), "InvalidToken", token.ErrInvalid.Error()},
		"nobody knows":     {errors.New("the network"), "FC.Unknown", "the network"},
		"one with a token": {&resume.ServiceError{Name: "sfn.InvalidToken", Message: "what is " + secret}, "sfn.InvalidToken", "what is " + token.Mask(secret)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, lines := logged(lambdas.NewCall(func(context.Context, []byte) ([]byte, error) { return []byte("no"), tt.err }, nil))
			answer, err := h.Invoke(t.Context(), nil)
			thrown, ok := errors.AsType[messages.InvokeResponse_Error](err)
			if answer != nil || !ok || thrown.Type != tt.name || thrown.Message != tt.text {
				t.Errorf("got %s and %+v, want %s: %s", answer, thrown, tt.name, tt.text)
			}
			line := lines.String()
			if !strings.Contains(line, `"level":"WARN","msg":"call failed","request_id":"","error":"`+tt.name+`"`) || strings.Count(line, "\n") != 1 {
				t.Errorf("logged %s", line)
			}
			if strings.Contains(line, secret) {
				t.Error("the log has the token")
			}
		})
	}
}

func TestStartJobsAreDistinct(t *testing.T) {
	t.Parallel()
	h := handlers(t)["startjob"]
	first, _ := h.Invoke(t.Context(), nil)
	second, _ := h.Invoke(t.Context(), nil)
	if len(first) == 0 || bytes.Equal(first, second) {
		t.Errorf("two jobs of one millisecond are both %s", first)
	}
}

// TestSampleEvents feeds the events that `sam local invoke` is shown with to their handlers.
func TestSampleEvents(t *testing.T) {
	t.Parallel()
	for function, handler := range handlers(t) {
		files, err := filepath.Glob(filepath.Join("..", "..", "..", "events", "*", function+".json"))
		if err != nil {
			t.Fatal(err)
		}
		if len(files) == 0 && function != "echo" {
			t.Errorf("events/*/%s.json: got no file, want at least one", function)
		}
		for _, file := range files {
			t.Run(file, func(t *testing.T) {
				t.Parallel()
				checkSample(t, function, handler, file)
			})
		}
	}
}

func checkSample(t *testing.T, function string, h lambdas.Call, file string) {
	t.Helper()
	event, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	h.Log = slog.New(slog.DiscardHandler)
	answer, err := h.Invoke(t.Context(), event)
	if err != nil {
		t.Fatal(err)
	}
	switch function {
	case "startjob":
		checkMembers(t, answer, "job_id")
	case "getjobstatus":
		// Its job started long ago.
		if m := checkMembers(t, answer, "job_id", "job_status", "try_count"); m["job_status"] != "success" {
			t.Errorf("got %s, want success", answer)
		}
	default:
		if !json.Valid(event) || !bytes.Equal(answer, event) {
			t.Errorf("got %s, want the event, as JSON: %s", answer, event)
		}
	}
}

// checkMembers wants exactly these members, given in sorted order, and a UUIDv7 as job_id.
func checkMembers(t *testing.T, answer []byte, want ...string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(answer, &m); err != nil {
		t.Fatalf("%s: %v", answer, err)
	}
	if got := slices.Sorted(maps.Keys(m)); !slices.Equal(got, want) {
		t.Errorf("got the members %s, want %s", strings.Join(got, " "), strings.Join(want, " "))
	}
	if id, _ := m["job_id"].(string); !uuidV7.MatchString(id) {
		t.Errorf("got %s, want a UUIDv7 as job_id", answer)
	}
	return m
}

// StartJob may send to the stack's queues, whose messages others believe: no flow
// makes it do so.
func TestNoFlowSendsToTheQueuesOfItsStack(t *testing.T) {
	t.Parallel()
	startJob := handlers(t)["startjob"]
	for _, queue := range []string{"WAITLESS_WAKE_QUEUE", "WAITLESS_TASK_QUEUE", "WAITLESS_DELIVERY_QUEUE", "WAITLESS_JOB_QUEUE", "WAITLESS_POLL_QUEUE"} {
		input := fmt.Sprintf(`{"kind":"sqs-message","params":{"QueueUrl":%q,"MessageBody":"{}"}}`, getenv(queue))
		_, err := startJob.Function(t.Context(), []byte(input))
		if refused, ok := errors.AsType[*resume.ServiceError](err); !ok || refused.Name != "sqs.AccessDenied" {
			t.Errorf("%s: error %v", queue, err)
		}
	}
}
