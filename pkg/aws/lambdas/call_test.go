package lambdas_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/waitless/waitless/pkg/aws/lambdas"
	"github.com/waitless/waitless/pkg/jobs/simulated"
)

const jobID = "019b76da-ab84-7f01-bf03-040506070809" // started 2026-01-01T00:00:00.900Z

var uuidV7 = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// handlers are the functions by the name of their directory.
var handlers = map[string]func() lambdas.Simulated{
	"startjob":     lambdas.StartJob,
	"getjobstatus": lambdas.GetJobStatus,
	"echo":         lambdas.Echo,
}

// fixed gives a handler a fixed clock, fixed randomness and a log that the test reads, without its times.
func fixed(h lambdas.Simulated) (lambdas.Simulated, *bytes.Buffer) {
	var lines bytes.Buffer
	h.Now = func() time.Time { return time.UnixMilli(1_767_225_600_900).Add(20 * time.Second) }
	h.Random = func(b []byte) { copy(b, []byte{0xff, 1, 0xff, 3, 4, 5, 6, 7, 8, 9}) }
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
	tests := []struct{ name, function, payload, answer, log string }{
		{
			"start", "startjob", `{"secret":"s"}`, `{"job_id":"019b76da-f9a4-7f01-bf03-040506070809"}`,
			`{"level":"INFO","msg":"call succeeded","request_id":"r-1","job_id":"019b76da-f9a4-7f01-bf03-040506070809","status":"started"}`,
		},
		{
			"done", "getjobstatus", `{"job_id":"` + jobID + `","delay":20,"try_count":1}`,
			`{"job_id":"` + jobID + `","job_status":"success","try_count":2}`,
			`{"level":"INFO","msg":"call succeeded","request_id":"r-1","job_id":"` + jobID + `","status":"success"}`,
		},
		{
			"not done", "getjobstatus", `{"job_id":"` + jobID + `"}`,
			`{"job_id":"` + jobID + `","job_status":"running","try_count":1}`,
			`{"level":"INFO","msg":"call succeeded","request_id":"r-1","job_id":"` + jobID + `","status":"running"}`,
		},
		{
			"echo logs no token", "echo", `{ "taskToken": "t" }`, `{ "taskToken": "t" }`,
			`{"level":"INFO","msg":"call succeeded","request_id":"r-1","bytes":20}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h, lines := fixed(handlers[tt.function]())
			ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "r-1"})
			answer, err := h.Invoke(ctx, []byte(tt.payload))
			if err != nil || string(answer) != tt.answer {
				t.Errorf("got %s, %v, want %s", answer, err, tt.answer)
			}
			if got := lines.String(); got != tt.log+"\n" {
				t.Errorf("logged %s, want %s", got, tt.log)
			}
		})
	}
}

func TestHandlersNameTheirErrorsInTheLog(t *testing.T) {
	t.Parallel()
	tests := []struct{ function, payload, name string }{
		{"startjob", `[]`, "InvalidArgument"},
		{"getjobstatus", `{"job_id":"job-1"}`, "JobNotFound"},
		{"getjobstatus", `{"job_id":"` + jobID + `","delay":"20"}`, "InvalidArgument"},
	}
	for _, tt := range tests {
		t.Run(tt.payload, func(t *testing.T) {
			t.Parallel()
			h, lines := fixed(handlers[tt.function]())
			answer, err := h.Invoke(t.Context(), []byte(tt.payload))
			if answer != nil || simulated.ErrorName(err) != tt.name {
				t.Errorf("got %s, %v, want %s", answer, err, tt.name)
			}
			want := `{"level":"WARN","msg":"call failed","request_id":"","error":"` + tt.name + `"}` + "\n"
			if got := lines.String(); got != want {
				t.Errorf("logged %s, want %s", got, want)
			}
		})
	}
}

func TestStartJobsAreDistinct(t *testing.T) {
	t.Parallel()
	h, _ := fixed(lambdas.StartJob())
	h.Random = lambdas.StartJob().Random
	first, _ := h.Invoke(t.Context(), nil)
	second, _ := h.Invoke(t.Context(), nil)
	if bytes.Equal(first, second) {
		t.Errorf("two jobs of one millisecond are both %s", first)
	}
}

// TestSampleEvents feeds the events that `sam local invoke` is shown with to their handlers.
func TestSampleEvents(t *testing.T) {
	t.Parallel()
	for function, compose := range handlers {
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
				checkSample(t, function, compose(), file)
			})
		}
	}
}

func checkSample(t *testing.T, function string, h lambdas.Simulated, file string) {
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
