package local

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// keptConnections makes calls of http:// URLs in the goroutine of the caller, on connections that it keeps. net/http has two
// more goroutines a connection, which hand each call over three times: a third of the processor time of an execution with
// such calls (make bench-dev). Requests are written and responses are read by net/http. It uses the settings of
// its [http.Transport], which makes all other calls.
type keptConnections struct {
	*http.Transport

	mu   sync.Mutex
	idle map[string][]*keptConnection // by address, the latest last
	reap *time.Timer                  // nil while none is idle
}

// longestKept is the longest request in bytes that is sent before its response is read. It fits into the buffers
// of a socket, so a server that responds early and reads no more does not block it.
const longestKept = 16 << 10

func keepConnections(settings *http.Transport) *keptConnections {
	return &keptConnections{Transport: settings, idle: map[string][]*keptConnection{}}
}

// RoundTrip implements [http.RoundTripper].
func (k *keptConnections) RoundTrip(request *http.Request) (*http.Response, error) {
	if !canCheck || !k.handles(request) {
		return k.Transport.RoundTrip(request)
	}
	var text bytes.Buffer
	ctx, address := request.Context(), addressOf(request.URL)
	if err := errors.Join(request.Write(&text), ctx.Err()); err != nil { // Write closes the body
		return nil, err
	}
	if conn := k.latest(address); conn != nil {
		response, sent, err := conn.exchange(request, text.Bytes())
		if sent > 0 || err == nil || ctx.Err() != nil {
			return response, err
		}
	}
	dialed, err := k.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	conn := &keptConnection{Conn: dialed, address: address, of: k}
	conn.in = bufio.NewReader(conn)
	response, _, err := conn.exchange(request, text.Bytes())
	return response, err
}

// handles reports whether a request needs nothing that only net/http does.
func (k *keptConnections) handles(request *http.Request) bool {
	if request.URL.Scheme != "http" || request.ContentLength <= 0 || request.ContentLength > longestKept {
		return false
	}
	for _, r := range request.URL.Host {
		if r > '~' { // such a name has another form for DNS
			return false
		}
	}
	proxy, err := k.Proxy(request)
	return proxy == nil && err == nil
}

func addressOf(at *url.URL) string {
	if at.Port() == "" {
		return net.JoinHostPort(at.Hostname(), "80")
	}
	return at.Host
}

// latest returns the idle connection that was used last, or nil. Its server has not closed it.
func (k *keptConnections) latest(address string) *keptConnection {
	for {
		conn := k.pop(address)
		if conn == nil || time.Since(conn.since) < k.IdleConnTimeout && isOpen(conn.Conn) {
			return conn
		}
		_ = conn.Close() // nothing was sent that it could lose
	}
}

func (k *keptConnections) pop(address string) *keptConnection {
	k.mu.Lock()
	defer k.mu.Unlock()
	idle := k.idle[address]
	if len(idle) == 0 {
		return nil
	}
	last := len(idle) - 1
	conn := idle[last]
	idle[last], k.idle[address] = nil, idle[:last]
	return conn
}

// keep keeps a connection for the next call.
func (k *keptConnections) keep(conn *keptConnection) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.idle[conn.address]) >= k.MaxIdleConnsPerHost {
		_ = conn.Close() // its response was read
		return
	}
	conn.since = time.Now()
	k.idle[conn.address] = append(k.idle[conn.address], conn)
	if k.reap == nil {
		k.reap = time.AfterFunc(k.IdleConnTimeout, k.closeIdle)
	}
}

// closeIdle closes the connections that were idle for too long.
func (k *keptConnections) closeIdle() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for address, idle := range k.idle {
		k.idle[address] = slices.DeleteFunc(idle, func(conn *keptConnection) bool {
			isOld := time.Since(conn.since) >= k.IdleConnTimeout
			if isOld {
				_ = conn.Close() // its response was read
			}
			return isOld
		})
		if len(k.idle[address]) == 0 {
			delete(k.idle, address)
		}
	}
	if k.reap = nil; len(k.idle) > 0 {
		k.reap = time.AfterFunc(k.IdleConnTimeout, k.closeIdle)
	}
}

// keptConnection is a connection on which one call is made at a time.
type keptConnection struct {
	net.Conn

	of      *keptConnections
	address string
	in      *bufio.Reader
	most    int64 // how many bytes may still be read
	since   time.Time
	release func() bool // ends the watch of the context of the call
}

var errLongHeader = errors.New("the header of the response is too long")

// Read implements [io.Reader].
func (c *keptConnection) Read(to []byte) (int, error) {
	if c.most <= 0 {
		return 0, errLongHeader
	}
	n, err := c.Conn.Read(to[:min(int64(len(to)), c.most)])
	c.most -= int64(n)
	return n, err
}

// exchange sends a request, and returns the response, whose body is to be read. Sent is how many bytes were sent. The
// connection ends with the context of the request.
func (c *keptConnection) exchange(request *http.Request, text []byte) (response *http.Response, sent int, err error) {
	ctx := request.Context()
	c.release = context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) }) // a past instant ends what waits
	c.most = c.of.MaxResponseHeaderBytes
	if sent, err = c.Write(text); err == nil {
		response, err = c.readHeader(request)
	}
	if err != nil {
		c.end(false)
		return nil, sent, causeOf(ctx, err)
	}
	c.most = math.MaxInt64
	isKept := !response.Close && response.StatusCode != http.StatusSwitchingProtocols
	if response.Body == http.NoBody {
		c.end(isKept)
		return response, sent, nil
	}
	response.Body = &keptBody{from: response.Body, conn: c, ctx: ctx, isKept: isKept}
	if strings.EqualFold(response.Header.Get("Content-Encoding"), "gzip") {
		response.Body, response.ContentLength = &zippedBody{ReadCloser: response.Body}, -1
	}
	return response, sent, nil
}

// readHeader reads a response without its body, and skips what announces it.
func (c *keptConnection) readHeader(request *http.Request) (*http.Response, error) {
	for {
		response, err := http.ReadResponse(c.in, request)
		if err != nil || response.StatusCode >= http.StatusOK || response.StatusCode == http.StatusSwitchingProtocols {
			return response, err
		}
	}
}

// end ends a call. The connection is kept if it is at the end of a response.
func (c *keptConnection) end(isKept bool) {
	if c.release() && isKept && c.in.Buffered() == 0 {
		c.of.keep(c)
		return
	}
	_ = c.Close() // nothing was sent that it could lose
}

// causeOf returns the error of a context that has ended, else err.
func causeOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// keptBody is the body of a response. Its end, or Close, ends the call.
type keptBody struct {
	from   io.Reader
	conn   *keptConnection // nil after the end of the call
	ctx    context.Context //nolint:containedctx // of the call, to which the body belongs
	isKept bool            // if the body is read to its end
}

// Read implements [io.Reader].
func (b *keptBody) Read(to []byte) (int, error) {
	if b.conn == nil {
		return 0, io.EOF
	}
	n, err := b.from.Read(to)
	if err == io.EOF { //nolint:errorlint // as io.Reader says
		b.end(b.isKept)
		return n, err
	}
	if err != nil {
		err = causeOf(b.ctx, err)
	}
	return n, err
}

// Close implements [io.Closer].
func (b *keptBody) Close() error {
	b.end(false)
	return nil
}

func (b *keptBody) end(isKept bool) {
	if b.conn != nil {
		b.conn.end(isKept)
		b.conn = nil
	}
}

// zippedBody unzips a body. No request asks for that, but some servers zip all responses.
type zippedBody struct {
	io.ReadCloser

	unzip *gzip.Reader
}

// Read implements [io.Reader].
func (b *zippedBody) Read(to []byte) (n int, err error) {
	if b.unzip == nil {
		if b.unzip, err = gzip.NewReader(b.ReadCloser); err != nil {
			return 0, err
		}
	}
	return b.unzip.Read(to)
}
