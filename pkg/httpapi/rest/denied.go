package rest

import (
	"errors"
	"regexp"
	"slices"
	"sync"
)

// notAuthorized finds the right and its resource in a message of AWS about a right that a role
// lacks.
var notAuthorized = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`is not authorized to perform: ([A-Za-z0-9-]+:[A-Za-z0-9]+)(?: on resource: "?([^\s"]+))?`)
})

// deniedRight returns the missing right in an error of AWS, with its resource. It returns no other
// part of the error. denied is false for an error of another kind.
func deniedRight(err error) (right string, denied bool) {
	refused, ok := errors.AsType[interface { // of every client of AWS
		error
		ErrorCode() string
		ErrorMessage() string
	}](err)
	if !ok || !slices.Contains([]string{"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"}, refused.ErrorCode()) {
		return "", false
	}
	found := notAuthorized().FindStringSubmatch(refused.ErrorMessage())
	switch {
	case found == nil:
		return "a right, which the log names", true
	case found[2] == "":
		return "the right " + found[1], true
	}
	return "the right " + found[1] + " on " + found[2], true
}
