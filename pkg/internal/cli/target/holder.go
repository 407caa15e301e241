package target

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/release"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/schedule/cron"
)

// holderPath is the path at which the holder of a store describes itself.
const holderPath = "/holder"

// Holder is the process that holds a store.
type Holder struct {
	Kind         string `json:"kind"`         // "dev", "run", or "" for this process
	CallbackBase string `json:"callbackBase"` // where callbacks arrive
	Version      string `json:"version"`      // the release of the process
}

// Holder returns the description of the process that holds the store.
func (c *Client) Holder(ctx context.Context) (h Holder, err error) {
	return h, c.Do(ctx, http.MethodGet, holderPath, nil, &h)
}

// Handler returns the handler of a store's holder for this machine: the management API, job events,
// and the kind of the holder, "dev" or "run".
func Handler(system *local.System, lists Lists, schedules cron.Manager, log *slog.Logger, holder string) http.Handler {
	mux, events := http.NewServeMux(), &eventLog{system: system, stored: storedEvents(system), log: log}
	mux.Handle("/", apiWith(events, system, lists, schedules))
	mux.Handle("GET "+holderPath, Responding(http.StatusOK, Holder{holder, system.CallbackBase(), release.Version}))
	mux.HandleFunc("POST "+EventPath, func(w http.ResponseWriter, r *http.Request) {
		event, err := resume.ReadBody(r.Body, r.ContentLength, maxEvent)
		if err != nil {
			Responding(http.StatusRequestEntityTooLarge, rest.Error{Code: engine.CodeInvalid, Message: err.Error()}).ServeHTTP(w, r)
			return
		}
		result, refused := events.accept(r.Context(), event)
		if refused != nil {
			Responding(refused.Status, refused).ServeHTTP(w, r)
			return
		}
		Responding(http.StatusOK, result).ServeHTTP(w, r)
	})
	return mux
}

// Responding returns a handler with one response, in JSON: a [rest.Error] is shown by the commands.
func Responding(status int, body any) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body) // the caller is gone
	})
}

// newServer returns a server with time limits, so that a slow client cannot hold it up.
func newServer(handler http.Handler) *http.Server {
	const patience = 10 * time.Second
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: patience, ReadTimeout: 3 * patience, WriteTimeout: 6 * patience, IdleTimeout: 6 * patience,
		MaxHeaderBytes: 64 << 10,
	}
}

// Serve serves the handler until end is called.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler) (end func()) {
	return serve(ctx, limitConnections(listener, maxConnections()), handler)
}

func serve(ctx context.Context, listener *connections, handler http.Handler) (end func()) {
	server := newServer(notingRequests(atWork{handler, make(chan struct{}, maxAtWork)}))
	server.ConnContext, server.ConnState = withConnection, noteState
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = server.Serve(listener)
	}()
	return func() {
		const patience = 2 * time.Second
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			_ = server.Close() // slow clients lose the connection, as after a kill
		}
		<-closed // a listener that was opened just now may accept until then
	}
}
