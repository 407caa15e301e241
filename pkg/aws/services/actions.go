package services

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go"

	"github.com/waitless/waitless/pkg/aws/call"
	"github.com/waitless/waitless/pkg/aws/call/catalogue"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/objects"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/value"
)

// Actions calls the operations of the catalogue that flows name as actions.
type Actions struct{ client *call.Client }

// NewActions returns actions with that configuration. A call is repeated only when it did not
// arrive.
func NewActions(config aws.Config) *Actions { return &Actions{call.New(Starts(config))} }

// request is the input of a call.
type request struct {
	Operation string          `json:"operation"`
	Params    json.RawMessage `json:"params"`
	Once      string          `json:"idempotencyKey"`
}

// Call calls an operation: {"operation":"dynamodb:PutItem","params":{...},"idempotencyKey":K}. The
// output is the response of the service. Idempotency tokens of the operation that the params leave
// out are made of the key. An error of the service, or for an unknown operation or wrong params, is
// a [*resume.ServiceError]; after another error the call may have had its effect.
func (a *Actions) Call(ctx context.Context, input []byte) ([]byte, error) {
	var r request
	if err := json.Unmarshal(input, &r); err != nil {
		return nil, Invalid("the input is not an object with operation, params and idempotencyKey")
	}
	switch {
	case flow.IsIntegration(r.Operation):
		return a.integrate(ctx, r)
	case r.Operation == flow.Objects:
		return a.objects(ctx, r)
	}
	service, name, _ := strings.Cut(r.Operation, ":")
	row, err := catalogue.Lookup(service, name)
	if err != nil {
		return nil, Invalid(err.Error())
	}
	response, err := a.client.CallOnce(ctx, row, r.Params, r.Once)
	if err != nil {
		return nil, failed(withService(service), err)
	}
	return response.Body, nil
}

// objects reads or writes objects of S3 for a Map. An error that is not the service's is in the
// request or in an object.
func (a *Actions) objects(ctx context.Context, r request) ([]byte, error) {
	params, err := value.ParseJSON(r.Params)
	if err != nil {
		return nil, Invalid(err.Error())
	}
	result, err := objects.Call(ctx, a.client, params)
	if _, ok := errors.AsType[*smithy.OperationError](err); ok {
		return nil, failed(withService(flow.Objects), err)
	} else if err != nil {
		return nil, Invalid(err.Error())
	}
	return []byte(result.JSON()), nil
}

// integrate calls the operation of a machine. Params that were not sent are States.Runtime, as on
// Step Functions.
func (a *Actions) integrate(ctx context.Context, r request) ([]byte, error) {
	invalid := func(why string) error { return &resume.ServiceError{Name: "States.Runtime", Message: why} }
	i, err := catalogue.LookupIntegration(r.Operation)
	if err != nil {
		return nil, invalid(err.Error())
	}
	params, err := value.ParseJSON(r.Params)
	if err != nil {
		return nil, invalid(err.Error())
	}
	response, err := a.client.CallOnce(ctx, i.Operation, []byte(i.Params(params).JSON()), r.Once)
	if err != nil {
		err = failed(i.Error, err)
		if refused, ok := errors.AsType[*resume.ServiceError](err); ok && refused.Name == jobs.ErrorInvalid {
			return nil, invalid(refused.Message)
		}
		return nil, err
	}
	result, failure := i.Result(response)
	if failure != "" {
		return nil, &resume.ServiceError{Name: failure, Message: result}
	}
	return []byte(result), nil
}

// failed returns the error of a call. Named returns the name of an error of the service for its
// code.
func failed(named func(code string) string, err error) error {
	if tooLong, ok := errors.AsType[*call.ResponseSizeError](err); ok {
		return &resume.ServiceError{Name: machine.ErrorInvalidLocal, Message: tooLong.Error()}
	}
	return refusal(named, err)
}

// CallAttrs returns the log attributes of a response: its size alone, because a response may have
// secrets.
func CallAttrs(response []byte) []slog.Attr { return []slog.Attr{slog.Int("bytes", len(response))} }
