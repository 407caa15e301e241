package target

import (
	"container/list"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
)

// A listener has at most so many connections, as the operating system allows.
const fewConnections, mostConnections = 64, 1 << 14

// connections is a listener with a limit of open connections. A connection is idle from its begin,
// and after each response, until a handler has its next request. At the limit, a new connection
// closes the connection that has been idle for longest, so clients that connect and send nothing
// keep no others out. If no connection is idle, new ones queue.
type connections struct {
	net.Listener

	most int

	mu      sync.Mutex
	changed *sync.Cond // a connection was closed or became idle, or the listener was closed
	closed  bool
	open    int
	waiting int       // connections with a request that waits
	idle    list.List // of *connection, the longest idle first
}

func limitConnections(listener net.Listener, most int) *connections {
	l := &connections{Listener: listener, most: most}
	l.changed = sync.NewCond(&l.mu)
	return l
}

// Accept implements [net.Listener].
func (l *connections) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.open >= l.most && !l.closed {
		if longest := l.idle.Front(); longest != nil {
			c, _ := longest.Value.(*connection)
			c.forget()
			_ = c.Conn.Close()
			continue
		}
		l.changed.Wait()
	}
	if l.closed {
		return nil, errors.Join(net.ErrClosed, conn.Close())
	}
	c := &connection{Conn: conn, of: l}
	c.idle = l.idle.PushBack(c)
	l.open++
	return c, nil
}

// Close implements [net.Listener].
func (l *connections) Close() error {
	l.mu.Lock()
	l.closed = true
	l.changed.Signal()
	l.mu.Unlock()
	return l.Listener.Close()
}

// connection is an open connection of a listener. The listener's mutex guards its fields.
type connection struct {
	net.Conn

	of        *connections
	idle      *list.Element // nil while it is not idle
	waits     bool          // its request waits
	forgotten bool          // it does not count any more
}

// Close implements [net.Conn].
func (c *connection) Close() error {
	c.of.mu.Lock()
	c.forget()
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// forget takes the connection out of the count of its listener.
func (c *connection) forget() {
	if c.forgotten {
		return
	}
	c.forgotten = true
	if c.idle != nil {
		c.of.idle.Remove(c.idle)
	}
	c.of.open--
	c.of.changed.Signal()
}

// begin notes that a handler has a request of the connection. It reports whether the connection is
// still open.
func (c *connection) begin() bool {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if c.forgotten {
		return false
	}
	if c.idle != nil {
		c.of.idle.Remove(c.idle)
		c.idle = nil
	}
	return true
}

// end notes that the handler has returned. The connection becomes idle once its response is sent.
// If the client has not sent its whole request, the server reads the rest before it responds, so
// the connection becomes idle at once.
func (c *connection) end(isWhole bool) {
	c.of.mu.Lock()
	if c.waits {
		c.waits = false
		c.of.waiting--
	}
	c.of.mu.Unlock()
	if !isWhole {
		c.becomeIdle()
	}
}

func (c *connection) becomeIdle() {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if !c.forgotten && c.idle == nil {
		c.idle = c.of.idle.PushBack(c)
		c.of.changed.Signal()
	}
}

// noteState implements ConnState of [http.Server] for connections.
func noteState(conn net.Conn, state http.ConnState) {
	if c, ok := conn.(*connection); ok && state == http.StateIdle {
		c.becomeIdle()
	}
}

// body is the body of a request, which notes its end.
type body struct {
	io.ReadCloser

	isWhole bool
}

// Read implements [io.Reader].
func (b *body) Read(p []byte) (n int, err error) {
	n, err = b.ReadCloser.Read(p)
	b.isWhole = b.isWhole || errors.Is(err, io.EOF)
	return n, err
}

type connectionKey struct{}

// withConnection implements ConnContext of [http.Server] for connections.
func withConnection(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, conn)
}

// notingRequests returns a handler that keeps the connections with a request in next from being
// idle.
func notingRequests(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connectionKey{}).(*connection); ok {
			if !c.begin() { // the client would not receive a response
				return
			}
			sent := &body{r.Body, r.ContentLength == 0}
			r.Body = sent
			defer func() { c.end(sent.isWhole) }()
		}
		next.ServeHTTP(w, r)
	})
}

// MayWait reports whether a request may wait for an event or an end. Requests that wait have at
// most half of the connections of a listener. A request counts once, from its first call until its
// handler returns.
func MayWait(ctx context.Context) bool {
	c, ok := ctx.Value(connectionKey{}).(*connection)
	if !ok {
		return true
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if !c.waits && c.of.waiting < c.of.most/2 {
		c.waits = true
		c.of.waiting++
	}
	return c.waits
}
