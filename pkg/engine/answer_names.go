package engine

import (
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
	ErrorUnknown          = token.ErrorUnknown
)

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
