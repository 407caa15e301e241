// Package redact removes secrets from the messages of errors of AWS. It is apart from package call,
// for functions that do not link that client.
//
// This package is not an API and may change between releases.
package redact

import "strings"

// Message returns the message of an error of AWS without secrets of the request. An error about a
// signature repeats the request, with its session token, or the header Authorization.
func Message(message string) string {
	message, _, _ = strings.Cut(message, "The Canonical String")
	message, _, _ = strings.Cut(message, "Authorization=")
	return strings.TrimSpace(message)
}
