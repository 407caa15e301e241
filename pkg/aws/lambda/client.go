package lambda

import (
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
)

// NewClient returns a client of Lambda for a process that Lambda freezes between two invocations.
// An idle connection may be dead after that. A call on it would fail, could have arrived, and must
// not be repeated. Call closeIdle at the start of each invocation.
func NewClient(config aws.Config) (client *lambda.Client, closeIdle func()) {
	transport, _ := http.DefaultTransport.(*http.Transport)
	transport = transport.Clone()
	client = lambda.NewFromConfig(config, func(o *lambda.Options) { o.HTTPClient = Whole(&http.Client{Transport: transport}) })
	return client, transport.CloseIdleConnections
}

// Whole returns a client that reads a whole response even if it begins before the request ends. The
// SDK closes the body of the request when the response begins. A body with WriteTo then ends with
// an error, and net/http closes the connection. A body without WriteTo just ends.
func Whole(client aws.HTTPClient) aws.HTTPClient { return whole{client} }

type whole struct{ next aws.HTTPClient }

// Do implements [aws.HTTPClient].
func (c whole) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = struct{ io.ReadCloser }{r.Body}
	}
	return c.next.Do(r)
}
