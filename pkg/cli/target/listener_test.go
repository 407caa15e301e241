package target

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"testing"
)

// Connections beyond the limit wait until another one is closed.
func TestAListenerHasALimitOfConnections(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	entered, leave := make(chan struct{}), make(chan struct{})
	server := newServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		entered <- struct{}{}
		<-leave
	}))
	const room = 2
	bounded := limit(listener, room)
	done := make(chan error, 1)
	go func() { done <- server.Serve(bounded) }()
	conns := make([]net.Conn, room+1)
	for i := range conns {
		conns[i] = requestTo(t, listener.Addr().String())
	}
	for range room {
		<-entered
	}
	if open := len(bounded.(*limited).room); open != room { //nolint:forcetypeassert // what limit returns
		t.Errorf("%d connections are served at once", open)
	}
	select {
	case <-entered:
		t.Error("a connection beyond the limit is served")
	default:
	}
	close(leave)
	<-entered // the one that waited
	for _, conn := range conns {
		if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || line != "HTTP/1.1 200 OK\r\n" {
			t.Errorf("response %q, %v", line, err)
		}
		_ = conn.Close()
	}
	_ = server.Close()
	if err := <-done; err != http.ErrServerClosed { //nolint:errorlint // as documented
		t.Errorf("Serve ended with %v", err)
	}
}

// requestTo sends a request after which the connection ends.
func requestTo(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(context.WithoutCancel(t.Context()), "tcp", address)
	if err == nil {
		_, err = conn.Write([]byte("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// Without a limit of each time a client that sends or reads nothing stays for ever.
func TestAServerWaitsForNoClientForEver(t *testing.T) {
	t.Parallel()
	s := newServer(http.NotFoundHandler())
	if s.ReadHeaderTimeout <= 0 || s.ReadTimeout <= 0 || s.WriteTimeout <= 0 || s.IdleTimeout <= 0 {
		t.Errorf("time-outs %s, %s, %s, %s", s.ReadHeaderTimeout, s.ReadTimeout, s.WriteTimeout, s.IdleTimeout)
	}
}
