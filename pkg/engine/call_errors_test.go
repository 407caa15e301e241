package engine_test

import (
	"net/http"
	"testing"

	"github.com/waitless/waitless/pkg/engine"
)

func TestStatusError(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{
		301: "FC.MovedPermanently", 302: "FC.Found", 307: "FC.TemporaryRedirect",
		400: "FC.InvalidArgument", 401: "FC.AccessDenied", 403: "FC.AccessDenied", 404: "FC.FunctionNotFound",
		409: "FC.Conflict", 413: "FC.RequestEntityTooLarge", 418: "FC.Imateapot", 422: "FC.UnprocessableEntity", 429: "FC.ResourceExhausted",
		500: "FC.InternalServerError", 502: "FC.InternalServerError", 503: "FC.ResourceThrottled", 504: "FC.InternalServerError",
		599: "FC.InternalServerError", 499: "FC.InternalServerError",
	} {
		if got := engine.StatusError(status, http.StatusText(status)); got != want {
			t.Errorf("%d is %s, want %s", status, got, want)
		}
	}
}
