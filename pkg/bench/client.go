package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// client sends requests over HTTP/1.1 on connections that it keeps. All systems with HTTP have this
// client. It writes requests itself, because the client of net/http takes as much of the processor
// as a server does, and they share it.
type client struct {
	address, key string // HOST:PORT, and the bearer token
	idle         *idle
}

// idle has the connections without a request.
type idle struct {
	mu          sync.Mutex
	connections []*connection
}

type connection struct {
	net.Conn

	in   *bufio.Reader
	used time.Time
}

// newClient returns the client of a server at http://HOST:PORT.
func newClient(base string) client {
	return client{address: strings.TrimPrefix(base, "http://"), idle: &idle{}}
}

// longestIdle is after how long a connection is not used again, because the server may have closed
// it.
const longestIdle = 2 * time.Second

// connect returns a connection without a request, the last one used first.
func (c client) connect(ctx context.Context) (*connection, error) {
	c.idle.mu.Lock()
	defer c.idle.mu.Unlock()
	for n := len(c.idle.connections); n > 0; n = len(c.idle.connections) {
		kept := c.idle.connections[n-1]
		c.idle.connections = c.idle.connections[:n-1]
		if time.Since(kept.used) < longestIdle {
			return kept, nil
		}
		_ = kept.Close() // nothing is sent on it
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", c.address)
	if err != nil {
		return nil, err
	}
	return &connection{Conn: conn, in: bufio.NewReader(conn)}, nil
}

func (c client) keep(conn *connection) {
	conn.used = time.Now()
	c.idle.mu.Lock()
	defer c.idle.mu.Unlock()
	c.idle.connections = append(c.idle.connections, conn)
}

// do sends a request and decodes the response into result, unless that is nil.
func (c client) do(ctx context.Context, method, path, body string, result any) error {
	conn, err := c.connect(ctx)
	if err != nil {
		return err
	}
	status, text, reusable, err := c.exchange(ctx, conn, method, path, body)
	if err != nil || !reusable {
		_ = conn.Close() // the error is told already
	} else {
		c.keep(conn)
	}
	switch {
	case err != nil:
		return fmt.Errorf("%s %s: %w", method, path, err)
	case status >= http.StatusMultipleChoices:
		return fmt.Errorf("%s %s: status %d: %.200s", method, path, status, text)
	case result == nil:
		return nil
	}
	return json.Unmarshal(text, result)
}

// exchange sends a request on a connection and reads the response. Reusable reports whether another
// request may follow.
func (c client) exchange(ctx context.Context, conn *connection, method, path, body string) (status int, text []byte, reusable bool, err error) {
	if err := conn.SetDeadline(time.Now().Add(2 * limit)); err != nil {
		return 0, nil, false, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) }) // a closed connection needs none
	defer func() { reusable = stop() && reusable }()
	request := method + " " + path + " HTTP/1.1\r\nHost: " + c.address + "\r\nContent-Type: application/json\r\nContent-Length: " +
		strconv.Itoa(len(body)) + "\r\n"
	if c.key != "" {
		request += "Authorization: Bearer " + c.key + "\r\n"
	}
	if _, err := io.WriteString(conn, request+"\r\n"+body); err != nil {
		return 0, nil, false, err
	}
	response, err := http.ReadResponse(conn.in, nil)
	if err != nil {
		return 0, nil, false, err
	}
	defer func() { _ = response.Body.Close() }() // it is read to its end
	text, err = io.ReadAll(response.Body)
	return response.StatusCode, text, !response.Close, err
}

// send is do with a body in JSON.
func (c client) send(ctx context.Context, method, path string, body, result any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return c.do(ctx, method, path, string(text), result)
}
