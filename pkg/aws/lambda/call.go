package lambda

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// Client is the part of a Lambda client that this package uses.
type Client interface {
	Invoke(ctx context.Context, input *lambda.InvokeInput, options ...func(*lambda.Options)) (*lambda.InvokeOutput, error)
	GetFunctionConfiguration(
		ctx context.Context, input *lambda.GetFunctionConfigurationInput, options ...func(*lambda.Options),
	) (*lambda.GetFunctionConfigurationOutput, error)
}

// Config is what functions are called with. Client, Now and Longest are
// required.
type Config struct {
	Client Client
	Names  Names
	Now    func() time.Time
	// Longest bounds each call, whatever the flow and the function allow: ten seconds in an
	// interpreter, and in a task runner its own time limit without the time to close the token.
	Longest time.Duration
	// Warn receives the errors of look-ups of time limits; nil discards them.
	Warn func(error)
}

// Functions calls Lambda functions. It implements [engine.Caller].
type Functions struct {
	config Config
	limits sync.Map // of target to timeLimit
}

// New returns functions. Their time limits are not looked up yet.
func New(config Config) *Functions {
	return &Functions{config: config}
}

// Call implements [engine.Caller].
func (f *Functions) Call(ctx context.Context, call machine.Call) (token.Outcome, error) {
	function, err := f.config.Names.resolve(call.Resource)
	if err != nil {
		return token.Failure(token.ErrorAccessDenied, err.Error()), nil
	}
	limit := f.config.Longest
	if call.Limit > 0 {
		limit = min(limit, call.Limit)
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	input := &lambda.InvokeInput{
		FunctionName: &function.name, InvocationType: types.InvocationTypeRequestResponse,
		Payload: []byte(call.Input.JSON()), ClientContext: aws.String(clientContext(call, f.config.Names.isStarter(function), f.config.Now())),
	}
	if function.qualifier != "" {
		input.Qualifier = &function.qualifier
	}
	answer, err := f.config.Client.Invoke(limited, input, neverTwice, traced(call))
	switch {
	case err != nil && ctx.Err() != nil:
		return token.Outcome{}, ctx.Err()
	case err != nil && limited.Err() != nil:
		// The time limit of the function ended the call perhaps, and may be longer by now: the next
		// call looks it up.
		if known, ok := f.known(function); ok {
			known.until = time.Time{}
			f.limits.Store(function, known)
		}
		late := token.Failure(machine.ErrorTaskTimeout,
			fmt.Sprintf("function %s took longer than %s: raise the time limit of the step, or of the function", function.name, limit))
		if limit == call.Limit {
			return late, nil
		}
		return engine.Ended(call, timedOut, late), nil
	case err != nil && hasNoRoom(err):
		return token.Outcome{}, &engine.BusyError{Outcome: refusal(function, err)}
	case err != nil:
		return refusal(function, err), nil
	case answer.FunctionError != nil:
		return thrown(call, function, answer.Payload), nil
	case f.config.Names.isStarter(function) && bytes.HasPrefix(answer.Payload, []byte(failurePrefix)):
		return thrown(call, function, bytes.TrimSuffix(bytes.TrimPrefix(answer.Payload, []byte(failurePrefix)), []byte("}"))), nil
	case len(answer.Payload) > engine.LongestReply:
		return engine.ReplyTooLong(call, "function "+function.name, engine.LongestReply), nil
	}
	return engine.ParseReply(answer.Payload, "function "+function.name), nil
}

// failurePrefix begins a response of a starter that failed, if the call accepts [failuresAsValues]:
// such a failure is no error of the Lambda function, which would raise an alarm. The error follows
// in the form that Lambda gives it, and one brace.
const failurePrefix = `{"waitless:failure":`

// failuresAsValues is the member of the client context by which package function knows it.
const failuresAsValues = "WAITLESS_FAILURES"

// clientContext returns the client context that a function gets besides its event. It is far below
// Lambda's limit of 3,583 bytes.
func clientContext(call machine.Call, isStarter bool, now time.Time) string {
	custom := map[string]string{
		"WAITLESS_NOW":             now.UTC().Format(time.RFC3339Nano),
		"WAITLESS_FLOW":            call.Flow.Name,
		"WAITLESS_EXECUTION":       call.Execution,
		"WAITLESS_STEP":            call.Step,
		"WAITLESS_IDEMPOTENCY_KEY": call.Key(),
	}
	if isStarter {
		custom[failuresAsValues] = "values"
	}
	if call.Iteration != "" {
		custom["WAITLESS_ITERATION"] = call.Iteration
	}
	if call.Traceparent != "" {
		custom["traceparent"], custom["tracestate"] = call.Traceparent, call.Tracestate
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)                                       // which makes six bytes of one
	_ = encoder.Encode(map[string]map[string]string{"custom": custom}) // of texts always possible
	return base64.StdEncoding.EncodeToString(text.Bytes())
}

// traced makes the spans of the function parts of the call's trace, in the form of X-Ray.
func traced(call machine.Call) func(*lambda.Options) {
	return func(o *lambda.Options) {
		t := machine.ParseTrace(call.Traceparent, "")
		if t == nil {
			return
		}
		sampled, id := 0, t.ID.String() // the ids are the same
		if t.Sampled() {
			sampled = 1
		}
		header := fmt.Sprintf("Root=1-%s-%s;Parent=%s;Sampled=%d", id[:8], id[8:], t.Parent, sampled)
		o.APIOptions = append(o.APIOptions, smithyhttp.SetHeaderValue("X-Amzn-Trace-Id", header))
	}
}

// neverTwice keeps the SDK from repeating a call that may have reached the function: the flow
// decides about retries.
func neverTwice(o *lambda.Options) {
	o.Retryer = retry.NewStandard(func(s *retry.StandardOptions) {
		s.Retryables = []retry.IsErrorRetryable{retry.IsErrorRetryableFunc(neverArrived)}
		s.MaxBackoff = time.Second
	})
}

// neverArrived reports whether the connection failed, or Lambda had no capacity.
func neverArrived(err error) aws.Ternary {
	return aws.BoolTernary(engine.NeverConnected(err) || hasNoRoom(err))
}

// hasNoRoom reports whether Lambda had no capacity: the concurrency of the function or of the
// account is in use. The function was not called.
func hasNoRoom(err error) bool {
	_, ok := errors.AsType[*types.TooManyRequestsException](err)
	return ok
}
