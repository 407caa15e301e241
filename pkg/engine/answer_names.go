package engine

import (
	"errors"
	"net"
	"strings"

	"github.com/waitless/waitless/pkg/token"
)

// The errors of a call, which package token declares.
const (
	ErrorFunctionNotFound = token.ErrorFunctionNotFound
	ErrorAccessDenied     = token.ErrorAccessDenied
	ErrorInvalidArgument  = token.ErrorInvalidArgument
	ErrorExhausted        = token.ErrorExhausted
	ErrorThrottled        = token.ErrorThrottled
	ErrorServer           = token.ErrorServer
	ErrorUnreachable      = token.ErrorUnreachable
	ErrorUnknown          = token.ErrorUnknown
)

// NeverConnected reports whether a request failed before there was a connection
// to send it on: the host is unknown, does not respond, or refuses.
func NeverConnected(err error) bool {
	failed, ok := errors.AsType[*net.OpError](err)
	return ok && (failed.Op == "dial" || failed.Op == "proxyconnect")
}

// StatusError is the error that an answer over HTTP stands for by its status,
// when nothing better is known of it: any status but a success. Text is what
// the caller calls a status that the vendor has no name for: "Conflict".
func StatusError(status int, text string) string {
	const serverErrors = 500
	switch status {
	case 400:
		return ErrorInvalidArgument
	case 401, 403:
		return ErrorAccessDenied
	case 404:
		return ErrorFunctionNotFound
	case 429:
		return ErrorExhausted
	case 503:
		return ErrorThrottled
	}
	name := strings.NewReplacer(" ", "", "-", "", "'", "").Replace(text)
	if status >= serverErrors || name == "" {
		return ErrorServer
	}
	return "FC." + name
}
