package target

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/store"
)

// bounded is a server with a limit of connections, which ends with the test.
type bounded struct {
	t       *testing.T
	of      *connections
	address string
	handled chan string   // receives the path of each request that waits
	release chan struct{} // lets those requests end
	end     func()
}

func serveBounded(t *testing.T, most int) *bounded {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	of := limitConnections(listener, most)
	b := &bounded{t: t, of: of, address: listener.Addr().String(), handled: make(chan string), release: make(chan struct{})}
	end := serve(t.Context(), of, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/now":
		case strings.HasPrefix(r.URL.Path, "/stream") && !MayWait(r.Context()):
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			b.handled <- r.URL.Path
			<-b.release
		}
	}))
	b.end = func() { end() }
	t.Cleanup(end)
	return b
}

// connect opens a connection and sends the text. Each use of the connection has a time limit.
func (b *bounded) connect(text string) net.Conn {
	b.t.Helper()
	conn, err := (&net.Dialer{}).DialContext(b.t.Context(), "tcp", b.address)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	b.send(conn, text)
	return conn
}

func (b *bounded) send(conn net.Conn, text string) {
	b.t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		b.t.Fatal(err)
	}
}

// status returns the status of the next response.
func (b *bounded) status(conn net.Conn) int {
	b.t.Helper()
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		b.t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// awaitIdle waits until the server knows so many idle connections: a client may read a response
// before it does.
func (b *bounded) awaitIdle(n int) {
	for isLess := true; isLess && b.t.Context().Err() == nil; runtime.Gosched() {
		b.of.mu.Lock()
		isLess = b.of.idle.Len() < n
		b.of.mu.Unlock()
	}
}

// wantClosed checks that the server closed a connection without a response.
func (b *bounded) wantClosed(conn net.Conn, what string) {
	b.t.Helper()
	n, err := conn.Read(make([]byte, 1))
	if n > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		b.t.Errorf("%s: the connection is open (%d bytes, %v); want it closed", what, n, err)
	}
}

func get(path string) string { return "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n" }

func TestNewConnectionClosesTheLongestIdle(t *testing.T) {
	t.Parallel()
	const most = 4
	for name, sent := range map[string]struct{ before, after string }{ // after makes before a request
		"nothing sent":        {"", get("/now")},
		"a part of a header":  {"GET /now HTTP/1.1\r\nHost:", " x\r\n\r\n"},
		"a response received": {get("/now"), get("/now")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := serveBounded(t, most)
			working := b.connect(get("/wait")) // the first, and not idle
			<-b.handled
			var idle []net.Conn
			for i := range most - 1 {
				conn := b.connect(sent.before)
				if sent.before == get("/now") {
					b.status(conn)
				}
				idle = append(idle, conn)
				b.awaitIdle(i + 1)
			}
			if got := b.status(b.connect(get("/now"))); got != http.StatusOK {
				t.Errorf("status %d at the limit", got)
			}
			b.wantClosed(idle[0], "the longest idle")
			for _, conn := range idle[1:] {
				b.send(conn, sent.after)
				if got := b.status(conn); got != http.StatusOK {
					t.Errorf("status %d of a connection that was idle for less", got)
				}
			}
			close(b.release)
			if got := b.status(working); got != http.StatusOK {
				t.Errorf("status %d of the request in a handler", got)
			}
		})
	}
}

// A server reads the body of a request that was handled without it, before it responds.
func TestOutstandingBodiesKeepNoConnectionOut(t *testing.T) {
	t.Parallel()
	b := serveBounded(t, 2)
	for range 2 {
		b.connect("POST /now HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n")
	}
	conn := b.connect(get("/now"))
	_ = conn.SetDeadline(time.Now().Add(newServer(nil).ReadTimeout / 2))
	if got := b.status(conn); got != http.StatusOK {
		t.Errorf("status %d at the limit", got)
	}
}

func TestConnectionsQueueWhileHandlersHaveAll(t *testing.T) {
	t.Parallel()
	b := serveBounded(t, 2)
	first, second := b.connect(get("/wait/1")), b.connect(get("/wait/2"))
	<-b.handled
	<-b.handled
	queued := b.connect(get("/now"))
	b.release <- struct{}{} // one of them becomes idle, and is closed for the one that queues
	if got := b.status(queued); got != http.StatusOK {
		t.Errorf("status %d of the connection that queued", got)
	}
	close(b.release)
	for _, conn := range []net.Conn{first, second} {
		if got := b.status(conn); got != http.StatusOK {
			t.Errorf("status %d of a request in a handler", got)
		}
	}
}

func TestRequestsThatWaitHaveHalfOfTheConnections(t *testing.T) {
	t.Parallel()
	b := serveBounded(t, 4)
	streams := []net.Conn{b.connect(get("/stream")), b.connect(get("/stream"))}
	<-b.handled
	<-b.handled
	refused := b.connect(get("/stream"))
	if got := b.status(refused); got != http.StatusServiceUnavailable {
		t.Errorf("status %d of one stream more", got)
	}
	if got := b.status(b.connect(get("/now"))); got != http.StatusOK {
		t.Errorf("status %d of a request that does not wait", got)
	}
	b.release <- struct{}{}
	b.release <- struct{}{}
	for _, conn := range streams {
		b.status(conn)
	}
	b.send(refused, get("/stream")) // there is room again
	if got := <-b.handled; got != "/stream" {
		t.Errorf("handled %s", got)
	}
	close(b.release)
}

// A request waits in parts: each of them asks again.
func TestARequestThatWaitsCountsOnce(t *testing.T) {
	t.Parallel()
	l := limitConnections(nil, 2)
	c := &connection{of: l}
	c.idle = l.idle.PushBack(c)
	ctx := withConnection(t.Context(), c)
	other := withConnection(t.Context(), &connection{of: l})
	if !c.begin() || !MayWait(ctx) || !MayWait(ctx) || MayWait(other) || !MayWait(context.Background()) {
		t.Error("a request that waits is not counted once")
	}
	c.end(true)
	if !MayWait(other) {
		t.Error("a request that has ended is still counted")
	}
}

func TestManagementAPIRejectsWaitsWithoutConnections(t *testing.T) {
	t.Parallel()
	store := &store.Memory{}
	api := Handler(local.New(local.Config{Store: store}), store, Unfired(store), slog.New(slog.DiscardHandler), "dev")
	full := withConnection(t.Context(), &connection{of: limitConnections(nil, 1)})
	for path, want := range map[string]int{"": http.StatusNotFound, "?wait=1": http.StatusServiceUnavailable} {
		w := httptest.NewRecorder()
		api.ServeHTTP(w, httptest.NewRequestWithContext(full, http.MethodGet, "/flows/f/executions/e"+path, nil))
		if w.Code != want {
			t.Errorf("%q: status %d, want %d", path, w.Code, want)
		}
	}
}

func TestServeEndsWhileAConnectionQueues(t *testing.T) {
	t.Parallel()
	b := serveBounded(t, 1)
	b.connect(get("/wait"))
	<-b.handled
	queued := b.connect(get("/now"))
	ended := make(chan struct{})
	go func() {
		b.end()
		close(ended)
	}()
	b.wantClosed(queued, "a connection that queues when the server ends")
	close(b.release)
	<-ended
}
