package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// serve is a server with that handler, and a function at a path of it.
func serve(t *testing.T, handler http.HandlerFunc) *httpFunction {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return httpAt(t, server.URL+"/check")
}

func httpAt(t *testing.T, url string) *httpFunction {
	t.Helper()
	r, err := parseHTTP(url)
	if err != nil {
		t.Fatal(err)
	}
	return r.(*httpFunction) //nolint:forcetypeassert // what else
}

func post(t *testing.T, f *httpFunction) token.Outcome {
	t.Helper()
	outcome, err := f.call(t.Context(), testCall("work", `{"delay":20}`), commandNow)
	if err != nil {
		t.Fatal(err)
	}
	return outcome
}

func TestHTTPRequest(t *testing.T) {
	t.Parallel()
	call := testCall("work", `{"delay":20}`)
	f := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		user, password, _ := r.BasicAuth()
		_, _ = fmt.Fprintf(w, `{"method":%q,"path":%q,"query":%q,"body":%q,"user":%q,"password":%q`, r.Method, r.URL.Path, r.URL.RawQuery, body, user, password)
		for _, name := range []string{
			"Content-Type", "Accept", "User-Agent", "Waitless-Now", "Waitless-Flow", "Waitless-Execution", "Waitless-Step", "Idempotency-Key",
		} {
			_, _ = fmt.Fprintf(w, `,%q:%q`, name, r.Header.Get(name))
		}
		_, _ = io.WriteString(w, "}")
	})
	f = httpAt(t, strings.Replace(f.url.String(), "http://", "http://me:word@", 1)+"?key=k")
	wantOutput(t, post(t, f), fmt.Sprintf(`{"Accept":"application/json","Content-Type":"application/json","Idempotency-Key":%q,"User-Agent":"waitless",`+
		`"Waitless-Execution":"run-1","Waitless-Flow":"polling","Waitless-Now":"2026-01-31T10:00:00.0000005Z","Waitless-Step":"GetJobStatus",`+
		`"body":"{\"delay\":20}","method":"POST","password":"word","path":"/check","query":"key=k","user":"me"}`, call.Key()))
}

func TestHTTPRequestOfAnIteration(t *testing.T) {
	t.Parallel()
	f := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, `{"iteration":%q,"times":%d}`, r.Header.Get("Waitless-Iteration"), len(r.Header["Waitless-Iteration"]))
	})
	for iteration, want := range map[string]string{"": `{"iteration":"","times":0}`, "3.0": `{"iteration":"3.0","times":1}`} {
		call := testCall("work", `{}`)
		call.Iteration = iteration
		outcome, err := f.call(t.Context(), call, commandNow)
		if err != nil {
			t.Fatal(err)
		}
		wantOutput(t, outcome, want)
	}
}

func TestHTTPRequestOfATrace(t *testing.T) {
	t.Parallel()
	for _, call := range []machine.Call{{}, {Traceparent: "00-parent"}, {Traceparent: "00-parent", Tracestate: "a=b,c=d"}} {
		f := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = fmt.Fprintf(w, `{"parent":%q,"state":%q}`, strings.Join(r.Header["Traceparent"], "+"), strings.Join(r.Header["Tracestate"], "+"))
		})
		traced := testCall("work", `{}`)
		traced.Traceparent, traced.Tracestate = call.Traceparent, call.Tracestate
		outcome, err := f.call(t.Context(), traced, commandNow)
		if err != nil {
			t.Fatal(err)
		}
		wantOutput(t, outcome, fmt.Sprintf(`{"parent":%q,"state":%q}`, call.Traceparent, call.Tracestate))
	}
}

// answering answers with that status and body.
func answering(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// rules: E-2 E-3 E-4 E-5 E-6 E-7 E-8
func TestHTTPStatusOutcomes(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{
		400: "FC.InvalidArgument", 401: "FC.AccessDenied", 403: "FC.AccessDenied", 404: "FC.FunctionNotFound", 409: "FC.Conflict",
		429: "FC.ResourceExhausted", 500: "FC.InternalServerError", 502: "FC.InternalServerError", 503: "FC.ResourceThrottled", 504: "FC.InternalServerError",
	} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			f := serve(t, answering(status, "because"))
			wantCause(t, post(t, f), want, fmt.Sprintf("%s responded with %d ", f.url, status), `: "because"`)
		})
	}
	for _, status := range []int{200, 201, 202} {
		wantOutput(t, post(t, serve(t, answering(status, `{"n":12345678901234567890.50}`))), `{"n":12345678901234567890.50}`)
	}
	wantCause(t, post(t, serve(t, answering(204, ""))), machine.ErrorInvalidLocal, "answered nothing; a function answers with JSON")
	wantCause(t, post(t, serve(t, answering(502, ""))), token.ErrorServer, "responded with 502 Bad Gateway")
}

func TestAnHTTPFunctionThrows(t *testing.T) {
	t.Parallel()
	for body, cause := range map[string]string{
		`{"errorType":"JobNotFound","errorMessage":"no job 7"}`: "no job 7",
		`{"errorType":"JobNotFound"}`:                           "failed and did not say why",
	} {
		outcome := post(t, serve(t, answering(500, body)))
		wantCause(t, outcome, "JobNotFound", cause)
		if !outcome.Thrown {
			t.Errorf("%+v is no exception", outcome)
		}
	}
}

// A redirect is followed where it repeats the call at the same host.
func TestRedirects(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)
	mux := http.NewServeMux()
	mux.HandleFunc("/here", func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	for path, to := range map[string]struct {
		place  string
		status int
	}{"/307": {"/here", 307}, "/308": {"/here", 308}, "/302": {"/here", 302}, "/other": {other.URL + "/x?key=secret", 307}, "/round": {"/round", 307}} {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to.place, to.status) })
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	for _, path := range []string{"/307", "/308"} {
		wantOutput(t, post(t, httpAt(t, server.URL+path)), `{"delay":20}`)
	}
	wantCause(t, post(t, httpAt(t, server.URL+"/302")), "FC.Found",
		"responded with 302 Found to "+server.URL+"/here; a redirect is followed with 307 or 308 at the same host only")
	refused := post(t, httpAt(t, server.URL+"/other"))
	wantCause(t, refused, "FC.TemporaryRedirect", "to "+other.URL+"/x?...; ")
	wantCause(t, post(t, httpAt(t, server.URL+"/round")), "FC.TemporaryRedirect", "/round; ")
	if elsewhere.Load() > 0 {
		t.Error("the input went to another host")
	}
}

// Of an answer no more is read than may be.
func TestHTTPResponseWithoutEnd(t *testing.T) {
	t.Parallel()
	for name, announced := range map[string]bool{"announced": true, "not announced": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gone := make(chan struct{})
			f := serve(t, func(w http.ResponseWriter, r *http.Request) {
				defer close(gone)
				if announced {
					w.Header().Set("Content-Length", "1000000000000")
				}
				for r.Context().Err() == nil {
					if _, err := w.Write(make([]byte, 1<<10)); err != nil {
						return
					}
				}
			})
			f.most = 10 << 10
			wantCause(t, post(t, f), machine.ErrorInvalidLocal, "answered more than 10240 bytes, which is the limit; write large data elsewhere")
			Within(t, gone, "the end of the response")
		})
	}
}

// The result of a call whose connection broke is unknown, and it is made once.
func TestBrokenConnections(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	f := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		if connection, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = connection.Close()
		}
	})
	wantCause(t, post(t, f), token.ErrorUnknown, "the call broke off, and the function may have run: ")
	if calls.Load() != 1 {
		t.Errorf("%d calls", calls.Load())
	}
}

// A call over a connection that was kept is made once, too.
func TestBrokenKeptConnections(t *testing.T) {
	t.Parallel()
	var calls, connections atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if calls.Add(1) < 3 {
			_, _ = io.WriteString(w, "{}")
			return
		}
		if connection, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = connection.Close()
		}
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	f := httpAt(t, server.URL)
	for range 2 {
		if outcome := post(t, f); outcome.Failed() {
			t.Fatal(outcome.Cause)
		}
	}
	wantCause(t, post(t, f), token.ErrorUnknown, "the call broke off, and the function may have run: ")
	if calls.Load() != 3 || connections.Load() != 1 {
		t.Errorf("%d calls on %d connections; want 3 on 1", calls.Load(), connections.Load())
	}
}

// rules: E-17
func TestUnreachableFunctionIsNotCalled(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	for url, why := range map[string]string{server.URL: "connection refused", "http://nowhere.invalid": "nowhere.invalid"} {
		outcome := post(t, httpAt(t, url))
		wantCause(t, outcome, token.ErrorUnreachable, "could not connect; the call was not made: ")
		wantCause(t, outcome, token.ErrorUnreachable, why)
	}
}

func TestAnHTTPFunctionTakesTooLong(t *testing.T) {
	t.Parallel()
	f := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil { // until then the server does not see that the caller is gone
			return
		}
		select {
		case <-r.Context().Done():
		case <-time.After(Patience):
			t.Error("the server does not see that the caller is gone")
		}
	})
	call := testCall("work", `{}`)
	call.Limit = 20 * time.Millisecond
	outcome, err := f.call(t.Context(), call, commandNow)
	if err != nil {
		t.Fatal(err)
	}
	wantCause(t, outcome, machine.ErrorTaskTimeout, "took longer than 20ms")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if outcome, err := f.call(ctx, call, commandNow); !errors.Is(err, context.Canceled) {
		t.Errorf("outcome %+v, error %v", outcome, err)
	}
}

// What stands in a URL beside its place is secret.
func TestSecretsOfAURLAreHidden(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for name, f := range map[string]*httpFunction{
		"no answer": httpAt(t, closed.URL), "an error": serve(t, answering(404, "")), "no JSON": serve(t, answering(200, "x")),
		"another place that is not a URL": serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://user:secret@[::bad/?key=secret")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}),
		"an end too early": serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "9") }),
	} {
		url := strings.Replace(f.url.String(), "http://", "http://user:secret@", 1) + "?key=secret"
		if outcome := post(t, httpAt(t, url)); !outcome.Failed() || strings.Contains(outcome.Cause, "secret") {
			t.Errorf("%s: the outcome is %+v", name, outcome)
		}
	}
	for definition, want := range map[string]string{
		"https://user:secret@host/p?key=secret#secret": "https://...@host/p?...", "https://host/p": "https://host/p",
		"http://%zz:secret": "http:...", "exec:curl http://user:x@host": "exec:curl http://user:x@host",
		"lambda:f@http://user:secret@host": "lambda:f@http://...@host", "simulated": "simulated", "lambda:f:$LATEST": "lambda:f:$LATEST",
		"HTTP://user:secret@host/p?key=secret": "http://...@host/p?...", "htps://user:secret@host?key=secret": "htps://...@host?...",
		"lambda:f@HTTP://user:secret@host": "lambda:f@http://...@host", "lambda:http://user:secret@host": "lambda:...",
		"lambda:f@user:secret@host": "lambda:f@user:...",
		"http:user:secret@host":     "http:...", "http:/user:secret@host": "http:...", "user:secret@host": "user:...", "//user:secret@host/p": "//...@host/p",
		"secret@host": "...",
	} {
		if got := Hidden(definition); got != want {
			t.Errorf("%s is shown as %s, want %s", definition, got, want)
		}
	}
}

// Relative paths of a definition begin at its folder, where its command runs.
func TestDefinitionsOfAnotherFolder(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\nprintf '{\"in\":\"%s\"}' \"$(pwd -P)\"\n"
	if err := os.WriteFile(filepath.Join(dir, "where"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	tasks, err := NewFunctions(NewVirtualClock(commandNow), map[string]string{"other": "exec:cat"})
	if err == nil {
		err = tasks.Add(dir, map[string]string{"work": "exec:./where", "shell": "exec:sh where"})
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"work", "shell"} {
		outcome, err := tasks.Call(t.Context(), testCall(name, `{}`))
		if err != nil {
			t.Fatal(err)
		}
		wantOutput(t, outcome, `{"in":"`+dir+`"}`)
	}
	if err := tasks.Add(dir, map[string]string{"work": "exec:./there"}); err == nil || !strings.Contains(err.Error(), `command "./there" is not there`) {
		t.Errorf("error %v", err)
	}
}
