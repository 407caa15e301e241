package resume

import (
	"context"
	"errors"
	"strings"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/token"
)

// Services starts and describes jobs where they run. An error that the service
// answered is a [*ServiceError]; after any other nobody knows.
type Services interface {
	// Start makes the call that starts a job of that kind and answers what the
	// service answered, as JSON.
	Start(ctx context.Context, kind jobs.Kind, params []byte) ([]byte, error)

	// Describe makes the call that describes one.
	Describe(ctx context.Context, kind jobs.Kind, params []byte) ([]byte, error)
}

// ServiceError is what a service answered instead: its error code and message.
type ServiceError struct {
	// Name is the service and the code: "batch.ClientException".
	Name string
	// Message is the service's own text.
	Message string
	// Again: the same call may succeed later (throttled, service unavailable).
	Again bool
}

func (e *ServiceError) Error() string { return e.Name + ": " + e.Message }

// code is the service's own error code.
func (e *ServiceError) code() string {
	_, code, _ := strings.Cut(e.Name, ".")
	return code
}

// masked is the error without the tokens that a service's text may quote from
// the params.
func masked(err error) error {
	refused, ok := errors.AsType[*ServiceError](err)
	if !ok || token.MaskAll(refused.Message) == refused.Message {
		return err
	}
	return &ServiceError{Name: refused.Name, Message: token.MaskAll(refused.Message), Again: refused.Again}
}
