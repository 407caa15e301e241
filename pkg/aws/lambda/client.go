package lambda

import (
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
)

// NewClient is a client of Lambda for a process that Lambda freezes between two
// invocations. What stood idle meanwhile may be dead, and a call on such a
// connection fails without anybody knowing whether it arrived, so it must not be
// repeated. Fresh closes those connections; an invocation begins with it.
func NewClient(config aws.Config) (client *lambda.Client, fresh func()) {
	transport, _ := http.DefaultTransport.(*http.Transport)
	transport = transport.Clone()
	client = lambda.NewFromConfig(config, func(o *lambda.Options) { o.HTTPClient = Whole(&http.Client{Transport: transport}) })
	return client, transport.CloseIdleConnections
}

// Whole is a client that gets the whole answer, however early it comes. The SDK
// closes a request's body once the answer has begun, and a body with WriteTo then
// ends with an error: net/http, which looks for more of it, breaks the connection
// off. Without WriteTo such a body just ends.
func Whole(client aws.HTTPClient) aws.HTTPClient { return whole{client} }

type whole struct{ next aws.HTTPClient }

// Do implements [aws.HTTPClient].
func (c whole) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = struct{ io.ReadCloser }{r.Body}
	}
	return c.next.Do(r)
}
