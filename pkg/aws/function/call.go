// Package function has the shared code of a stack's Lambda functions: how a function starts, logs
// and names its errors, and how requests of API Gateway reach an [http.Handler]. It links no client
// of a service.
//
// This package is not an API and may change between releases; the input and output of the functions
// do not.
package function

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambda/messages"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/release"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// Start composes the function, logs its version, and serves its invocations, until Lambda ends the
// process.
func Start[Handler any](compose func(getenv func(string) string) (Handler, error)) {
	handler, err := compose(os.Getenv)
	if err != nil {
		log.Fatal(err)
	}
	Log(os.Getenv).Info("started", "version", release.Version, "commit", release.Commit())
	lambda.Start(handler)
}

// MessageHandler handles a batch of messages, and returns those to redeliver.
type MessageHandler = func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error)

// Call is the handler of a function with a caller that waits for the response. It calls Function
// and logs one line. All fields are required. It is safe for concurrent use if they are.
type Call struct {
	Function func(ctx context.Context, payload []byte) (response []byte, err error)
	Attrs    func(response []byte) []slog.Attr // of the log line
	Log      *slog.Logger
}

var _ lambda.Handler = Call{}

// NewCall returns a handler that logs to standard error.
func NewCall(function func(context.Context, []byte) ([]byte, error), attrs func([]byte) []slog.Attr) Call {
	return Call{Function: function, Attrs: attrs, Log: Log(os.Getenv)}
}

// Invoke handles one invocation; payload is the JSON of its input. The log line never has the
// payload, which may have a token. The error has the name that callers see as errorType. Callers of
// the engine get it as a value, so that the failure of a flow's job is no error of the function.
func (c Call) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	id, acceptsFailures := "", false // outside the Lambda runtime
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		id, acceptsFailures = lc.AwsRequestID, lc.ClientContext.Custom["WAITLESS_FAILURES"] != ""
	}
	request := slog.String("request_id", id)
	c.Log.LogAttrs(ctx, slog.LevelDebug, "call begins", request, slog.Int("bytes", len(payload)))
	response, err := c.Function(ctx, payload)
	if err != nil {
		thrown := named(err)
		c.Log.LogAttrs(ctx, slog.LevelWarn, "call failed", request, slog.String("error", thrown.Type), slog.String("message", thrown.Message))
		if acceptsFailures {
			return json.Marshal(map[string]any{"waitless:failure": thrown})
		}
		return nil, thrown
	}
	c.Log.LogAttrs(ctx, slog.LevelInfo, "call succeeded", append([]slog.Attr{request}, c.Attrs(response)...)...)
	return response, nil
}

// errorToken is the name of the error of a forged token.
const errorToken = "InvalidToken"

// named returns the error in the form that Lambda passes on. It masks tokens. After an error
// without a name the call may have had its effect, and the same call may succeed later.
func named(err error) messages.InvokeResponse_Error {
	name, text := token.ErrorUnknown, err.Error()
	if wrong, ok := errors.AsType[*jobs.RequestError](err); ok {
		name, text = wrong.Name, wrong.What
	}
	if refused, ok := errors.AsType[*resume.ServiceError](err); ok {
		name, text = refused.Name, refused.Message
	}
	if errors.Is(err, token.ErrInvalid) {
		name, text = errorToken, token.ErrInvalid.Error()
	}
	return messages.InvokeResponse_Error{Type: name, Message: token.MaskAll(text)}
}
