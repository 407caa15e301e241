package target

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// holderPath is where the holder of a store says what it is.
const holderPath = "/holder"

// Holder is the process that holds a store.
type Holder struct {
	Kind         string `json:"kind"`         // "dev", "run", or "" for this process
	CallbackBase string `json:"callbackBase"` // where callbacks arrive
}

// Holder returns what the process that holds the store is.
func (c *Client) Holder(ctx context.Context) (h Holder, err error) {
	return h, c.Do(ctx, http.MethodGet, holderPath, nil, &h)
}

// EventResult says what became of a job event.
type EventResult struct {
	Result string `json:"result"` // accepted or ignored
}

// The results.
const (
	EventAccepted = "accepted"
	EventIgnored  = "ignored"
)

// EventPath is where job events are posted.
const EventPath = "/job-events"

// SendEvent posts a job event to the process that works on a store.
func (c *Client) SendEvent(ctx context.Context, event []byte) (result EventResult, err error) {
	return result, c.Do(ctx, http.MethodPost, EventPath, event, &result)
}

// maxEvent is the largest job event: EventBridge's limit of one.
const maxEvent = 1 << 20

// Handler returns what the holder of a store serves to this machine: the management API, job events, and
// what the holder is, "dev" or "run".
func Handler(system *local.System, lists Lists, log *slog.Logger, holder string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", API(system, lists))
	mux.Handle("GET "+holderPath, Responding(http.StatusOK, Holder{holder, system.CallbackBase()}))
	mux.HandleFunc("POST "+EventPath, func(w http.ResponseWriter, r *http.Request) {
		status, result := acceptEvent(r, system, log)
		Responding(status, result).ServeHTTP(w, r)
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

func acceptEvent(r *http.Request, system *local.System, log *slog.Logger) (int, any) {
	event, err := resume.ReadBody(r.Body, r.ContentLength, maxEvent)
	if err != nil {
		return http.StatusRequestEntityTooLarge, rest.Error{Code: engine.CodeInvalid, Message: err.Error()}
	}
	err = system.Observe(r.Context(), event)
	var service *resume.ServiceError
	switch {
	case err == nil:
		return http.StatusOK, EventResult{EventAccepted}
	case errors.Is(err, jobs.ErrNoEnd):
		return http.StatusOK, EventResult{EventIgnored}
	case errors.Is(err, resume.ErrUnusableEvent):
		return http.StatusBadRequest, rest.Error{Code: engine.CodeInvalid, Message: err.Error()}
	case errors.As(err, &service):
		return http.StatusBadGateway, rest.Error{Code: engine.CodeInternal, Message: "the service that was to confirm it answered " + service.Error()}
	}
	log.ErrorContext(r.Context(), "job event failed", "error", token.MaskAll(err.Error()))
	return http.StatusInternalServerError, rest.Error{Code: engine.CodeInternal, Message: "something inside failed; see the log"}
}

// A listener serves so many connections at once, as the operating system allows.
const fewConnections, mostConnections = 256, 1 << 14

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
	server := newServer(atWork{handler, make(chan struct{}, maxAtWork)})
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = server.Serve(netutil.LimitListener(listener, maxConnections()))
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
