// Package lambdas composes the Lambda functions of a stack, one function a file: environment in, handler out.
// It may change from release to release; what the functions take and answer does not.
package lambdas

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/waitless/waitless/pkg/jobs/simulated"
)

// Simulated is the handler of one function of package simulated: it reads the clock and the source of
// randomness, calls the function, and logs one line. Payload and answer pass through as bytes.
//
// Errors are returned as they are, since Lambda takes the errorType that callers see from their Go type.
// All fields must be set. It is safe for parallel use if they are.
type Simulated struct {
	Function simulated.Function
	Now      func() time.Time
	Random   func([]byte)                    // fills all of it
	Attrs    func(answer []byte) []slog.Attr // what the log line tells of an answer
	Log      *slog.Logger
}

var _ lambda.Handler = Simulated{}

// Invoke answers one invocation; payload is the JSON of its input. The log line never holds the payload, which
// may carry a token.
func (s Simulated) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	var random [10]byte
	s.Random(random[:])
	answer, err := s.Function(payload, s.Now(), random)
	s.logLine(ctx, answer, err)
	return answer, err
}

// logLine names an error only: its text is logged by the Lambda runtime, which reports it.
func (s Simulated) logLine(ctx context.Context, answer []byte, err error) {
	request := slog.String("request_id", requestID(ctx))
	if err != nil {
		s.Log.LogAttrs(ctx, slog.LevelWarn, "call failed", request, slog.String("error", simulated.ErrorName(err)))
		return
	}
	s.Log.LogAttrs(ctx, slog.LevelInfo, "call succeeded", append([]slog.Attr{request}, s.Attrs(answer)...)...)
}

// newSimulated wires a function to this process.
func newSimulated(f simulated.Function, attrs func([]byte) []slog.Attr) Simulated {
	return Simulated{
		Function: f,
		Now:      time.Now,
		Random:   func(b []byte) { _, _ = rand.Read(b) }, // never fails: it ends the process instead
		Attrs:    attrs,
		Log:      slog.New(slog.NewJSONHandler(os.Stderr, nil)),
	}
}

// requestID is "" outside the Lambda runtime.
func requestID(ctx context.Context) string {
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		return lc.AwsRequestID
	}
	return ""
}

// jobAttrs tells job and status; the status of a job just started is "started".
func jobAttrs(answer []byte) []slog.Attr {
	job := struct {
		JobID  string `json:"job_id"`
		Status string `json:"job_status"`
	}{Status: "started"}
	_ = json.Unmarshal(answer, &job) // our own answer; a log line is no reason to fail
	return []slog.Attr{slog.String("job_id", job.JobID), slog.String("status", job.Status)}
}
