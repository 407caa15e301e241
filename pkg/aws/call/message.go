package call

import (
	"strings"

	"github.com/aws/smithy-go"
)

// Message returns the message of an error of AWS without secrets of the request. An error about a signature repeats the request, with its
// session token, or the header Authorization.
func Message(err smithy.APIError) string {
	message, _, _ := strings.Cut(err.ErrorMessage(), "The Canonical String")
	message, _, _ = strings.Cut(message, "Authorization=")
	return strings.TrimSpace(message)
}
