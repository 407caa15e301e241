package tasks

import (
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
	client = lambda.NewFromConfig(config, func(o *lambda.Options) { o.HTTPClient = &http.Client{Transport: transport} })
	return client, transport.CloseIdleConnections
}
