package services

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/waitless/waitless/pkg/aws/call"
	"github.com/waitless/waitless/pkg/aws/call/catalogue"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
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
	service, name, _ := strings.Cut(r.Operation, ":")
	row, err := catalogue.Lookup(service, name)
	if err != nil {
		return nil, Invalid(err.Error())
	}
	response, err := a.client.CallOnce(ctx, row, r.Params, r.Once)
	if tooLong, ok := errors.AsType[*call.ResponseSizeError](err); ok {
		return nil, &resume.ServiceError{Name: machine.ErrorInvalidLocal, Message: tooLong.Error()}
	}
	if err != nil {
		return nil, Refusal(service, err)
	}
	return response.Body, nil
}

// CallAttrs returns the log attributes of a response: its size alone, because a response may have
// secrets.
func CallAttrs(response []byte) []slog.Attr { return []slog.Attr{slog.Int("bytes", len(response))} }
