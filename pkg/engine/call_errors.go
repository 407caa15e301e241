package engine

import (
	"errors"
	"net"
	"strings"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// NeverConnected reports whether a request failed before there was a connection
// to send it on: the host is unknown, does not respond, or refuses.
func NeverConnected(err error) bool {
	failed, ok := errors.AsType[*net.OpError](err)
	return ok && (failed.Op == "dial" || failed.Op == "proxyconnect")
}

// Ended returns the outcome of a call whose function did not end by itself: failure, or in a flow
// with Lambda's errors the one that Lambda has for it, such as "Runtime.ExitError".
func Ended(call machine.Call, lambdaError string, failure token.Outcome) token.Outcome {
	if call.Values.LambdaErrors {
		return token.Thrown(lambdaError, failure.Cause)
	}
	return failure
}

// StatusError returns the error for an HTTP status that is not a success. text is the name of the
// status, such as "Conflict", for a status without an error of its own.
func StatusError(status int, text string) string {
	const serverErrors = 500
	switch status {
	case 400:
		return token.ErrorInvalidArgument
	case 401, 403:
		return token.ErrorAccessDenied
	case 404:
		return token.ErrorFunctionNotFound
	case 429:
		return token.ErrorExhausted
	case 503:
		return token.ErrorThrottled
	}
	name := strings.NewReplacer(" ", "", "-", "", "'", "").Replace(text)
	if status >= serverErrors || name == "" {
		return token.ErrorServer
	}
	return "FC." + name
}
