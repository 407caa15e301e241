package function

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdaurl"
)

// HTTP handles a request of an HTTP API of API Gateway, with payload format 2.0.
type HTTP = func(ctx context.Context, request Request) (events.APIGatewayV2HTTPResponse, error)

// Request is a request of an HTTP API.
type Request = events.APIGatewayV2HTTPRequest

// Serve returns a function that serves each request with the handler for it.
//
// Lambdaurl of aws-lambda-go translates the request, which is one of a function URL but for the
// stage in its path. The package aws-lambda-go-api-proxy would do it too, and brings the modules of
// seven web frameworks into go.sum.
func Serve(handlerFor func(ctx context.Context, request *Request) (http.Handler, error)) HTTP {
	return func(ctx context.Context, request Request) (response events.APIGatewayV2HTTPResponse, err error) {
		handler, err := handlerFor(ctx, &request)
		if err != nil {
			return response, err
		}
		reply, err := lambdaurl.Wrap(handler)(ctx, requestOf(request))
		if err != nil { // it quotes the path, which may have a token
			return events.APIGatewayV2HTTPResponse{StatusCode: http.StatusBadRequest}, nil //nolint:nilerr // see above
		}
		body, err := io.ReadAll(reply.Body)
		if err != nil || escapedSize(body) <= MaxResponse {
			return responseOf(reply, body), err
		}
		return largeResponse(&request, reply, body)
	}
}

// ErrOrigin says that an event is not a request of the function's API: another principal invoked
// the function.
var ErrOrigin = errors.New("the event is not a request of this function's API")

// OnlyAPI rejects requests of any API but the one with the id api. If requireIAM is true, it also
// rejects requests without a caller that IAM identified. A principal that may invoke the function
// could forge both.
func OnlyAPI(api string, requireIAM bool, function HTTP) HTTP {
	return func(ctx context.Context, request Request) (events.APIGatewayV2HTTPResponse, error) {
		if request.RequestContext.APIID != api || requireIAM && Caller(&request) == "" {
			return events.APIGatewayV2HTTPResponse{}, ErrOrigin
		}
		return function(ctx, request)
	}
}

// Caller returns the ARN of the principal that IAM identified, empty for none.
func Caller(request *Request) string {
	if caller := request.RequestContext.Authorizer; caller != nil && caller.IAM != nil {
		return caller.IAM.UserARN
	}
	return ""
}

func requestOf(event Request) *events.LambdaFunctionURLRequest {
	raw := event.RawPath
	if stage := "/" + event.RequestContext.Stage; raw == stage || strings.HasPrefix(raw, stage+"/") {
		raw = strings.TrimPrefix(raw, stage)
	}
	path, err := url.PathUnescape(raw)
	if err != nil {
		path = raw
	}
	// API Gateway may have removed escapes, and a ? in a path is not a query.
	escaped := "/" + strings.TrimPrefix((&url.URL{Path: path, RawPath: raw}).EscapedPath(), "/")
	request := &events.LambdaFunctionURLRequest{
		RawPath: escaped, RawQueryString: event.RawQueryString, Headers: map[string]string{},
		Body: event.Body, IsBase64Encoded: event.IsBase64Encoded,
	}
	maps.Copy(request.Headers, event.Headers)
	if len(event.Cookies) > 0 {
		request.Headers["cookie"] = strings.Join(event.Cookies, "; ")
	}
	request.RequestContext.DomainName = event.RequestContext.DomainName
	request.RequestContext.HTTP.Method = event.RequestContext.HTTP.Method
	request.RequestContext.HTTP.SourceIP = event.RequestContext.HTTP.SourceIP
	return request
}

// MaxResponse is the most bytes of a response with the escapes of its body. Lambda accepts 6 MB
// with the headers.
const MaxResponse = 6<<20 - 64<<10

// escapedSize returns the size of the body as a text of JSON.
func escapedSize(body []byte) int {
	size := len(body)
	for _, c := range body {
		switch {
		case c == '"', c == '\\':
			size++
		case c < ' ':
			size += len(`\u0000`) - 1
		}
	}
	return size
}

// largeResponse returns a response compressed, or an error in its place if the client does not
// accept that, or if it is too large even so: Lambda would drop it, and the client would learn
// nothing.
func largeResponse(request *Request, reply *events.LambdaFunctionURLStreamingResponse, body []byte) (events.APIGatewayV2HTTPResponse, error) {
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	if _, err := writer.Write(body); err != nil {
		return events.APIGatewayV2HTTPResponse{}, err
	}
	if err := writer.Close(); err != nil {
		return events.APIGatewayV2HTTPResponse{}, err
	}
	if base64.StdEncoding.EncodedLen(packed.Len()) > MaxResponse || !acceptsGzip(request.Headers["accept-encoding"]) {
		return tooLarge(len(body))
	}
	response := responseOf(reply, packed.Bytes())
	response.Headers = map[string]string{"Content-Encoding": "gzip"}
	maps.Copy(response.Headers, reply.Headers)
	return response, nil
}

// acceptsGzip reports whether a header Accept-Encoding accepts gzip (RFC 9110, 12.5.3).
func acceptsGzip(header string) bool {
	named, others := -1.0, -1.0
	for part := range strings.SplitSeq(strings.ToLower(header), ",") {
		coding, parameter, _ := strings.Cut(part, ";")
		weight := 1.0
		if text, ok := strings.CutPrefix(strings.TrimSpace(parameter), "q="); ok {
			weight, _ = strconv.ParseFloat(strings.TrimSpace(text), 64) // a text that is not a number accepts nothing
		}
		switch strings.TrimSpace(coding) {
		case "gzip", "x-gzip":
			named = max(named, weight)
		case "*":
			others = weight
		}
	}
	return named > 0 || named < 0 && others > 0
}

// tooLarge returns an error in the form of both APIs.
func tooLarge(size int) (response events.APIGatewayV2HTTPResponse, err error) {
	message := fmt.Sprintf("the response has %d bytes and Lambda accepts %d; accept the encoding gzip, or keep less in the input and output "+
		"of the execution, and store large data elsewhere", size, MaxResponse)
	body, err := json.Marshal(map[string]string{"Code": "ResponseTooLarge", "Message": message, "code": "Invalid", "message": message})
	return events.APIGatewayV2HTTPResponse{
		StatusCode: http.StatusRequestEntityTooLarge, Body: string(body),
		Headers: map[string]string{"Content-Type": "application/json", "Cache-Control": "no-store"},
	}, err
}

func responseOf(reply *events.LambdaFunctionURLStreamingResponse, body []byte) events.APIGatewayV2HTTPResponse {
	response := events.APIGatewayV2HTTPResponse{
		StatusCode: reply.StatusCode, Headers: reply.Headers, Cookies: reply.Cookies, Body: string(body),
	}
	if !utf8.Valid(body) {
		response.Body, response.IsBase64Encoded = base64.StdEncoding.EncodeToString(body), true
	}
	return response
}
