// Package lambdas composes the Lambda functions of a stack, one function a package below it, but for those that
// link nothing: environment in, handler out. What those share whose answer somebody awaits is [Call].
// It may change from release to release; what the functions take and answer does not.
package lambdas

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambda/messages"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/jobs/simulated"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// Call is the handler of a function whose answer somebody awaits: it makes the call and logs one line. Payload and
// answer pass through as bytes.
//
// All fields must be set. It is safe for parallel use if they are.
type Call struct {
	Function func(ctx context.Context, payload []byte) (answer []byte, err error)
	Attrs    func(answer []byte) []slog.Attr // what the log line tells of an answer
	Log      *slog.Logger
}

var _ lambda.Handler = Call{}

// NewCall makes a handler that logs to standard error, as Lambda wants it.
func NewCall(function func(context.Context, []byte) ([]byte, error), attrs func([]byte) []slog.Attr) Call {
	return Call{Function: function, Attrs: attrs, Log: Log(os.Getenv)}
}

// Invoke answers one invocation; payload is the JSON of its input. The log line never holds the payload, which
// may carry a token. An error is of the type that callers see as errorType.
func (c Call) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	request := slog.String("request_id", requestID(ctx))
	c.Log.LogAttrs(ctx, slog.LevelDebug, "call begins", request, slog.Int("bytes", len(payload)))
	answer, err := c.Function(ctx, payload)
	if err != nil {
		thrown := named(err)
		c.Log.LogAttrs(ctx, slog.LevelWarn, "call failed", request, slog.String("error", thrown.Type), slog.String("message", thrown.Message))
		return nil, thrown
	}
	c.Log.LogAttrs(ctx, slog.LevelInfo, "call succeeded", append([]slog.Attr{request}, c.Attrs(answer)...)...)
	return answer, nil
}

// What callers see as errorType of errors that have no name of their own.
const (
	// ErrorToken: the token that was given is none.
	ErrorToken = "InvalidToken"
	// ErrorUnknown: nobody knows what became of the call. The same call may succeed later.
	ErrorUnknown = "FC.Unknown"
)

// named is the error as Lambda passes it on. Nothing of a token is in it.
func named(err error) messages.InvokeResponse_Error {
	name, text := ErrorUnknown, err.Error()
	if wrong, ok := errors.AsType[*jobs.RequestError](err); ok {
		name, text = wrong.Name, wrong.What
	}
	if wrong, ok := errors.AsType[simulated.InvalidArgument](err); ok {
		name, text = simulated.ErrorName(wrong), wrong.Error()
	}
	if wrong, ok := errors.AsType[simulated.JobNotFound](err); ok {
		name, text = simulated.ErrorName(wrong), wrong.Error()
	}
	if early, ok := errors.AsType[simulated.NotReady](err); ok {
		name, text = simulated.ErrorName(early), early.Error()
	}
	if refused, ok := errors.AsType[*resume.ServiceError](err); ok {
		name, text = refused.Name, refused.Message
	}
	if errors.Is(err, token.ErrInvalid) {
		name, text = ErrorToken, token.ErrInvalid.Error()
	}
	return messages.InvokeResponse_Error{Type: name, Message: token.MaskAll(text)}
}

// requestID is "" outside the Lambda runtime.
func requestID(ctx context.Context) string {
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		return lc.AwsRequestID
	}
	return ""
}
