package telemetry

import (
	"net/http"
	"strings"
)

// CountRefusals counts the requests that the handler of callbacks rejects, by the text of the
// status: "NotFound", "Conflict". The handler does not stream.
func CountRefusals(sink Sink, callbacks http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		noted := &statusWriter{ResponseWriter: w}
		callbacks.ServeHTTP(noted, r)
		if noted.status >= http.StatusBadRequest {
			sink.Add(CallbackRefusals, strings.ReplaceAll(http.StatusText(noted.status), " ", ""), 1)
		}
	})
}

// statusWriter notes the status of a response.
type statusWriter struct {
	http.ResponseWriter

	status int
}

// WriteHeader implements [http.ResponseWriter].
func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}
