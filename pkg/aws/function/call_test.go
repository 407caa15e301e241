package function_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda/messages"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/waitless/waitless/pkg/aws/function"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/jobs/simulated"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

const jobID = "019b76da-ab84-7f01-bf03-040506070809" // started 2026-01-01T00:00:00.900Z

// logged returns the handler with a log that the test reads, without its times.
func logged(h function.Call) (function.Call, *bytes.Buffer) {
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

func TestCallLogsOneLineWithoutThePayload(t *testing.T) {
	t.Parallel()
	call, lines := logged(function.NewCall(
		func(_ context.Context, payload []byte) ([]byte, error) { return payload, nil },
		func(response []byte) []slog.Attr { return []slog.Attr{slog.Int("bytes", len(response))} },
	))
	ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "r-1"})
	response, err := call.Invoke(ctx, []byte(`{ "taskToken": "t" }`))
	if err != nil || string(response) != `{ "taskToken": "t" }` {
		t.Errorf("got %s, error %v", response, err)
	}
	if want := `{"level":"INFO","msg":"call succeeded","request_id":"r-1","bytes":20}`; lines.String() != want+"\n" {
		t.Errorf("logged %s, want %s", lines, want)
	}
}

// A caller that accepts failures as values gets one: the function has not failed.
func TestFailureAsAValue(t *testing.T) {
	t.Parallel()
	refused := &resume.ServiceError{Name: "dynamodb.ConditionalCheckFailedException", Message: "no"}
	h, lines := logged(function.NewCall(func(context.Context, []byte) ([]byte, error) { return nil, refused }, nil))
	ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{
		ClientContext: lambdacontext.ClientContext{Custom: map[string]string{"WAITLESS_FAILURES": "values"}},
	})
	response, err := h.Invoke(ctx, nil)
	want := `{"waitless:failure":{"errorMessage":"no","errorType":"dynamodb.ConditionalCheckFailedException"}}`
	if err != nil || string(response) != want || !strings.Contains(lines.String(), `"msg":"call failed"`) {
		t.Errorf("got %s, error %v, log %s; want %s", response, err, lines, want)
	}
}

// Callers and the log get the name and the message of an error.
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
		"an unknown error": {errors.New("the network"), "FC.Unknown", "the network"},
		"one with a token": {&resume.ServiceError{Name: "sfn.InvalidToken", Message: "what is " + secret}, "sfn.InvalidToken", "what is " + token.Mask(secret)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, lines := logged(function.NewCall(func(context.Context, []byte) ([]byte, error) { return []byte("no"), tt.err }, nil))
			response, err := h.Invoke(t.Context(), nil)
			thrown, ok := errors.AsType[messages.InvokeResponse_Error](err)
			if response != nil || !ok || thrown.Type != tt.name || thrown.Message != tt.text {
				t.Errorf("got %s and %+v, want %s: %s", response, thrown, tt.name, tt.text)
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
