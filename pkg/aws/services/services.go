package services

import (
	"context"
	"fmt"
	"maps"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"

	"github.com/waitless/waitless/pkg/aws/call"
	"github.com/waitless/waitless/pkg/aws/call/catalogue"
	"github.com/waitless/waitless/pkg/jobs"
)

// Services are the clients of all services that run jobs. It implements
// [resume.Services].
type Services struct {
	operations        Operations   // that were passed to New
	starts, describes *call.Client // of the operations in the catalogue
	kinds             jobs.Table
}

// Operations make calls, by service and name: "batch:SubmitJob".
type Operations map[string]Operation

// Operation makes one call: JSON in, JSON out. The service is its name in the
// errors.
type Operation func(ctx context.Context, service string, params []byte) ([]byte, error)

// New makes the clients, which have more operations than their own.
func New(config aws.Config, more ...Operations) *Services {
	s := &Services{starts: call.New(Starts(config)), describes: call.New(config), operations: Operations{}}
	for _, operations := range more {
		maps.Copy(s.operations, operations)
	}
	return s
}

// With has the services call the functions of these custom kinds, and returns them.
func (s *Services) With(kinds jobs.Table) *Services {
	s.kinds = kinds
	return s
}

// Starts is the configuration of clients that start something, which is repeated
// only when it did not arrive: not every service knows that it was asked the same
// before.
func Starts(config aws.Config) aws.Config {
	starts := config.Copy()
	starts.Retryer = unlessArrived
	if starts.HTTPClient == nil {
		starts.HTTPClient = awshttp.NewBuildableClient()
	}
	// Each request gets a connection of its own. A connection that was kept while the function was
	// frozen may be dead, and a start over it would not be repeated.
	if buildable, ok := starts.HTTPClient.(*awshttp.BuildableClient); ok {
		starts.HTTPClient = buildable.WithTransportOptions(func(t *http.Transport) { t.DisableKeepAlives = true })
	}
	return starts
}

// Start implements [resume.Services].
func (s *Services) Start(ctx context.Context, kind jobs.Kind, params []byte) ([]byte, error) {
	if kind.Custom() {
		return s.invoke(ctx, s.starts, kind, kind.CustomStart(params))
	}
	return s.call(ctx, s.starts, kind.Service, kind.StartOp, params)
}

// Describe implements [resume.Services].
func (s *Services) Describe(ctx context.Context, kind jobs.Kind, params []byte) ([]byte, error) {
	if kind.Custom() {
		return s.invoke(ctx, s.describes, kind, params)
	}
	return s.call(ctx, s.describes, kind.Service, kind.DescribeOp, params)
}

// Stop implements [resume.Services].
func (s *Services) Stop(ctx context.Context, kind jobs.Kind, params []byte) error {
	kind.DescribeOp = kind.StopOp
	_, err := s.Describe(ctx, kind, params)
	return err
}

// call calls an operation that was passed to New, or else an operation of the catalogue.
func (s *Services) call(ctx context.Context, client *call.Client, service, name string, params []byte) ([]byte, error) {
	made, ok := s.operations[service+":"+name]
	if !ok {
		row, err := catalogue.Lookup(service, name)
		if err != nil {
			return nil, fmt.Errorf("operation %s of service %s: this release has no client for it: %w", name, service, err)
		}
		made = through(client, row)
	}
	answer, err := made(ctx, service, params)
	if err != nil {
		return nil, fmt.Errorf("%s:%s: %w", service, name, err)
	}
	return answer, nil
}
