package target

import (
	"context"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"
)

// maxConnections is how many connections a listener serves at once. The operating system queues the others.
const maxConnections = 256

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
	server := newServer(handler)
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = server.Serve(netutil.LimitListener(listener, maxConnections))
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
