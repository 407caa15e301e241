package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// httpFunction is a URL that is called in place of a function: a POST with the step's input as
// JSON; the response has the result.
type httpFunction struct {
	url    *url.URL
	shown  string // the URL in messages
	client *http.Client
	limit  time.Duration // of a call
	most   int           // bytes of a response
}

func parseHTTP(definition string) (runner, error) {
	parsed, err := url.Parse(definition)
	switch {
	case err != nil: // which quotes the URL
		return nil, fmt.Errorf("%q is not a URL; allowed: %s", Hidden(definition), allowedDefinitions)
	case parsed.Hostname() == "":
		return nil, fmt.Errorf("%q names no host; allowed: %s", Hidden(definition), allowedDefinitions)
	case parsed.Fragment != "":
		return nil, fmt.Errorf("%q has a fragment (#...), which no server sees; leave it out", Hidden(definition))
	}
	return &httpFunction{url: parsed, shown: hiddenURL(parsed), client: newHTTPClient(), limit: callLimit, most: engine.LongestReply}, nil
}

// newHTTPClient returns a client that keeps connections between calls. It keeps them for less time
// than servers do, so that a call rarely meets a connection that its server is closing: that call
// would fail with an unknown result.
func newHTTPClient() *http.Client {
	const patience = 10 * time.Second
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{Timeout: patience}).DialContext,
			TLSHandshakeTimeout:    patience,
			MaxIdleConnsPerHost:    DefaultCalls,
			IdleConnTimeout:        time.Second,
			MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: checkRedirect,
	}
}

// keyHeader is the header of a call's idempotency key. It is not in the canonical form of net/http,
// which would otherwise repeat a call when its kept connection breaks. A request is sent again if
// no byte of it was sent.
const keyHeader = "idempotency-key"

// mostRedirects is how many redirects of one call are followed.
const mostRedirects = 5

// checkRedirect follows a redirect that repeats the call (307, 308) at the same host. At another
// host, or as a GET, it would be another call.
func checkRedirect(to *http.Request, before []*http.Request) error {
	first := before[0]
	if to.Method != first.Method || to.URL.Host != first.URL.Host || to.URL.Scheme != first.URL.Scheme || len(before) > mostRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

// timeLimit returns the limit of calls that workers await, though a call may take longer: a worker
// lives as long as its call, and keeps no other work waiting.
func (f *httpFunction) timeLimit(context.Context) time.Duration { return machine.DefaultDirect }

// call posts the input, with the instant now as Waitless-Now, because the clock may be virtual.
func (f *httpFunction) call(ctx context.Context, call machine.Call, now time.Time) (token.Outcome, error) {
	limit := limitOf(f.limit, call)
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	request, err := f.request(limited, call, now)
	if err != nil {
		return token.Failure(token.ErrorFunction, f.shown+": "+withoutURL(err)), nil
	}
	outcome, err := f.do(call, request)
	deadline, _ := limited.Deadline()
	switch {
	case err == nil:
		return outcome, nil
	case ctx.Err() != nil:
		return token.Outcome{}, ctx.Err()
	case limited.Err() != nil || !time.Now().Before(deadline): // a dialer ends a moment before the context does
		return tooSlow(call, f.shown, limit), nil
	case engine.NeverConnected(err):
		return token.Failure(token.ErrorUnreachable, fmt.Sprintf("%s: could not connect; the call was not made: %s", f.shown, withoutURL(err))), nil
	}
	return token.Failure(token.ErrorUnknown, fmt.Sprintf("%s: the call broke off, and the function may have run: %s", f.shown, withoutURL(err))), nil
}

// Values of headers that all requests share.
var contentJSON, userAgent = []string{"application/json"}, []string{"waitless"}

func (f *httpFunction) request(ctx context.Context, call machine.Call, now time.Time) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "", strings.NewReader(call.Input.JSON()))
	if err != nil {
		return nil, err
	}
	request.URL, request.Host = f.url, f.url.Host // the URL was parsed before
	values := [...]string{now.Format(time.RFC3339Nano), call.Flow.Name, call.Execution, call.Step, call.Key()}
	request.Header = http.Header{
		"Content-Type": contentJSON, "Accept": contentJSON, "User-Agent": userAgent,
		"Waitless-Now":       values[0:1:1],
		"Waitless-Flow":      values[1:2:2],
		"Waitless-Execution": values[2:3:3],
		"Waitless-Step":      values[3:4:4],
		keyHeader:            values[4:5:5],
	}
	if call.Iteration != "" {
		request.Header.Set("Waitless-Iteration", call.Iteration)
	}
	if call.Traceparent != "" {
		request.Header.Set("Traceparent", call.Traceparent)
	}
	if call.Tracestate != "" {
		request.Header.Set("Tracestate", call.Tracestate)
	}
	return request, nil
}

// do makes the request and reads the response up to its limit.
func (f *httpFunction) do(call machine.Call, request *http.Request) (token.Outcome, error) {
	response, err := f.client.Do(request)
	if err != nil {
		return token.Outcome{}, err
	}
	defer response.Body.Close() //nolint:errcheck // the body was read
	if response.ContentLength > int64(f.most) {
		return engine.ReplyTooLong(call, f.shown, f.most), nil
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, int64(f.most)+1))
	switch {
	case err != nil:
		return token.Outcome{}, err
	case len(body) > f.most:
		return engine.ReplyTooLong(call, f.shown, f.most), nil
	}
	return f.outcome(response, body), nil
}

func (f *httpFunction) outcome(response *http.Response, body []byte) token.Outcome {
	status := response.StatusCode
	if status >= http.StatusOK && status < http.StatusMultipleChoices {
		return engine.ParseReply(body, f.shown)
	}
	if outcome, ok := ownError(body, f.shown); ok {
		return outcome
	}
	cause := fmt.Sprintf("%s responded with %s", f.shown, response.Status)
	if location, err := response.Location(); err == nil {
		cause += fmt.Sprintf(" to %s; a redirect is followed with 307 or 308 at the same host only, and %d times at most: write the new URL",
			hiddenURL(location), mostRedirects)
	}
	if len(bytes.TrimSpace(body)) > 0 {
		cause += ": " + engine.Excerpt(body)
	}
	return token.Failure(engine.StatusError(status, http.StatusText(status)), cause)
}

// withoutURL returns the text of an error of net/http without its URL, which may have secrets.
func withoutURL(err error) string {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	if strings.HasPrefix(err.Error(), "failed to parse Location header") { // which it quotes
		return "the response redirects to an invalid URL"
	}
	return err.Error()
}
