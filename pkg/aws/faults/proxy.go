package faults

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Fault is a kind of failure of a request.
type Fault int

// The faults.
const (
	// Overtake: another client makes the same call just before, so the service rejects a
	// conditional request.
	Overtake Fault = iota + 1
	// Conflict: the service rejects the request because of another one at the same time.
	Conflict
	// Throttle: the service rejects the request because there are too many.
	Throttle
	// Fail: the service responds with status 500, and does not carry the request out.
	Fail
	// Refuse: no connection is made.
	Refuse
	// Lose: the service carries the request out, and the connection breaks before the response.
	Lose
	// Hang: there is no response for longer than the caller waits.
	Hang
)

// A Proxy stands before AWS and injects faults into requests of its clients.
type Proxy struct {
	server    *httptest.Server
	target    *url.URL
	transport *http.Transport

	// Overtaking is the other client of Overtake.
	Overtaking func()
	// Hanging is called when a request hangs.
	Hanging func()

	hangs bool // a request will

	mu       sync.Mutex
	fault    Fault
	of       string // the operation
	left     int    // how many requests
	at       int    // the number of the request, if it is not of an operation
	requests []string
	carried  []string
}

// operationHeader names the operation of a request. It is added after the signature.
const operationHeader = "X-Waitless-Operation"

// NewProxy returns a proxy before the endpoint.
func NewProxy(tb testing.TB, endpoint string) *Proxy {
	tb.Helper()
	target, err := url.Parse(endpoint)
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{target: target, transport: &http.Transport{DisableKeepAlives: true}} // see Direct
	p.server = httptest.NewServer(p)
	p.server.Config.ErrorLog = log.New(io.Discard, "", 0) // connections that break are meant to
	tb.Cleanup(p.server.Close)
	return p
}

// Config returns the configuration of clients that send their requests through the proxy. They do
// not pause between two tries.
func (p *Proxy) Config(config aws.Config) aws.Config {
	config = config.Copy()
	config.BaseEndpoint = &p.server.URL
	config.Retryer = func() aws.Retryer { return retry.AddWithMaxBackoffDelay(retry.NewStandard(), time.Millisecond) }
	config.APIOptions = append(config.APIOptions, func(stack *middleware.Stack) error {
		return stack.Finalize.Add(middleware.FinalizeMiddlewareFunc("nameOperation", nameOperation), middleware.After)
	})
	config.HTTPClient = awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.DisableKeepAlives = true // each request dials
		t.DialContext = p.dial
	})
	return config
}

// Direct returns the configuration of clients that bypass the proxy. They open a connection for
// each request: if the emulator closed an idle connection, a response could be lost without an
// injected fault.
func Direct(config aws.Config) aws.Config {
	config = config.Copy()
	config.HTTPClient = awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) { t.DisableKeepAlives = true })
	return config
}

func nameOperation(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (
	middleware.FinalizeOutput, middleware.Metadata, error,
) {
	if r, ok := in.Request.(*smithyhttp.Request); ok {
		r.Header.Set(operationHeader, operationIn(ctx))
	}
	return next.HandleFinalize(ctx, in)
}

func operationIn(ctx context.Context) string {
	return awsmiddleware.GetServiceID(ctx) + "." + awsmiddleware.GetOperationName(ctx)
}

// ResponseLimit returns how long clients wait for a response. It is short if the response never
// comes.
func (p *Proxy) ResponseLimit() time.Duration {
	if p.hangs {
		return 300 * time.Millisecond
	}
	return time.Minute
}

// Inject injects the fault into the next n requests of the operation, and no others.
func (p *Proxy) Inject(fault Fault, operation string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault, p.of, p.left = fault, operation, n
}

// InjectAt injects the fault into the request with that number, counted from 1.
func (p *Proxy) InjectAt(fault Fault, number int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault, p.of, p.left, p.at = fault, "", 0, number
}

// Requests returns the operations that were requested since the last time, tries included.
func (p *Proxy) Requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	requests := p.requests
	p.requests = nil
	return requests
}

// Carried returns the operations that AWS carried out.
func (p *Proxy) Carried() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.carried...)
}

// take notes a request and returns its fault, 0 for none.
func (p *Proxy) take(operation string) Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, operation)
	if p.at > 0 && len(p.requests) == p.at {
		return p.fault
	}
	if p.left == 0 || operation != p.of {
		return 0
	}
	p.left--
	return p.fault
}

// dial refuses the connections of requests that it is to refuse.
func (p *Proxy) dial(ctx context.Context, network, address string) (net.Conn, error) {
	p.mu.Lock()
	refuses := p.fault == Refuse && p.left > 0 && operationIn(ctx) == p.of
	p.mu.Unlock()
	if refuses {
		p.take(operationIn(ctx))
		return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("connection refused")}
	}
	return (&net.Dialer{}).DialContext(ctx, network, address)
}

// ServeHTTP implements [http.Handler].
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	operation := r.Header.Get(operationHeader)
	r.Header.Del(operationHeader)
	if operation == "" { // a request without a client of the SDK
		operation = "HTTP"
	}
	switch fault := p.take(operation); fault {
	case Conflict, Throttle, Fail:
		respond(w, r, operation, fault)
	case Refuse:
		panic(http.ErrAbortHandler)
	case Hang:
		p.Hanging()
		<-r.Context().Done()
	case Lose:
		p.forward(httptest.NewRecorder(), r, operation)
		panic(http.ErrAbortHandler)
	case Overtake:
		p.Overtaking()
		fallthrough
	default:
		p.forward(w, r, operation)
	}
}

// forward sends the request on as it is: its signature has the host in it.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, operation string) {
	proxy := httputil.ReverseProxy{
		Transport: p.transport,
		Rewrite: func(request *httputil.ProxyRequest) {
			request.SetURL(p.target)
			request.Out.Host = request.In.Host
		},
		ModifyResponse: func(response *http.Response) error {
			if response.StatusCode < http.StatusMultipleChoices {
				p.mu.Lock()
				defer p.mu.Unlock()
				p.carried = append(p.carried, operation)
			}
			return nil
		},
	}
	proxy.ServeHTTP(w, r)
}

// An answer is the error of a service.
type answer struct {
	status int
	code   string
}

// conflicts are the errors of operations that reject a request because of another one.
var conflicts = map[string]answer{
	"DynamoDB.PutItem":            {http.StatusBadRequest, "TransactionConflictException"},
	"DynamoDB.UpdateItem":         {http.StatusBadRequest, "TransactionConflictException"},
	"DynamoDB.TransactWriteItems": {http.StatusBadRequest, "TransactionCanceledException"},
	"Lambda.Invoke":               {http.StatusConflict, "ResourceConflictException"},
	"S3.PutObject":                {http.StatusConflict, "OperationAborted"},
	"Scheduler.UpdateSchedule":    {http.StatusConflict, "ConflictException"},
	"Scheduler.DeleteSchedule":    {http.StatusConflict, "ConflictException"},
}

// throttles are the errors of services that get too many requests, where they are not a
// ThrottlingException with status 400.
var throttles = map[string]answer{
	"Batch":          {http.StatusTooManyRequests, "TooManyRequestsException"},
	"CloudFormation": {http.StatusBadRequest, "Throttling"},
	"DynamoDB":       {http.StatusBadRequest, "ProvisionedThroughputExceededException"},
	"HTTP":           {http.StatusTooManyRequests, "Throttled"},
	"Lambda":         {http.StatusTooManyRequests, "TooManyRequestsException"},
	"S3":             {http.StatusServiceUnavailable, "SlowDown"},
	"SNS":            {http.StatusTooManyRequests, "Throttled"},
	"SQS":            {http.StatusBadRequest, "RequestThrottled"},
	"STS":            {http.StatusBadRequest, "Throttling"},
	"Scheduler":      {http.StatusTooManyRequests, "ThrottlingException"},
	"Transcribe":     {http.StatusTooManyRequests, "LimitExceededException"},
}

// answerOf returns the error that a service responds with.
func answerOf(fault Fault, operation string) (answer, bool) {
	if fault == Conflict {
		a, ok := conflicts[operation]
		return a, ok
	}
	if fault == Throttle {
		service, _, _ := strings.Cut(operation, ".")
		return cmp.Or(throttles[service], answer{http.StatusBadRequest, "ThrottlingException"}), true
	}
	return answer{http.StatusInternalServerError, "InternalServerError"}, true
}

// respond writes the error in the protocol of the request.
func respond(w http.ResponseWriter, r *http.Request, operation string, fault Fault) {
	a, _ := answerOf(fault, operation)
	code := "<Error><Code>" + a.code + "</Code><Message>injected</Message></Error>"
	body := `{"__type":"` + a.code + `","message":"injected"}`
	switch {
	case strings.HasPrefix(operation, "S3."):
		body = code
	case strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded"):
		body = "<ErrorResponse>" + code + "<RequestId>1</RequestId></ErrorResponse>"
	case a.code == "TransactionCanceledException":
		body = `{"__type":"` + a.code + `","Message":"injected","CancellationReasons":[{"Code":"TransactionConflict"},{"Code":"None"}]}`
	}
	w.Header().Set("X-Amzn-Errortype", a.code)
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, body)
}
