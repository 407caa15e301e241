//go:build unix

package local

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// rawServer responds to each request with a text, and counts connections and requests.
type rawServer struct {
	url                   string
	connections, requests atomic.Int64
	closed                chan struct{} // receives when the server has closed a connection
}

// serveRaw responds with the text. It closes a connection after so many requests.
func serveRaw(t *testing.T, text string, requests int) *rawServer {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	s := &rawServer{url: "http://" + listener.Addr().String(), closed: make(chan struct{}, 64)}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.connections.Add(1)
			go s.serve(conn, text, requests)
		}
	}()
	return s
}

func (s *rawServer) serve(conn net.Conn, text string, requests int) {
	defer func() {
		_ = conn.Close()
		s.closed <- struct{}{}
	}()
	in := bufio.NewReader(conn)
	for range requests {
		request, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		s.requests.Add(1)
		_, _ = io.Copy(io.Discard, request.Body)
		if _, err := io.WriteString(conn, text); err != nil {
			return
		}
	}
}

// awaitClose waits until the server has closed a connection. A call that failed may have left none to close.
func (s *rawServer) awaitClose(t *testing.T) {
	t.Helper()
	Within(t, s.closed, "the end of a connection")
}

// awaitNoneOpen waits until the client sees that its idle connections were closed: the system may be late to tell it, and a call
// until then fails.
func awaitNoneOpen(t *testing.T, f *httpFunction) {
	t.Helper()
	kept := f.client.Transport.(*keptConnections) //nolint:forcetypeassert // what else
	noneOpen := func() bool {
		kept.mu.Lock()
		defer kept.mu.Unlock()
		for _, idle := range kept.idle {
			if slices.ContainsFunc(idle, func(conn *keptConnection) bool { return isOpen(conn.Conn) }) {
				return false
			}
		}
		return true
	}
	for begin := time.Now(); !noneOpen(); runtime.Gosched() {
		if time.Since(begin) > Patience {
			t.Fatalf("a connection that the server closed is open after %s", Patience)
		}
	}
}

const many = 1 << 20

func TestKeptConnectionsAreReused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		response    string
		want        string // output, or error
		connections int64  // of two calls
	}{
		"length":         {"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n{\"n\":1}", `{"n":1}`, 1},
		"chunks":         {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{\"n\r\n4\r\n\":1}\r\n0\r\nX: y\r\n\r\n", `{"n":1}`, 1},
		"no body":        {"HTTP/1.1 500 Broken\r\nContent-Length: 0\r\n\r\n", token500, 1},
		"announced":      {"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", `{}`, 1},
		"closing":        {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}", `{}`, 2},
		"old protocol":   {"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}", `{}`, 2},
		"more than that": {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", `{}`, 2},
		"another one":    {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", "FC.SwitchingProtocols", 2},
		"long header":    {"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 70<<10) + "\r\nContent-Length: 2\r\n\r\n{}", "the header of the response is too long", 2},
		"no header":      {"hello\r\n\r\n", "malformed HTTP response", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serveRaw(t, test.response, many)
			f := httpAt(t, server.address())
			for range 2 {
				outcome := post(t, f)
				if got := outcome.Output.JSON() + outcome.Error + outcome.Cause; !strings.Contains(got, test.want) {
					t.Errorf("the outcome is %+v; want %s", outcome, test.want)
				}
			}
			if server.connections.Load() != test.connections || server.requests.Load() != 2 {
				t.Errorf("%d requests on %d connections; want 2 on %d", server.requests.Load(), server.connections.Load(), test.connections)
			}
		})
	}
}

const token500 = "FC.InternalServerError"

// address is the URL of a function.
func (s *rawServer) address() string { return s.url + "/check" }

// A call on a connection that its server closed while it was idle is made on a new one.
func TestClosedKeptConnections(t *testing.T) {
	t.Parallel()
	server := serveRaw(t, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", 1)
	f := httpAt(t, server.address())
	for range 3 {
		wantOutput(t, post(t, f), `{}`)
		server.awaitClose(t)
		awaitNoneOpen(t, f)
	}
	if server.requests.Load() != 3 {
		t.Errorf("%d requests; want 3", server.requests.Load())
	}
}

func TestIdleKeptConnectionsEnd(t *testing.T) {
	t.Parallel()
	server := serveRaw(t, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", many)
	f := httpAt(t, server.address())
	kept := f.client.Transport.(*keptConnections) //nolint:forcetypeassert // what else
	kept.IdleConnTimeout = time.Hour
	wantOutput(t, post(t, f), `{}`)
	kept.closeIdle()
	if len(kept.idle) != 1 || kept.reap == nil {
		t.Error("a connection that was just used is closed")
	}
	kept.IdleConnTimeout = 0
	kept.closeIdle()
	server.awaitClose(t)
	if len(kept.idle) != 0 || kept.reap != nil {
		t.Error("connections are kept after their time")
	}
}

// A call of which the response has begun ends with its context, and its connection is not kept.
func TestKeptConnectionsEndWithTheCall(t *testing.T) {
	t.Parallel()
	server := serveRaw(t, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", many)
	kept := newHTTPClient().Transport.(*keptConnections) //nolint:forcetypeassert // what else
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.address(), strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	response, err := kept.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if text, err := io.ReadAll(response.Body); !errors.Is(err, context.Canceled) || string(text) != "{}" && len(text) > 0 {
		t.Errorf("it reads %q, error %v; want the error of the context", text, err)
	}
	if err := response.Body.Close(); err != nil {
		t.Error(err)
	}
	server.awaitClose(t)
	if len(kept.idle) != 0 {
		t.Error("the connection is kept")
	}
}

func TestNetHTTPMakesOtherCalls(t *testing.T) {
	t.Parallel()
	for url, body := range map[string]string{
		"https://host/": "{}", "http://höst/": "{}", "http://host/none": "", "http://host/long": strings.Repeat(" ", longestKept+1),
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if newHTTPClient().Transport.(*keptConnections).handles(request) { //nolint:forcetypeassert // what else
			t.Errorf("%s is called without net/http", url)
		}
	}
	server := serveRaw(t, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", many)
	f := httpAt(t, server.address())
	call := testCall("work", `{"long":"`+strings.Repeat("x", longestKept)+`"}`)
	outcome, err := f.call(t.Context(), call, commandNow)
	if err != nil {
		t.Fatal(err)
	}
	wantOutput(t, outcome, `{}`)
}
