package target

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/local"
)

// stackInterval keeps the cost of following an execution on a stack small.
const stackInterval = time.Second

// requestLimit is how long a request may take: API Gateway gives up after 30 s.
const requestLimit = 35 * time.Second

// EndpointOutput is the output of a stack with the URL of its management API.
const EndpointOutput = "ApiEndpoint"

// openStack returns the API of a stack, to be called with the user's credentials.
func (o Opener) openStack(ctx context.Context, p Place) (*Client, error) {
	if c, err := o.openWithKey(p.Endpoint); c != nil || err != nil {
		return c, err
	}
	account, err := o.AWS(ctx, strings.HasPrefix(p.Endpoint, "http:"))
	if err != nil {
		return nil, err
	}
	endpoint := p.Endpoint
	if endpoint == "" {
		if endpoint, err = Output(ctx, account, p.Stack, EndpointOutput); err != nil {
			return nil, err
		}
	}
	transport, err := sign(ctx, account, endpoint, p)
	if err != nil {
		return nil, err
	}
	return o.clientAt(endpoint, transport, stackInterval), nil
}

// clientAt returns a client that retries failed requests for a while.
func (o Opener) clientAt(endpoint string, transport http.RoundTripper, interval time.Duration) *Client {
	client := retryablehttp.NewClient()
	client.HTTPClient = clientWith(transport)
	client.HTTPClient.Timeout = requestLimit
	client.Logger = nil
	client.RetryMax, client.RetryWaitMin, client.RetryWaitMax = stackTries, stackPause, stackLongPause
	if o.Pause != nil {
		client.Backoff = func(_, _ time.Duration, try int, _ *http.Response) time.Duration { return o.Pause(try) }
	}
	client.ErrorHandler = retryablehttp.PassthroughErrorHandler // the last response is shown
	client.CheckRetry = mayRetry
	patient := clientWith(&retryablehttp.RoundTripper{Client: client})
	return &Client{Client: &rest.Client{Base: strings.TrimSuffix(endpoint, "/"), HTTP: patient}, Interval: interval}
}

// openWithKey returns the management API of a `waitless dev --api`, or nil if the user has no key
// for one or the endpoint is on another machine.
func (o Opener) openWithKey(endpoint string) (*Client, error) {
	if endpoint == "" {
		return nil, nil
	}
	base, err := url.Parse(endpoint)
	if err != nil || !IsThisMachine(base.Hostname()) {
		return nil, nil //nolint:nilerr // the caller rejects the endpoint
	}
	key, err := o.Key()
	if key == "" || err != nil {
		return nil, err
	}
	c := o.clientAt(endpoint, withKey{key, plain()}, storeInterval)
	c.News = storeWait
	return c, nil
}

// withKey is a transport that sends the key of the management API.
type withKey struct {
	key  string
	next http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (t withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context()) // a transport must not change the request
	r.Header.Set("Authorization", "Bearer "+t.key)
	return t.next.RoundTrip(r)
}

// Once returns a client of the API of a stack that sends each request once. The endpoint is an
// output of the stack.
func Once(ctx context.Context, account AWS, stack, endpoint string) (*rest.Client, error) {
	transport, err := sign(ctx, account, endpoint, Place{Stack: stack})
	if err != nil {
		return nil, err
	}
	client := clientWith(transport)
	client.Timeout = requestLimit
	return &rest.Client{Base: strings.TrimSuffix(endpoint, "/"), HTTP: client}, nil
}

// isTrusted reports whether requests to the host may be signed although the user named only a
// stack.
func isTrusted(host string) bool { return IsGateway(host) || IsThisMachine(host) }

// IsThisMachine reports whether the host is a loopback address or a name below localhost.
func IsThisMachine(host string) bool {
	return IsLoopback(host) || strings.HasSuffix(host, ".localhost")
}

// CallbackOutput is the output of a stack with the URL of its callback API.
const CallbackOutput = "CallbackEndpoint"

// Output returns an output of a stack.
func Output(ctx context.Context, account AWS, stack, name string) (string, error) {
	if account.Region() == "" {
		return "", view.Usage("no region is configured for stack "+stack, TryRegion)
	}
	outputs, err := account.Outputs(ctx, stack)
	switch {
	case err != nil:
		if missing := account.Credentials(ctx); missing != nil {
			return "", noCredentials(missing)
		}
		return "", AWSError(err)
	case outputs == nil:
		return "", view.Usage(fmt.Sprintf("there is no stack %q in region %s", stack, account.Region()), TryRegion+", or --stack ANOTHER-NAME")
	case outputs[name] == "":
		why := fmt.Sprintf("stack %q has no output %s: it is not a stack of Waitless, or it is not deployed yet", stack, name)
		return "", view.Usage(why, "--stack ANOTHER-NAME")
	}
	return outputs[name], nil
}

func noCredentials(err error) error {
	return AWSError(fmt.Errorf("there are no AWS credentials: %w", err))
}

// IsLoopback reports whether the host is a loopback address.
func IsLoopback(host string) bool { return host == "localhost" || net.ParseIP(host).IsLoopback() }

// gatewayHost matches a host of API Gateway, which names its region. API Gateway rejects unsigned
// requests.
var gatewayHost = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\.execute-api\.([a-z0-9-]+)\.amazonaws\.com(\.cn)?$`)
})

// IsGateway reports whether the host is one of API Gateway.
func IsGateway(host string) bool { return gatewayHost().MatchString(host) }

// sign returns a transport that signs requests for the API at an endpoint of a place. If the place
// names only a stack, the stack must say that its API is at API Gateway. An API elsewhere than on
// AWS may do without a signature if there are no credentials.
func sign(ctx context.Context, account AWS, endpoint string, p Place) (http.RoundTripper, error) {
	base, err := url.Parse(endpoint)
	if err != nil || (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" || base.RawQuery != "" || base.User != nil {
		return nil, view.Usage(fmt.Sprintf("%q is no endpoint; allowed: the URL of an API", local.Hidden(endpoint)), "--endpoint https://HOST")
	}
	if p.Endpoint == "" && !isTrusted(base.Hostname()) {
		why := fmt.Sprintf("stack %q says that its API is at %s, which is no host of API Gateway", p.Stack, base.Host)
		return nil, view.Usage(why, "--endpoint "+base.String()+", if that is right")
	}
	region, gateway := account.Region(), gatewayHost().FindStringSubmatch(base.Hostname())
	if gateway != nil {
		region = gateway[1]
	}
	switch err := account.Credentials(ctx); {
	case err != nil && gateway != nil:
		return nil, noCredentials(err)
	case err != nil:
		return plain(), nil //nolint:nilerr // the API says whether it requires a signature
	case base.Scheme == "http" && !IsThisMachine(base.Hostname()):
		why := "http://" + base.Host + " is not encrypted, and signed requests and tokens would be sent there"
		return nil, view.Usage(why, "--endpoint https://"+base.Host)
	case region == "":
		return nil, view.Usage("no region is configured to sign requests to "+base.Host+" for", TryRegion)
	}
	return account.Sign(region, plain()), nil
}

// plain is a transport that finds the hosts below localhost, too: an emulator
// gives each API one. They are this machine (RFC 6761), which not every
// resolver knows.
func plain() http.RoundTripper {
	var dialer net.Dialer
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // the standard library documents the type
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if host, port, err := net.SplitHostPort(address); err == nil && strings.HasSuffix(host, ".localhost") {
			address = net.JoinHostPort("127.0.0.1", port)
		}
		return dialer.DialContext(ctx, network, address)
	}
	return transport
}

// Requests to a stack that change nothing are tried again for about half a minute: to follow an
// execution takes many, and a gateway fails now and then.
const (
	stackTries     = 6 // more than the first one
	stackPause     = 500 * time.Millisecond
	stackLongPause = 8 * time.Second
)

// mayRetry implements [retryablehttp.CheckRetry]. Only reading is repeated. A refused connection
// rarely recovers soon.
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
