package resume

import (
	"context"
	"errors"
	"strings"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/token"
)

// Services starts, describes and stops jobs where they run. If the service rejects a call, the
// error is a [*ServiceError]. After any other error, the result of the call is unknown.
type Services interface {
	// Start starts a job of the kind and returns the service's response, as JSON.
	Start(ctx context.Context, kind jobs.Kind, params []byte) ([]byte, error)

	// Describe describes a job of the kind and returns the service's response, as JSON.
	Describe(ctx context.Context, kind jobs.Kind, params []byte) ([]byte, error)

	// Stop stops a job of the kind. A repeated call has no other effect.
	Stop(ctx context.Context, kind jobs.Kind, params []byte) error
}

// ServiceError is the error code and the message of a service.
type ServiceError struct {
	// Name is the service and the code: "batch.ClientException".
	Name string
	// Message is the service's own text.
	Message string
	// Again: the same call may succeed later (throttled, service unavailable).
	Again bool
}

func (e *ServiceError) Error() string { return e.Name + ": " + e.Message }

// code returns the service's own error code.
func (e *ServiceError) code() string {
	_, code, _ := strings.Cut(e.Name, ".")
	return code
}

// masked returns the error without the tokens that the service's message may quote.
func masked(err error) error {
	refused, ok := errors.AsType[*ServiceError](err)
	if !ok || token.MaskAll(refused.Message) == refused.Message {
		return err
	}
	return &ServiceError{Name: refused.Name, Message: token.MaskAll(refused.Message), Again: refused.Again}
}
