package cli

import (
	"context"
	"net/http"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

// Requests to a stack that change nothing are tried again for about half a
// minute: to follow an execution takes many, and a gateway fails now and then.
const (
	stackTries     = 6 // more than the first one
	stackPause     = 500 * time.Millisecond
	stackLongPause = 8 * time.Second
)

// patient is a client that tries again what failed for a while.
func (c Command) patient(transport http.RoundTripper) *http.Client {
	client := retryablehttp.NewClient()
	client.HTTPClient = &http.Client{Transport: transport, Timeout: requestLimit}
	client.Logger = nil
	client.RetryMax, client.RetryWaitMin, client.RetryWaitMax = stackTries, stackPause, stackLongPause
	if c.pause != nil {
		client.Backoff = func(_, _ time.Duration, try int, _ *http.Response) time.Duration { return c.pause(try) }
	}
	client.ErrorHandler = retryablehttp.PassthroughErrorHandler // the last answer is what is shown
	client.CheckRetry = func(ctx context.Context, response *http.Response, err error) (bool, error) {
		if method, ok := ctx.Value(methodKey{}).(string); !ok || method != http.MethodGet {
			return false, err
		}
		return retryablehttp.DefaultRetryPolicy(ctx, response, err)
	}
	return &http.Client{Transport: labelled{&retryablehttp.RoundTripper{Client: client}}}
}

// labelled keeps the method of a request where [retryablehttp.CheckRetry] finds it,
// when there is no answer.
type labelled struct{ next http.RoundTripper }

type methodKey struct{}

// RoundTrip implements [http.RoundTripper].
func (t labelled) RoundTrip(r *http.Request) (*http.Response, error) {
	return t.next.RoundTrip(r.WithContext(context.WithValue(r.Context(), methodKey{}, r.Method)))
}
