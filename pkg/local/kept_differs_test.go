//go:build unix

package local

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/token"
)

// oddResponses are responses that servers send, well-formed or not.
func oddResponses() map[string]string {
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, _ = w.Write([]byte(`{"n":1}`))
	_ = w.Close()
	const ok = "HTTP/1.1 200 OK\r\n"
	return map[string]string{
		"length":                 ok + "Content-Length: 7\r\n\r\n{\"n\":1}",
		"until the end":          ok + "\r\n{\"n\":1}",
		"too short":              ok + "Content-Length: 9\r\n\r\n{\"n\":1}",
		"two lengths":            ok + "Content-Length: 7\r\nContent-Length: 8\r\n\r\n{\"n\":1}",
		"the same length twice":  ok + "Content-Length: 7\r\nContent-Length: 7\r\n\r\n{\"n\":1}",
		"negative length":        ok + "Content-Length: -1\r\n\r\n{\"n\":1}",
		"chunks":                 ok + "Transfer-Encoding: chunked\r\n\r\n3;x=y\r\n{\"n\r\n4\r\n\":1}\r\n0\r\nX: y\r\n\r\n",
		"chunks and a length":    ok + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n{\"n\":1}\r\n0\r\n\r\n",
		"a broken chunk":         ok + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{\"n\":1}\r\n0\r\n\r\n",
		"no last chunk":          ok + "Transfer-Encoding: chunked\r\n\r\n7\r\n{\"n\":1}\r\n",
		"unknown encoding":       ok + "Transfer-Encoding: zip\r\n\r\n{\"n\":1}",
		"gzip":                   ok + "Content-Encoding: gzip\r\nContent-Length: " + lengthOf(zipped) + "\r\n\r\n" + zipped.String(),
		"gzip until the end":     ok + "Content-Encoding: GZIP\r\n\r\n" + zipped.String(),
		"no gzip":                ok + "Content-Encoding: gzip\r\nContent-Length: 7\r\n\r\n{\"n\":1}",
		"gzip without a body":    ok + "Content-Encoding: gzip\r\nContent-Length: 0\r\n\r\n",
		"part of gzip":           ok + "Content-Encoding: gzip\r\nContent-Length: 12\r\n\r\n" + zipped.String()[:12],
		"early hints":            "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + ok + "Content-Length: 2\r\n\r\n{}",
		"continue":               "HTTP/1.1 100 Continue\r\n\r\n" + ok + "Content-Length: 2\r\n\r\n{}",
		"only continue":          "HTTP/1.1 100 Continue\r\n\r\n",
		"no content":             "HTTP/1.1 204 No Content\r\n\r\n",
		"not modified":           "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
		"old protocol":           "HTTP/1.0 200 OK\r\n\r\n{\"n\":1}",
		"old and kept":           "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n{}",
		"newer protocol":         "HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
		"another protocol":       "SMTP/1.1 200 OK\r\n\r\n",
		"no number":              "HTTP/1.1 abc OK\r\n\r\n",
		"only line feeds":        "HTTP/1.1 200 OK\nContent-Length: 2\n\n{}",
		"a header without colon": ok + "Content-Length\r\n\r\n{}",
		"a folded header":        ok + "X: a\r\n b\r\nContent-Length: 2\r\n\r\n{}",
		"a zero in a header":     ok + "X: a\x00b\r\nContent-Length: 2\r\n\r\n{}",
		"nothing":                "",
		"a second response":      ok + "Content-Length: 2\r\n\r\n{}" + ok + "Content-Length: 7\r\n\r\n{\"n\":2}",
		"a redirect elsewhere":   "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://example.invalid/x\r\nContent-Length: 0\r\n\r\n",
		"a redirect in a loop":   "HTTP/1.1 308 Permanent Redirect\r\nLocation: /check\r\nContent-Length: 4\r\n\r\nelse",
		"a redirect as a GET":    "HTTP/1.1 303 See Other\r\nLocation: /check\r\nContent-Length: 0\r\n\r\n",
		"a redirect to nothing":  "HTTP/1.1 307 Temporary Redirect\r\nContent-Length: 0\r\n\r\n",
		"an invalid redirect":    "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://[\r\nContent-Length: 0\r\n\r\n",
		"an error":               "HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nContent-Length: 4\r\n\r\nbusy",
	}
}

func lengthOf(b bytes.Buffer) string { return strconv.Itoa(b.Len()) }

// Each response has the outcome that it has with net/http, on a new connection and on one that is kept.
func TestKeptConnectionsAreAsThoseOfNetHTTP(t *testing.T) {
	t.Parallel()
	for name, response := range oddResponses() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			modes := 1 // one call to a server that closes each connection; two calls to one that does not
			if strings.HasPrefix(response, "HTTP/1.1 2") && strings.Contains(response, "Length: ") && !strings.Contains(name, "short") {
				modes = 2
			}
			for mode := range modes {
				requests := []int{1, many}[mode]
				if strings.Contains(response, "Location: ") {
					requests = many // net/http may follow on the connection that the server is closing
				}
				server := serveRaw(t, response, requests)
				var outcomes [2][]token.Outcome
				for i := range outcomes {
					f := httpAt(t, server.address())
					if i == 1 {
						f.client.Transport = f.client.Transport.(*keptConnections).Transport //nolint:forcetypeassert // what else
					}
					for range mode + 1 {
						outcomes[i] = append(outcomes[i], post(t, f))
					}
				}
				for i, got := range outcomes[0] {
					want := outcomes[1][i]
					if got.Output.JSON() != want.Output.JSON() || got.Error != want.Error {
						t.Errorf("call %d: %s %s %s; net/http: %s %s %s", i+1, got.Output.JSON(), got.Error, got.Cause, want.Output.JSON(), want.Error, want.Cause)
					}
				}
			}
		})
	}
}

// A call whose context has ended is not sent, on a kept connection neither.
func TestKeptConnectionsSendNothingTooLate(t *testing.T) {
	t.Parallel()
	server := serveRaw(t, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", many)
	f := httpAt(t, server.address())
	for range 20 {
		wantOutput(t, post(t, f), `{}`)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := f.call(ctx, testCall("work", `{}`), commandNow); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	}
	if server.requests.Load() != 20 || server.connections.Load() != 1 {
		t.Errorf("%d requests on %d connections; want 20 on 1", server.requests.Load(), server.connections.Load())
	}
}
