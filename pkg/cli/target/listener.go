package target

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
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

// limited is a listener with a limit of open connections.
type limited struct {
	net.Listener

	room   chan struct{}
	closed chan struct{}
	once   sync.Once
}

func limit(listener net.Listener, connections int) net.Listener {
	return &limited{Listener: listener, room: make(chan struct{}, connections), closed: make(chan struct{})}
}

// Accept implements [net.Listener].
func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.room <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.room
		return nil, err
	}
	return &limitedConn{Conn: conn, leave: sync.OnceFunc(func() { <-l.room })}, nil
}

// Close implements [net.Listener].
func (l *limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type limitedConn struct {
	net.Conn

	leave func()
}

// Close implements [net.Conn].
func (c *limitedConn) Close() error {
	err := c.Conn.Close()
	c.leave()
	return err
}

// Serve serves the handler until end is called.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler) (end func()) {
	server, listener := newServer(handler), limit(listener, maxConnections)
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
