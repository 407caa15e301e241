// Package gateway serves the events of API Gateway's HTTP APIs (payload format
// 2.0) with an [http.Handler]. It links no client of a service.
//
// An event is that of a function URL, but for the stage in its path, and the
// answer goes back whole; so lambdaurl of aws-lambda-go, which functions link
// anyway, does the translation. aws-lambda-go-api-proxy would do it as well, and
// brings the modules of seven web frameworks into go.sum.
//
// This package may change between releases.
package gateway

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdaurl"
)

// Function answers an event.
type Function func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error)

// Serve makes a function of a handler.
func Serve(handler http.Handler) Function {
	serve := lambdaurl.Wrap(handler)
	return func(ctx context.Context, event events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		answer, err := serve(ctx, requestOf(event))
		if err != nil {
			return events.APIGatewayV2HTTPResponse{StatusCode: http.StatusBadRequest}, nil //nolint:nilerr // it quotes the path, in which a token may stand
		}
		body, err := io.ReadAll(answer.Body)
		return responseOf(answer, body), err
	}
}

// ErrOrigin says that an event is not a request of the API that a function is of:
// another principal invoked the function.
var ErrOrigin = errors.New("the event is not a request of this function's API")

// Only lets requests of the API with that id through to the function, and of
// them, if signed, only those whose caller IAM knows. It trusts the one who may
// invoke the function, and makes that it is not mistaken for the API.
func Only(api string, signed bool, function Function) Function {
	return func(ctx context.Context, event events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		caller := event.RequestContext.Authorizer
		if event.RequestContext.APIID != api || signed && (caller == nil || caller.IAM == nil || caller.IAM.UserARN == "") {
			return events.APIGatewayV2HTTPResponse{}, ErrOrigin
		}
		return function(ctx, event)
	}
}

func requestOf(event events.APIGatewayV2HTTPRequest) *events.LambdaFunctionURLRequest {
	request := &events.LambdaFunctionURLRequest{
		RawPath: pathOf(event), RawQueryString: event.RawQueryString, Headers: map[string]string{},
		Body: event.Body, IsBase64Encoded: event.IsBase64Encoded,
	}
	for key, value := range event.Headers {
		request.Headers[key] = value
	}
	if len(event.Cookies) > 0 {
		request.Headers["cookie"] = strings.Join(event.Cookies, "; ")
	}
	request.RequestContext.DomainName = event.RequestContext.DomainName
	request.RequestContext.HTTP.Method = event.RequestContext.HTTP.Method
	request.RequestContext.HTTP.SourceIP = event.RequestContext.HTTP.SourceIP
	return request
}

// pathOf is the path without the stage, escaped: the gateway may have taken
// escapes away, and what then looks like a query is none.
func pathOf(event events.APIGatewayV2HTTPRequest) string {
	raw := event.RawPath
	if stage := "/" + event.RequestContext.Stage; raw == stage || strings.HasPrefix(raw, stage+"/") {
		raw = strings.TrimPrefix(raw, stage)
	}
	path, err := url.PathUnescape(raw)
	if err != nil {
		path = raw
	}
	return "/" + strings.TrimPrefix((&url.URL{Path: path, RawPath: raw}).EscapedPath(), "/")
}

func responseOf(answer *events.LambdaFunctionURLStreamingResponse, body []byte) events.APIGatewayV2HTTPResponse {
	response := events.APIGatewayV2HTTPResponse{
		StatusCode: answer.StatusCode, Headers: answer.Headers, Cookies: answer.Cookies, Body: string(body),
	}
	if !utf8.Valid(body) {
		response.Body, response.IsBase64Encoded = base64.StdEncoding.EncodeToString(body), true
	}
	return response
}
