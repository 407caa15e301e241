// Package audit logs a line for each write of a management API: who, what, from where, with what
// result. A line has no payload and no whole token.
//
// This package is not an API and may change between releases; the members of the lines only grow.
package audit

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/waitless/waitless/pkg/token"
)

// Message is the text of the lines.
const Message = "audit"

// Entry is one write.
type Entry struct {
	// Caller is who sent the request: the ARN of a principal, the id of a key, or how this machine
	// was reached.
	Caller string
	// Source is the address that the request came from.
	Source string
	// Operation is the route or the action, and Object its target. Tokens in Object are masked.
	Operation, Object string
	Status            int // of the response
}

// Log writes the line of an entry.
func Log(ctx context.Context, log *slog.Logger, e Entry) {
	log.LogAttrs(ctx, slog.LevelInfo, Message,
		slog.String("caller", e.Caller), slog.String("source", e.Source), slog.String("operation", e.Operation),
		slog.String("object", token.MaskAll(e.Object)), slog.Int("status", e.Status))
}

// IsWrite reports whether an action changes something, by its name.
func IsWrite(action string) bool {
	reads := func(begin string) bool { return strings.HasPrefix(action, begin) }
	return action != "" && !slices.ContainsFunc([]string{"Describe", "Get", "List", "Validate"}, reads)
}

// nameKey is the key of the name that [Name] sets.
type nameKey struct{}

// Name names the object of a request to a [Handler], if its path does not. It has no effect
// elsewhere, nor with an empty name.
func Name(ctx context.Context, name string) {
	if noted, ok := ctx.Value(nameKey{}).(*string); ok && name != "" {
		*noted = " " + name
	}
}

// Handler logs the requests to the handler that are not GET or HEAD, rejected ones too. The
// operation is the pattern of the route.
func Handler(log *slog.Logger, caller string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			next.ServeHTTP(w, r)
			return
		}
		noted := &statusWriter{w, http.StatusOK}
		path, name := r.URL.Path, ""
		r = r.WithContext(context.WithValue(r.Context(), nameKey{}, &name))
		next.ServeHTTP(noted, r)
		operation := r.Pattern // which the handler's mux has set
		if operation == "" {
			operation = r.Method + " of an unknown path"
		}
		Log(r.Context(), log, Entry{Caller: caller, Source: r.RemoteAddr, Operation: operation, Object: path + name, Status: noted.status})
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

// Unwrap lets an [http.ResponseController] reach the deadlines of the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
