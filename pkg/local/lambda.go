package local

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// Lambdas finds Lambda functions, for [Functions.With].
type Lambdas interface {
	// Lambda returns the function with the name or ARN, with or without a qualifier, at an endpoint
	// with Lambda's API, or on AWS if endpoint is empty.
	Lambda(name, endpoint string) Function
}

// Function is a Lambda function.
type Function interface {
	// Call is [engine.Caller.Call].
	Call(ctx context.Context, call machine.Call) (token.Outcome, error)

	// TimeLimit returns the function's time limit, 0 if it is unknown.
	TimeLimit(ctx context.Context) (time.Duration, error)
}

// lambdaFunction is a Lambda function that is called in place of a function of a flow.
type lambdaFunction struct {
	name, endpoint string
	function       Function // nil until [Functions.With] sets it
}

var lambdaName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(arn:[^:@\s]+:lambda:[a-z0-9-]+:[0-9]{12}:function:)?[A-Za-z0-9_-]{1,64}(:[A-Za-z0-9$_-]{1,128})?$`)
})

func parseLambda(definition string) (runner, error) {
	name, endpoint, hasEndpoint := strings.Cut(strings.TrimPrefix(definition, "lambda:"), "@")
	if !lambdaName().MatchString(name) {
		return nil, fmt.Errorf("%q names no Lambda function; allowed: lambda:NAME, lambda:NAME:QUALIFIER or lambda:ARN, and @http://HOST:PORT behind it",
			Hidden(definition))
	}
	at, err := url.Parse(endpoint)
	isURL := err == nil && (at.Scheme == "http" || at.Scheme == "https") && at.Hostname() != ""
	if hasEndpoint && (!isURL || at.User != nil || strings.ContainsAny(endpoint, "?#")) {
		return nil, fmt.Errorf("%q names no endpoint; allowed: lambda:%s@http://HOST:PORT, without a user and a query", Hidden(definition), name)
	}
	return &lambdaFunction{name: name, endpoint: endpoint}, nil
}

// timeLimit returns the function's own limit, or the longest of Lambda if it is unknown or must not
// be read.
func (f *lambdaFunction) timeLimit(ctx context.Context) time.Duration {
	if f.function == nil {
		return callLimit
	}
	if limit, err := f.function.TimeLimit(ctx); err == nil && limit > 0 {
		return limit
	}
	return callLimit
}

func (f *lambdaFunction) call(ctx context.Context, call machine.Call, _ time.Time) (token.Outcome, error) {
	if f.function == nil {
		return token.Failure(token.ErrorFunctionNotFound, fmt.Sprintf("step %s: no client for Lambda function %s", call.Step, f.name)), nil
	}
	return f.function.Call(ctx, call)
}
