package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/waitless/waitless/pkg/cli/failure"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/disk"
)

// defaultStore is the folder of the store when nobody names another.
const defaultStore = ".waitless"

// socketName is the socket in a store's folder at which whoever holds the
// store answers others.
const socketName = "socket"

// storeDir is the folder of the store: flag, environment, file, default.
func (c Command) storeDir(flag string) string {
	return cmp.Or(flag, c.setting("WAITLESS_STORE"), defaultStore)
}

// api is the management API of a store - over its socket while another process
// holds it, else over the store itself, which nobody works on then - or of a
// stack.
type api struct {
	*rest.Client
	// interval is how often whoever follows an execution asks for news.
	interval time.Duration
	close    func() error
	// idle: no worker runs on the store.
	idle bool
}

// noteOfNoWorker says that what has not ended does not go on, if nobody works on
// the store.
func (c Command) noteOfNoWorker(a *api) {
	if a.idle {
		c.out().Note("no worker runs on this store; start one: waitless dev")
	}
}

// storeInterval costs nothing but a look into memory.
const storeInterval = 200 * time.Millisecond

// end closes the API after a command; what goes wrong then is the command's
// error unless it has one.
func (a *api) end(err *error) {
	if closeErr := a.close(); *err == nil && closeErr != nil {
		*err = closeErr
	}
}

// openAPI finds the API of a place.
func (c Command) openAPI(ctx context.Context, p place) (*api, error) {
	if p.onStack() {
		return c.openStack(ctx, p)
	}
	if err := disk.Check(p.store); engine.CodeOf(err) == engine.CodeNotFound {
		return nil, failure.Usage("there is no store in "+p.store, "waitless run FLOW, or --store DIR")
	}
	return c.openOrMakeStore(ctx, p.store)
}

func (c Command) openOrMakeStore(ctx context.Context, dir string) (*api, error) {
	store, client, err := c.reach(ctx, dir)
	switch {
	case err != nil:
		return nil, err
	case client != nil:
		return &api{Client: client, interval: storeInterval, close: func() error { return nil }}, nil
	}
	config := local.Config{Store: store, Keys: store.Keys()}
	config.Limits, err = c.limits()
	if err == nil {
		config.CallbackBase, err = c.localBase()
	}
	if err != nil {
		return nil, errors.Join(err, store.Shut())
	}
	system := local.New(config)
	return &api{Client: clientOf(system, store), interval: storeInterval, close: store.Shut, idle: true}, nil
}

// holderPatience is how long the process that holds a store may take for an answer.
const holderPatience = 10 * time.Second

// reach opens the store, or finds whoever holds it. Another command that holds
// it without a socket is done in a moment. The end of ctx ends the wait for that.
//
// What is in the directory of another user is neither opened nor asked.
func (c Command) reach(ctx context.Context, dir string) (*disk.Store, *rest.Client, error) {
	const pause = 50 * time.Millisecond
	patience := cmp.Or(c.patience, holderPatience)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := disk.Check(dir)
		if err != nil && engine.CodeOf(err) != engine.CodeNotFound {
			return nil, nil, err
		}
		if err == nil {
			if client := dialSocket(ctx, dir, patience); client != nil {
				return nil, client, nil
			}
		}
		store, err := disk.Open(dir)
		if engine.CodeOf(err) != engine.CodeConflict || sleep(ctx, pause) != nil {
			return store, nil, err
		}
	}
}

// openOrMakeAPI is [Command.openAPI] that makes a store where there is none.
func (c Command) openOrMakeAPI(ctx context.Context, p place) (*api, error) {
	if p.onStack() {
		return c.openStack(ctx, p)
	}
	return c.openOrMakeStore(ctx, p.store)
}

// lists is what a store lists for people.
type lists interface {
	rest.Index
	rest.Flows
}

func handlerOf(system *local.System, lists lists) http.Handler {
	return rest.Handler(rest.Config{
		Engine: system.Client, Tokens: system.Tokens, Index: lists, Flows: lists, Start: system.Start, Stop: system.Stop, Reasons: true, MaxOutput: system.DataLimit,
		AwaitsTurn: system.AwaitsTurn, Blocked: func(flow *fdl.Flow) string { return withoutRunners(system.Missing(flow)) },
	})
}

// storeHandler serves what the holder of a store, "dev" or "run", serves to this machine: the
// management API, job events, and what the holder is.
func storeHandler(system *local.System, lists lists, log *slog.Logger, holder string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", handlerOf(system, lists))
	mux.Handle("GET "+basePath, textHandler(system.CallbackBase))
	mux.Handle("GET "+holderPath, textHandler(holder))
	mux.Handle("POST "+eventPath, jobEventHandler(system.Observe, log))
	return mux
}

// clientOf is a client of a system in this process.
func clientOf(system *local.System, lists lists) *rest.Client {
	handler := storeHandler(system, lists, slog.New(slog.DiscardHandler), "")
	return &rest.Client{Base: "http://store", HTTP: clientWith(inProcess{handler})}
}

// hold opens a store, which nobody else may hold.
func (c Command) hold(ctx context.Context, dir, try string) (*disk.Store, error) {
	store, client, err := c.reach(ctx, dir)
	switch {
	case err != nil:
		return nil, err
	case client != nil:
		return nil, &failure.Error{Exit: ExitUsage, Why: "another `waitless run` or `waitless dev` holds the store " + dir, Try: try}
	}
	return store, nil
}

// holderPath is where the process that holds a store says what it is.
const holderPath = "/holder"

// openDev returns the API of the `waitless dev` that holds the store, or nil if none does.
func (c Command) openDev(ctx context.Context, dir string) (*api, error) {
	if disk.Check(dir) != nil {
		return nil, nil //nolint:nilerr // nobody holds what is no store; opening it reports the error
	}
	client := dialSocket(ctx, dir, cmp.Or(c.patience, holderPatience))
	if client == nil {
		return nil, nil
	}
	holder, err := askHolder(ctx, client, holderPath)
	switch {
	case err != nil:
		return nil, err
	case holder != "dev":
		return nil, nil
	}
	return &api{Client: client, interval: storeInterval, close: func() error { return nil }}, nil
}

// dialSocket is a client of whoever holds the store, nil when nobody does.
func dialSocket(ctx context.Context, dir string, patience time.Duration) *rest.Client {
	path := filepath.Join(dir, socketName)
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	probe, err := dial(ctx, "", "")
	if err != nil {
		return nil
	}
	_ = probe.Close() // it only showed that somebody listens
	transport := &http.Transport{DialContext: dial, ResponseHeaderTimeout: patience}
	return &rest.Client{Base: "http://store", HTTP: clientWith(toHolder{dir, transport})}
}

// toHolder is a transport to the process that holds a store.
type toHolder struct {
	dir  string
	next http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (t toHolder) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(r)
	var late net.Error
	if errors.As(err, &late) && late.Timeout() && r.Context().Err() == nil {
		return nil, &stuckError{disk.Holder(t.dir)}
	}
	return response, err
}

// stuckError says that the process that holds a store does not answer.
type stuckError struct{ pid int }

func (e *stuckError) Error() string {
	return fmt.Sprintf("process %d, which holds the store, does not answer; it may be stopped or stuck", e.pid)
}

// serveSocket answers others at the store's socket until the function that it
// answers is called, which waits a moment for answers under way: who stopped
// the execution is to hear that it was done.
func serveSocket(ctx context.Context, dir string, handler http.Handler) (end func(), err error) {
	path := filepath.Join(dir, socketName)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // left by one that was killed; the lock is ours
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w; choose a shorter --store", path, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return serveListener(ctx, listener, handler), nil
}

// inProcess is a transport to a handler in the same process.
type inProcess struct{ handler http.Handler }

// RoundTrip implements [http.RoundTripper].
func (t inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := &answered{header: http.Header{}, status: http.StatusOK}
	t.handler.ServeHTTP(w, r)
	return &http.Response{
		StatusCode: w.status, Header: w.header, Body: io.NopCloser(&w.body), Request: r, ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

type answered struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answered) Header() http.Header         { return a.header }
func (a *answered) WriteHeader(status int)      { a.status = status }
func (a *answered) Write(p []byte) (int, error) { return a.body.Write(p) }
