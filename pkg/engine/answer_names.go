package engine

import "strings"

// Error names of calls, as the vendor's or, where those are unknown, ours.
const (
	// ErrorFunctionNotFound: there is no such function.
	ErrorFunctionNotFound = "FC.FunctionNotFound"
	// ErrorAccessDenied: the caller may not call it.
	ErrorAccessDenied = "FC.AccessDenied"
	// ErrorInvalidArgument: the function's service did not take what it was
	// called with.
	ErrorInvalidArgument = "FC.InvalidArgument"
	// ErrorExhausted: there was no room for the call, which was not made.
	ErrorExhausted = "FC.ResourceExhausted"
	// ErrorThrottled: the service of the function, or what it needs, has more to
	// do than it can.
	ErrorThrottled = "FC.ResourceThrottled"
	// ErrorServer: the service of the function failed.
	ErrorServer = "FC.InternalServerError"
	// ErrorUnknown: nobody knows what became of the call.
	ErrorUnknown = "FC.Unknown"
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
