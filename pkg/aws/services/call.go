package services

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/waitless/waitless/pkg/aws/call"
	"github.com/waitless/waitless/pkg/aws/call/redact"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
)

// through makes a row an operation.
func through(client *call.Client, row call.Operation) Operation {
	return func(ctx context.Context, service string, params []byte) ([]byte, error) {
		response, err := client.Call(ctx, row, params)
		if err != nil {
			return nil, Refusal(service, err)
		}
		return response.Body, nil
	}
}

// Decode reads the params of an operation, a JSON object. It rejects unknown members: if it ignored
// them, it could start another job than intended. The error is a [*resume.ServiceError].
func Decode(params []byte, input any) error {
	if len(params) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(params))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(input); err != nil {
		return Invalid("the params: " + strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// Invalid returns the error for params that were not sent to a service. It has the name of
// [jobs.RequestError]: only errors of a service have the service's name as a prefix.
func Invalid(what string) error {
	return &resume.ServiceError{Name: jobs.ErrorInvalid, Message: what}
}

// queryPrefix begins the error codes of SQS, which still come from its older protocol.
const queryPrefix = "AWS.SimpleQueueService."

// Refusal returns the service's error as a [*resume.ServiceError]. For any other err, it is unknown
// whether the operation was done.
func Refusal(service string, err error) error { return refusal(withService(service), err) }

// withService returns the name of an error: the service and the code.
func withService(service string) func(code string) string {
	return func(code string) string { return service + "." + strings.TrimPrefix(code, queryPrefix) }
}

func refusal(named func(code string) string, err error) error {
	if wrong, ok := errors.AsType[*call.ParamsError](err); ok {
		return Invalid(wrong.Error())
	}
	if wrong, ok := errors.AsType[smithy.InvalidParamsError](err); ok { // of a client of SQS
		var texts []string
		for _, problem := range wrong.Errs() {
			texts = append(texts, strings.TrimSuffix(problem.Error(), "."))
		}
		return Invalid("the params: " + strings.Join(texts, "; "))
	}
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return err
	}
	again := throttled.IsErrorThrottle(err).Bool()
	if response, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		again = again || response.HTTPStatusCode() >= http.StatusInternalServerError || response.HTTPStatusCode() == http.StatusTooManyRequests
	}
	return &resume.ServiceError{Name: named(api.ErrorCode()), Message: redact.Message(api.ErrorMessage()), Again: again}
}

var throttled = retry.ThrottleErrorCode{Codes: retry.DefaultThrottleErrorCodes}

// unlessArrived repeats a call that was throttled, or that could not connect.
func unlessArrived() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.Retryables = []retry.IsErrorRetryable{
			retry.RetryableErrorCode{Codes: retry.DefaultThrottleErrorCodes},
			retry.RetryableHTTPStatusCode{Codes: map[int]struct{}{http.StatusTooManyRequests: {}}}, // SNS has a code of its own
			retry.IsErrorRetryableFunc(neverArrived),
		}
		o.MaxBackoff = time.Second
	})
}

func neverArrived(err error) aws.Ternary {
	dialing, ok := errors.AsType[*net.OpError](err)
	return aws.BoolTernary(ok && dialing.Op == "dial")
}
