package target

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

// Requests to a stack that change nothing are tried again for about half a minute: to follow an execution takes
// many, and a gateway fails now and then.
const (
	stackTries     = 6 // more than the first one
	stackPause     = 500 * time.Millisecond
	stackLongPause = 8 * time.Second
)

// patient is a client that tries again what failed for a while.
func (o Opener) patient(transport http.RoundTripper) *http.Client {
	client := retryablehttp.NewClient()
	client.HTTPClient = clientWith(transport)
	client.HTTPClient.Timeout = requestLimit
	client.Logger = nil
	client.RetryMax, client.RetryWaitMin, client.RetryWaitMax = stackTries, stackPause, stackLongPause
	if o.Pause != nil {
		client.Backoff = func(_, _ time.Duration, try int, _ *http.Response) time.Duration { return o.Pause(try) }
	}
	client.ErrorHandler = retryablehttp.PassthroughErrorHandler // the last answer is what is shown
	client.CheckRetry = mayRetry
	return clientWith(&retryablehttp.RoundTripper{Client: client})
}

// mayRetry implements [retryablehttp.CheckRetry]. Only reading is repeated. A refused connection rarely recovers soon.
func mayRetry(ctx context.Context, response *http.Response, err error) (bool, error) {
	var failed *url.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED), errors.As(err, &failed) && failed.Op != "Get":
		return false, err
	case response != nil && response.Request.Method != http.MethodGet:
		return false, nil
	case response != nil && response.StatusCode == http.StatusInternalServerError:
		return false, nil // the function itself failed, and has said so in its log
	}
	return retryablehttp.DefaultRetryPolicy(ctx, response, err)
}

// clientWith is a client of a management API. It follows no redirect: tokens stand in paths, and
// a transport that signs would sign for the other host, too.
func clientWith(transport http.RoundTripper) *http.Client {
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}
