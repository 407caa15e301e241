package services

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/waitless/waitless/pkg/resume"
)

// call makes an operation of a client's method.
func call[Input, Output, Options any](method func(context.Context, *Input, ...func(*Options)) (*Output, error)) Operation {
	return func(ctx context.Context, service string, params []byte) ([]byte, error) {
		input := new(Input)
		if err := Decode(service, params, input); err != nil {
			return nil, err
		}
		output, err := method(ctx, input)
		if err != nil {
			return nil, Refusal(service, err)
		}
		return encode(output)
	}
}

// Decode reads the params of an operation. The error is a
// [*resume.ServiceError].
func Decode(service string, params []byte, input any) error {
	if err := decode(params, input); err != nil {
		return invalid(service, err.Error())
	}
	return nil
}

// decode refuses members that the operation does not have: ignored, they would
// make another job than the one that was meant.
func decode(params []byte, input any) error {
	if len(params) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(params))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(input)
	if err == nil && decoder.More() {
		return errors.New("the params are more than one JSON value; allowed: one object")
	}
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case err == nil:
		return nil
	case ok && wrong.Field == "":
		return fmt.Errorf("the params are a JSON %s; allowed: an object", wrong.Value)
	case ok:
		return fmt.Errorf("params member %s is a JSON %s; the service wants %s", wrong.Field, wrong.Value, wanted(wrong.Type.String()))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the params are not whole JSON")
	}
	if member, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
		return fmt.Errorf("the params have a member %s, which this operation of the service does not know", member)
	}
	return fmt.Errorf("the params: %w", err)
}

// wanted is what people call a type of Go.
func wanted(goType string) string {
	switch {
	case strings.HasPrefix(goType, "[]"):
		return "an array"
	case strings.HasPrefix(goType, "int"), strings.HasPrefix(goType, "float"):
		return "a number"
	case strings.HasPrefix(goType, "map["):
		return "an object"
	case goType == "bool":
		return "true or false"
	case goType == "string":
		return "a text"
	}
	return "something else"
}

// encode leaves out what the client tells of the request.
func encode(output any) ([]byte, error) {
	text, err := json.Marshal(output)
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, err
	}
	delete(members, "ResultMetadata")
	return json.Marshal(members)
}

// errorInvalid stands behind the service's name in the error for params that
// never got as far as the service.
const errorInvalid = "InvalidArgument"

func invalid(service, what string) error {
	return &resume.ServiceError{Name: service + "." + errorInvalid, Message: what}
}

// queryPrefix is before the codes of SQS, which are those of its older protocol.
const queryPrefix = "AWS.SimpleQueueService."

// Refusal is what the service answered, a [*resume.ServiceError], or an error that leaves open whether
// anything happened.
func Refusal(service string, err error) error {
	if wrong, ok := errors.AsType[smithy.InvalidParamsError](err); ok {
		return invalid(service, "the params: "+oneLine(wrong.Errs()))
	}
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return err
	}
	return &resume.ServiceError{
		Name: service + "." + strings.TrimPrefix(api.ErrorCode(), queryPrefix), Message: api.ErrorMessage(),
		Again: throttled.IsErrorThrottle(err).Bool() || failedInside(err),
	}
}

func oneLine(problems []error) string {
	texts := make([]string, len(problems))
	for i, problem := range problems {
		texts[i] = strings.TrimSuffix(problem.Error(), ".")
	}
	return strings.Join(texts, "; ")
}

var throttled = retry.ThrottleErrorCode{Codes: retry.DefaultThrottleErrorCodes}

func failedInside(err error) bool {
	response, ok := errors.AsType[*smithyhttp.ResponseError](err)
	return ok && (response.HTTPStatusCode() >= http.StatusInternalServerError || response.HTTPStatusCode() == http.StatusTooManyRequests)
}

// unlessArrived repeats a call that was throttled, or whose connection did not
// come about.
func unlessArrived() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.Retryables = []retry.IsErrorRetryable{
			retry.RetryableErrorCode{Codes: retry.DefaultThrottleErrorCodes}, retry.IsErrorRetryableFunc(neverArrived),
		}
		o.MaxBackoff = time.Second
	})
}

func neverArrived(err error) aws.Ternary {
	dialing, ok := errors.AsType[*net.OpError](err)
	return aws.BoolTernary(ok && dialing.Op == "dial")
}
