package target

import (
	"context"
	"errors"
	"net/http"
	"syscall"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

// Requests to a stack that change nothing are tried again for about half a
// minute: to follow an execution takes many, and a gateway fails now and then.
// A refused connection is retried less often: it rarely recovers soon.
const (
	stackTries     = 6 // more than the first one
	stackPause     = 500 * time.Millisecond
	stackLongPause = 8 * time.Second
	refusedTries   = 2 // more than the first one
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
	client.CheckRetry = func(ctx context.Context, response *http.Response, err error) (bool, error) {
		asked, ok := ctx.Value(askedKey{}).(*asked)
		if !ok || asked.method != http.MethodGet {
			return false, err
		}
		if errors.Is(err, syscall.ECONNREFUSED) {
			asked.refused++
			if asked.refused > refusedTries {
				return false, err
			}
		}
		if response != nil && response.StatusCode == http.StatusInternalServerError {
			return false, nil // the function itself failed, and has said so in its log
		}
		return retryablehttp.DefaultRetryPolicy(ctx, response, err)
	}
	return clientWith(labelled{&retryablehttp.RoundTripper{Client: client}})
}

// clientWith is a client of a management API. It follows no redirect: tokens stand in paths, and
// a transport that signs would sign for the other host, too.
func clientWith(transport http.RoundTripper) *http.Client {
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// labelled keeps what is asked for where [retryablehttp.CheckRetry] finds it, when
// there is no answer.
type labelled struct{ next http.RoundTripper }

type askedKey struct{}

// asked is one request, with all its tries.
type asked struct {
	method  string
	refused int // connections
}

// RoundTrip implements [http.RoundTripper].
func (t labelled) RoundTrip(r *http.Request) (*http.Response, error) {
	return t.next.RoundTrip(r.WithContext(context.WithValue(r.Context(), askedKey{}, &asked{method: r.Method})))
}
